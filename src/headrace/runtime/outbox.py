"""Where a task's output waits until it is worth sending."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headrace.core.operator import Batch
from headrace.core.user_code import RecordFailure, report
from headrace.errors import HeadraceError
from headrace.plan.physical import Edge, Vertex
from headrace.runtime.driver_items import DriverItem
from headrace.runtime.envelope import MARK, Envelope, Item
from headrace.runtime.event_time import Watermarks

Row = tuple[int, bytes]
"""A slot, and what is for it."""
TO_DRIVER = -1
"""The slot of rows that are for the driver alone."""


class Outbox:
    """Collects records by slot, and what rides along to the driver."""

    BLOB_RECORDS = 32_768
    _LEAST_RECORDS = 16

    def __init__(
        self, slots: int, subtask: int, is_last: bool, tell: Callable[[DriverItem], None] | None
    ):
        """`tell`: where there is a shorter way to the driver than through all levels."""
        self._tell = tell
        self._slots = slots
        self._subtask = subtask
        self.is_last = is_last
        self._records: list[list[Item]] = [[] for _ in range(slots)]
        self._sizes = [0] * slots
        self._driver: list[DriverItem] = []
        self._full: list[Row] = []
        self._most = self.BLOB_RECORDS
        self._record_bytes = 64.0
        """About how many bytes a record takes."""

    def keep_below(self, size: int) -> None:
        """Let no blob be much larger than so many bytes."""
        most = int(size / self._record_bytes)
        self._most = min(max(most, self._LEAST_RECORDS), self.BLOB_RECORDS)

    def sender(self, edge: Edge, target: Vertex, sender: int) -> Callable[[Batch], None]:
        """A function that sends batches along an edge."""
        assert edge.exchange is not None
        parallelism = min(target.parallelism, self._slots)
        split = edge.exchange.splitter(sender, parallelism, target.max_parallelism)
        vertex, side = edge.target, edge.side

        def send(batch: Batch) -> None:
            try:
                for slot, part in split(batch):
                    self.pass_on(slot, vertex, side, part)
            except RecordFailure as failure:
                error = report(failure, target.name, target.uid)
                error.came_from(target.origin)
                raise error from failure.error
            except HeadraceError as error:
                error.came_from(target.origin)
                raise

        return send

    def pass_on(self, slot: int, vertex: int, side: int, batch: Batch) -> None:
        """Send a batch to a slot."""
        most = self._most
        for start in range(0, len(batch.values) or 1, most):
            part = batch if len(batch.values) <= most else batch.part(start, start + most)
            self._records[slot].append((vertex, side, part))
            self._sizes[slot] += len(part.values)
            if self._sizes[slot] >= most:
                size = self._sizes[slot]
                blob = Envelope(self._take(slot)).encode()
                self._record_bytes = (self._record_bytes + len(blob) / size) / 2
                self._full.append((slot, blob))

    def mark(self, news: Watermarks) -> None:
        """Let every slot know of watermarks after the records sent so far.

        Each one by itself, even if no record comes between two: what a timer sees of time must
        not depend on where rounds are cut.
        """
        if not self.is_last:
            for records in self._records:
                records.append((MARK, 0, news))

    def to_driver(self, item: DriverItem) -> None:
        if self._tell is not None:
            self._tell(item)
        else:
            self._driver.append(item)

    def take_full(self) -> list[Row]:
        """The blobs that are large enough to go."""
        full, self._full = self._full, []
        if len(self._driver) > 64:
            full.append(self.take_driver())
        return full

    def take_waiting(self) -> Iterator[Row]:
        """All that waits, for each slot that something waits for."""
        yield from self.take_full()
        if self._driver:
            yield self.take_driver()
        if not self.is_last:
            for slot, records in enumerate(self._records):
                if records:
                    yield slot, Envelope(self._take(slot)).encode()

    def _take(self, slot: int) -> list[Item]:
        records, self._records[slot] = self._records[slot], []
        self._sizes[slot] = 0
        return records

    def take_driver(self) -> Row:
        driver, self._driver = self._driver, []
        slot = TO_DRIVER if self.is_last else self._subtask % self._slots
        return slot, Envelope(driver=driver).encode()
