"""Sources that Spark reads while a job flows.

Spark reads tables and files in jobs of its own, beside the query: the very DataFrames that a
micro-batch or a batch would take. In a worker, a task of such a job hands the rows to the driver,
piece by piece, and the driver hands them on to the source task that has the split; there is no
answer before that has room for more. So nothing is written down on the way, and what was on its
way is read once more after a failure, behind the rows that the checkpoint knows of.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from headrace.core.source import Split
from headrace.errors import HeadraceError, JobFailed
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.flow.assignment import tasks_by_source
from headrace.runtime.flow.fed import READ, FedSource, FedSplits, fed_source
from headrace.runtime.flow.messages import (
    Assign,
    BeginsReading,
    Feed,
    HandsOver,
    Leave,
    Piece,
    Refused,
    TaskId,
    WantedRows,
)
from headrace.runtime.flow.splits import is_within, records_within
from headrace.runtime.source_task import READ_AT_ONCE
from headrace.spark.failures import from_spark, reported
from headrace.spark.flow.channel import Address, Clerk, Inquiries, leave_process
from headrace.spark.flow.frames import Frames, given_rows, rows_by_split
from headrace.spark.worker import ArrowFunction

_LOOK_EVERY = 1.0
"""Seconds between two looks into a folder: each is a list of all its files, made by Spark."""
_ON_THEIR_WAY = 2
"""Pieces that a task has not taken yet."""
_PIECE = 4 * 1024 * 1024
"""Bytes of a piece, more or less."""
_READ_AT_MOST = 500
"""Files that are read by one job of Spark's."""


@dataclass(frozen=True)
class Around:
    """What a feed has around it."""

    address: Address
    """Where whoever reads finds the driver."""
    send: Callable[[TaskId, Any], None]
    found: Callable[[], None]
    """Called when there are splits that nobody reads yet."""
    fail: Callable[[HeadraceError], None]


@dataclass
class _Portion:
    """A split that is read for a task."""

    task: TaskId
    rows: int
    """How many of its rows the task was given."""


