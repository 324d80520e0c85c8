"""A task that flows: it takes parcels as they come, and barriers divide what it does.

The parcels of one sender come in order. When a barrier has come from some senders and not from
others, what follows it waits: a snapshot holds what was before the barrier and nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator
from typing import Any, Protocol

from headrace.core.crash_points import reach
from headrace.errors import JobFailed
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.flow.messages import (
    Acknowledged,
    Begin,
    Declined,
    DriverItem,
    Ended,
    Positions,
    TaskId,
    TaskPart,
    Told,
)
from headrace.runtime.flow.parcels import BARRIER, END, RECORDS, Parcel
from headrace.runtime.flow.snapshots import Snapshots, Written
from headrace.runtime.level_task import Row

_COUNT_EVERY = 1000
"""Milliseconds after which the driver hears what operators have counted."""


class Outside(Protocol):
    """What a task asks of the engine around it."""

    def send(self, message: Any) -> None:
        """Say something to the driver."""

    def write(self, files: Written, then: Callable[[], None]) -> None:
        """Make files of state durable, meanwhile or at once, and then call."""


class DriverItems:
    """What a task has to say to the driver: at once, or with its next checkpoint."""

    def __init__(self, *, checkpoints: bool = True) -> None:
        """`checkpoints`: whether there are any before the end."""
        self._waits = ("commit", "collect") if checkpoints else ("commit",)
        self._news: list[DriverItem] = []
        self._kept: list[DriverItem] = []

    def add(self, item: DriverItem) -> None:
        (self._kept if item[2] in self._waits else self._news).append(item)

    def take_news(self) -> tuple[DriverItem, ...]:
        news, self._news = self._news, []
        return tuple(news)

    def take_all(self) -> tuple[DriverItem, ...]:
        kept, self._kept = self._kept, []
        return (*kept, *self.take_news())


class FlowTask:
    """Runs the operators of a level between barriers, and makes it part of checkpoints."""

    def __init__(
        self, id: TaskId, task: FlowingLevel, senders: Collection[int], begin: Begin,
        outside: Outside, items: DriverItems, *, positions: Callable[[], Positions] = dict,
    ):  # fmt: skip
        """`items`: where its operators leave what they have to say to the driver."""
        self.id = id
        self.task = task
        self._senders = frozenset(senders)
        self._begin = begin
        self._outside = outside
        self._items = items
        self._positions = positions
        self._epoch = begin.checkpoint
        self._aligning: int | None = None
        self._ahead: set[int] = set()
        """Senders whose barrier has come."""
        self._over: set[int] = set()
        """Senders that will send no more."""
        self._held: deque[Parcel] = deque()
        self._expected: dict[int, int] = {}
        self._sent: dict[int, int] = {}
        whole = begin.taken_over is not None
        self._snapshots = (
            Snapshots(task.state, id, begin.attempt, begin.state, whole=whole) if id.level else None
        )
        self._counted = task.clock()
        self.ended = False

    def open(self) -> None:
        """State is there: records may come."""
        self.task.begin_epoch(self._epoch, self._begin.attempt)
        self.task.initialize(self._begin.restored)

    # What comes in.

    def take(self, blob: bytes) -> Iterator[Row]:
        """What another task has sent."""
        parcel = Parcel.decode(blob)
        expected = self._expected.get(parcel.sender, 0)
        if parcel.number != expected:
            raise JobFailed(
                f"task {self.id} was given parcel {parcel.number} of sender {parcel.sender} "
                f"instead of number {expected}",
                hint="Spark has lost or repeated a part of the stream; the job goes on from its "
                "last checkpoint.",
            )
        self._expected[parcel.sender] = expected + 1
        if parcel.sender in self._ahead:
            self._held.append(parcel)
        else:
            yield from self._handle(parcel)

    def _handle(self, parcel: Parcel) -> Iterator[Row]:
        if parcel.kind == RECORDS:
            yield from self._as_parcels(self.task.feed_blob(parcel.content))
            return
        if parcel.kind == BARRIER:
            yield from self._begin_aligning(parcel.checkpoint)
            self._ahead.add(parcel.sender)
        elif parcel.kind == END:
            self._over.add(parcel.sender)
        if self._aligning is not None and self._ahead | self._over == self._senders:
            reach("barrier-aligned", self._aligning)
            yield from self.checkpoint(self._aligning)
            yield from self._release()
        elif self._over == self._senders:
            yield from self.end()

    def _begin_aligning(self, checkpoint: int) -> Iterator[Row]:
        if self._aligning is not None and checkpoint > self._aligning:
            # Another sender never heard of the one before: it was given up.
            given_up = self._aligning
            self._outside.send(Declined(self.id, given_up, "a later barrier came first"))
            yield from self._release()
        self._aligning = checkpoint

    def _release(self) -> Iterator[Row]:
        """Go on with those that are ahead, until the next barrier."""
        self._aligning = None
        self._ahead.clear()
        held, self._held = self._held, deque()
        while held:
            parcel = held.popleft()
            if parcel.sender in self._ahead:
                self._held.append(parcel)
            else:
                yield from self._handle(parcel)

    def feed(self, vertex: int, batch: Any) -> Iterator[Row]:
        """What a source task has read."""
        yield from self._as_parcels(self.task.feed(vertex, batch))

    # What goes out.

    def end_round(self) -> Iterator[Row]:
        """Let everything out that waits."""
        self.task.fire_processing_time()
        yield from self._as_parcels(self.task.end_round())
        news = self._items.take_news()
        now = self.task.clock()
        if now - self._counted >= _COUNT_EVERY:
            self._counted = now
            news = (*news, *self.task.counts())
        if news:
            self._outside.send(Told(self.id, news))

    def checkpoint(self, number: int) -> Iterator[Row]:
        """Take a snapshot, and pass the barrier on."""
        yield from self._as_parcels(self.task.end_epoch())
        part, written, figures = self._part(number)
        reach("snapshot-taken", number)
        for slot in self._receivers():
            yield slot, self._parcel(slot, BARRIER, checkpoint=number)
        self._epoch = number + 1
        self.task.begin_epoch(self._epoch, self._begin.attempt)

        def acknowledge() -> None:
            reach("state-files.after", number)
            self._outside.send(Acknowledged(self.id, number, part, figures))

        self._outside.write(written, acknowledge)

    def end(self) -> Iterator[Row]:
        """No record will come any more; functions that cannot be closed fail the job."""
        self.ended = True
        yield from self._as_parcels(self.task.end_input())
        yield from self._as_parcels(self.task.end_epoch())
        part, written, figures = self._part(self._epoch)
        self.task.close()
        for slot in self._receivers():
            yield slot, self._parcel(slot, END)
        self._outside.write(written, lambda: self._outside.send(Ended(self.id, part, figures)))

    def _part(self, number: int) -> tuple[TaskPart, Written, dict[str, Any]]:
        items = (*self._items.take_all(), *self.task.counts())
        if self._snapshots is None:
            return TaskPart(positions=self._positions(), items=items), [], {}
        files, written, figures = self._snapshots.take(number)
        return TaskPart(files, items=items), written, figures

    def _receivers(self) -> range:
        plan = self.task.plan
        return range(plan.parallelism if self.task.level < plan.last_level else 0)

    def _as_parcels(self, rows: Iterator[Row]) -> Iterator[Row]:
        for slot, blob in rows:
            yield slot, self._parcel(slot, RECORDS, content=blob)

    def _parcel(self, slot: int, kind: int, checkpoint: int = 0, content: bytes = b"") -> bytes:
        number = self._sent.get(slot, 0)
        self._sent[slot] = number + 1
        return Parcel(kind, self.id.number, number, checkpoint, content).encode()