class _KnownSplits(FedSplits):
    """The splits that were there at the last look."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def splits(self) -> list[Split]:
        return [Split(name) for name in self.names]


class SourceFeed:
    """Has Spark read one source for its tasks: those splits, in turn, that they were given."""

    def __init__(
        self, frames: Frames, source: FedSource, around: Around, numbers: Iterator[int], group: str
    ):
        self.splits = _KnownSplits()
        self._frames = frames
        self._keeps_order = source.keeps_order
        self._watches = not source.spec.bounded
        self._around = around
        self._numbers = numbers
        self._group = group
        self._waiting: deque[tuple[str, _Portion]] = deque()
        self._portions: dict[str, _Portion] = {}
        """What Spark reads now."""
        self.reading = 0
        """The number of that job."""
        self._reader = 0
        self._on_their_way: dict[TaskId, int] = {}
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, daemon=True, name="headrace-feed")
        try:
            self.splits.names = frames.splits()
        except HeadraceError as error:
            error.came_from(frames.vertex.origin)
            raise

    def assigned(self, task: TaskId, word: Assign) -> None:
        """A task has been given splits: have them read, unless that was done before."""
        with self._changed:
            for split, at in word.splits:
                if is_within(at) or at < READ:
                    self._waiting.append((split.id, _Portion(task, records_within(at))))
            self._changed.notify_all()
            if self._thread.ident is None:
                self._thread.start()

    # What its thread does.

    def _run(self) -> None:
        context = self._frames.spark.sparkContext
        context.setJobGroup(self._group, "headrace", interruptOnCancel=True)
        try:
            while not self._closed:
                if self._begin():
                    self._read()
                elif self._watches:
                    self._look()
        except BaseException as error:
            if not self._closed:
                failure = from_spark(error)
                failure.came_from(self._frames.vertex.origin)
                self._around.fail(failure)

    def _begin(self) -> bool:
        """Take on what waits to be read, after a while if nothing does."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed, _LOOK_EVERY)
            some = min(len(self._waiting), _READ_AT_MOST)
            self._portions = dict(self._waiting.popleft() for _ in range(some))
            self.reading = next(self._numbers)
            return bool(some) and not self._closed

    def _read(self) -> None:
        rows = self._frames.ordered_rows(list(self._portions))
        read = rows.mapInArrow(_hand_over(self._around.address, self.reading), "nothing int")
        read.write.format("noop").mode("append").save()
        for split, portion in self._portions.items():
            self._around.send(portion.task, Feed(split, is_last=True))

    def _look(self) -> None:
        found = self._frames.splits()
        if found != self.splits.names:
            self.splits.names = found
            self._around.found()

    # What others say meanwhile.

    def answer(self, request: BeginsReading | HandsOver) -> WantedRows | Piece | Refused | Leave:
        """What becomes of rows that Spark has read; waits until their task has room."""
        with self._changed:
            if self._closed or request.reading != self.reading:
                return Leave()
            if isinstance(request, BeginsReading):
                return self._begin_reading()
            portion = self._portions.get(request.split)
            if portion is None:
                return Refused(f"Spark has read {request.split}, which nobody asked for")
            task = portion.task
            self._changed.wait_for(lambda: self._closed or self._has_room(task))
            if self._closed or request.reader != self._reader:
                return Leave()
            portion.rows += request.count
            self._on_their_way[task] = self._on_their_way.get(task, 0) + 1
            self._around.send(task, Feed(request.split, request.rows))
            return Piece()

    def _begin_reading(self) -> WantedRows | Refused:
        skips = {split: portion.rows for split, portion in self._portions.items() if portion.rows}
        if skips and not self._keeps_order:
            name = self._frames.vertex.name
            return Refused(f"{name!r}: Spark has lost a task that read it, and began once more")
        # Spark may try a task again, or two at a time: the last one counts.
        self._reader += 1
        return WantedRows(self._reader, skips)

    def _has_room(self, task: TaskId) -> bool:
        return self._on_their_way.get(task, 0) < _ON_THEIR_WAY

    def took_piece(self, task: TaskId) -> None:
        with self._changed:
            self._on_their_way[task] -= 1
            self._changed.notify_all()

    def close(self) -> None:
        """Read no further."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        with suppress(Exception):
            self._frames.spark.sparkContext.cancelJobGroup(self._group)


class Feeds:
    """All sources of a job that Spark reads."""

    def __init__(self, spark: SparkSession, plan: PhysicalPlan, around: Around):
        self._by_task: dict[TaskId, SourceFeed] = {}
        self.enumerators: dict[int, FedSplits] = {}
        self._feeds: list[SourceFeed] = []
        numbers = count(1)
        for vertex, tasks in tasks_by_source(plan):
            source = fed_source(vertex)
            if source is None:
                continue
            group = f"headrace-feed-{around.address.port}-{vertex.id}"
            feed = SourceFeed(Frames(spark, vertex, source.spec), source, around, numbers, group)
            self._feeds.append(feed)
            self.enumerators[vertex.id] = feed.splits
            self._by_task.update(dict.fromkeys(tasks, feed))

    def assigned(self, task: TaskId, word: Assign) -> None:
        """A task has been given splits."""
        if task in self._by_task:
            self._by_task[task].assigned(task, word)

    def took_piece(self, task: TaskId) -> None:
        """A task has room for more."""
        self._by_task[task].took_piece(task)

    def answer(self, request: BeginsReading | HandsOver) -> Any:
        for feed in self._feeds:
            if feed.reading == request.reading:
                return feed.answer(request)
        return Leave()

    def close(self) -> None:
        for feed in self._feeds:
            feed.close()


class FeedingClerk:
    """Answers who reads for source tasks, and leaves other questions to another clerk."""

    def __init__(self, other: Clerk, answer: Callable[[BeginsReading | HandsOver], Any]):
        self._other = other
        self._answer = answer

    def answer(self, request: Any) -> Any:
        if isinstance(request, BeginsReading | HandsOver):
            return self._answer(request)
        return self._other.answer(request)

    def close(self) -> None:
        self._other.close()


# What runs in a worker.


def _hand_over(address: Address, reading: int) -> ArrowFunction:
    def run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with reported(), closing(Inquiries(address)) as driver:
            wanted = _ask(driver, BeginsReading(reading))
            for split, batch in rows_by_split(given_rows(rows), wanted.skips):
                for part in _pieces(batch):
                    blob = _as_stream(part)
                    word = HandsOver(reading, wanted.reader, split, part.num_rows, blob)
                    _ask(driver, word)
        yield from ()

    return run


def _ask(driver: Inquiries, request: Any) -> Any:
    try:
        answer = driver.ask(request)
    except (EOFError, OSError):  # it has hung up
        answer = Leave()
    if isinstance(answer, Leave):
        leave_process()  # else Spark would wait for rows that nobody reads
    if isinstance(answer, Refused):
        raise JobFailed(answer.reason, hint="The job goes on from its last checkpoint.")
    return answer


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows of a batch, as many at a time as a task should hold."""
    by_size = _PIECE * batch.num_rows // max(1, batch.nbytes)
    step = max(1, min(READ_AT_ONCE, by_size))
    for start in range(0, batch.num_rows, step):
        yield batch.slice(start, step)


def _as_stream(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())
