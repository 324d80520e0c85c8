"""What a Spark task runs that flows: a loop over what comes in and what is due.

A thread reads what Spark hands over, another what the driver says; both go into one queue, so that
the loop can wait for either, and for a time.
"""

from __future__ import annotations

import logging
import os
import pickle
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from headrace.core.crash_points import reach
from headrace.core.source import SplitSpec
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.flow.messages import (
    Assign,
    Begin,
    Completed,
    Drain,
    Failed,
    Hello,
    Hold,
    NoMoreSplits,
    Positions,
    Ready,
    TaskId,
    Trigger,
)
from headrace.runtime.flow.snapshots import Written, restore
from headrace.runtime.flow.splits import Splits
from headrace.runtime.flow.task import DriverItems, FlowTask
from headrace.spark.arrow_rows import slot_and_blob
from headrace.spark.failures import WorkerFailure, reported
from headrace.spark.file_store import LocalStore
from headrace.spark.flow.channel import Address, Link, leave_process
from headrace.spark.savepoints.restore import TakenOver
from headrace.spark.shipment import Shipment
from headrace.spark.worker import ArrowFunction, abandoned_on_failure, partition, wall_clock

_LOG = logging.getLogger("headrace")
_ROWS_WAITING = 64
"""Rows that wait in a worker's queue; more wait in Spark, which slows the sender down."""
_POLL_S = 0.001
"""How long a source task sleeps that found nothing to read."""
Inbox = queue.Queue[Any]
"""Rows of other tasks, and messages of the driver."""
_PATIENCE = 10.0
_EMPTY = object()


@dataclass(frozen=True)
class FlowPlan:
    """What all tasks of an attempt are told by the query itself."""

    shipment: Shipment
    address: Address
    state: str
    """The folder of the job's state."""
    sources: tuple[tuple[int, int], ...]
    """By number of the source task: the source's vertex, and the task's number among its own."""
    flush_ms: int
    mark_ms: int
    """How often watermarks go out; 0: with each record."""
    checkpoints: bool
    """Whether there are any before the end."""

    @property
    def tasks_of(self) -> dict[int, int]:
        """How many tasks read each source."""
        counts: dict[int, int] = {}
        for vertex, _ in self.sources:
            counts[vertex] = counts.get(vertex, 0) + 1
        return counts


class _Outside:
    """A task's way to the driver and to the files of its state."""

    def __init__(self, link: Link, state: str):
        self._link = link
        self._store = LocalStore(Path(state))
        self._work: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._failure: BaseException | None = None
        threading.Thread(target=self._write_all, daemon=True, name="headrace-writer").start()

    def send(self, message: Any) -> None:
        self._link.send(message)

    def write(self, files: Written, then: Callable[[], None]) -> None:
        self._work.put((files, then))

    def check(self) -> None:
        """Raise what the writing thread met with."""
        if self._failure is not None:
            raise self._failure

    def _write_all(self) -> None:
        while True:
            files, then = self._work.get()
            try:
                for name, content in files:
                    reach("state-files.before", int(name.split("-")[3]))
                    self._store.write(name, content)
                then()
            except BaseException as error:
                self._failure = error
                return


class _Waker:
    """Says when a loop has something to do by itself."""

    def __init__(self, plan: FlowPlan, task: FlowingLevel):
        self._task = task
        self._flush = plan.flush_ms / 1000
        self._mark = plan.mark_ms / 1000 if plan.mark_ms else None
        self.next_mark = time.monotonic() + (self._mark or 0)
        self.flush_at: float | None = None
        self._beat = time.monotonic()

    def wrote(self) -> None:
        """Something waits to go out."""
        if self.flush_at is None:
            self.flush_at = time.monotonic() + self._flush

    def wait(self) -> float | None:
        """Seconds until something is due."""
        now = time.monotonic()
        due = [at - now for at in (self.flush_at, self.next_mark if self._mark else None)
               if at is not None]  # fmt: skip
        timer = self._task.next_processing_time()
        if timer is not None:
            due.append((timer - wall_clock()) / 1000)
        return max(0.0, min(due)) if due else None

    def marks_due(self) -> bool:
        now = time.monotonic()
        if self._mark is None or now < self.next_mark:
            return False
        self.next_mark = now + self._mark
        return True


def read_sources(plan: FlowPlan) -> ArrowFunction:
    """Level 0: reads the splits it is given until it is told to stop."""

    def run(clock: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        id = TaskId(0, partition())
        with _begun(plan, id, clock) as at_work:
            vertex, subtask = plan.sources[id.number]
            level = _level_task(plan, 0, subtask, at_work.items, source=vertex)
            spec = level.plan.vertices[vertex].source
            assert isinstance(spec, SplitSpec)
            splits = Splits(spec.source)
            task = at_work.flow_task(id, level, (), positions=splits.positions)
            with abandoned_on_failure(level):
                yield from _as_arrow(_read(at_work, task, splits, vertex), task, at_work.link)

    return run


def _read(
    at_work: _AtWork, task: FlowTask, splits: Splits, vertex: int
) -> Iterator[tuple[int, bytes]]:
    waker = _Waker(at_work.plan, task.task)
    stopped = False
    while True:
        at_work.check(task)
        batch = None if task.ended or stopped else splits.read()
        if batch is not None:
            yield from task.feed(vertex, batch)
            waker.wrote()
        message = at_work.next_message(0 if batch is not None else _POLL_S)
        if isinstance(message, Trigger) and not task.ended:
            reach("barrier-injected", message.checkpoint)
            yield from task.checkpoint(message.checkpoint)
            stopped = stopped or message.stops
        elif isinstance(message, Assign):
            for known in splits.assign(message.splits):
                yield from task.feed(vertex, known)
        elif isinstance(message, Hold):
            splits.hold(message.splits)
        elif isinstance(message, NoMoreSplits):
            splits.complete()
        elif isinstance(message, Drain):
            splits.drain()
        elif isinstance(message, Completed) and not task.ended:
            task.task.complete(message.checkpoint)
        if task.ended or stopped:
            continue
        if waker.marks_due():
            task.task.move_time()
            waker.wrote()
        if splits.ended:
            yield from task.end()
        elif waker.flush_at is not None and time.monotonic() >= waker.flush_at:
            waker.flush_at = None
            yield from task.end_round()


def run_level(plan: FlowPlan, level_number: int) -> ArrowFunction:
    """A level after an exchange: takes what comes, and does what is due."""

    def run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        id = TaskId(level_number, partition())
        with _begun(plan, id, rows) as at_work:
            level = _level_task(plan, level_number, id.number, at_work.items)
            senders = range(len(plan.sources) if level_number == 1 else level.plan.parallelism)
            with abandoned_on_failure(level):
                _restore(level, at_work.begin, plan.state)
                level.expect_senders(plan.tasks_of)
                task = at_work.flow_task(id, level, senders)
                yield from _as_arrow(_flow(at_work, task), task, at_work.link)

    return run


def _restore(level: FlowingLevel, begin: Begin, state: str) -> None:
    if begin.state is not None:
        restore(level.state, begin.state, LocalStore(Path(state)).read)
        level.restore_clock()
    elif begin.taken_over is not None:
        given: TakenOver = pickle.loads(begin.taken_over)
        given.apply(level.state, level.subtask)
        level.restore_clock()


def _flow(at_work: _AtWork, task: FlowTask) -> Iterator[tuple[int, bytes]]:
    waker = _Waker(at_work.plan, task.task)
    while True:
        at_work.check(task)
        message = at_work.next_message(waker.wait())
        if isinstance(message, bytes):
            yield from task.take(message)
            waker.wrote()
        elif isinstance(message, Completed) and not task.ended:
            task.task.complete(message.checkpoint)
        if task.ended:
            continue
        if waker.marks_due():
            task.task.move_time()
        now = time.monotonic()
        if message is _EMPTY or (waker.flush_at is not None and now >= waker.flush_at):
            waker.flush_at = None
            yield from task.end_round()


class _AtWork:
    """What a task has around it while it runs: the driver, its input, its files."""

    def __init__(self, plan: FlowPlan, link: Link, inbox: Inbox, begin: Begin):
        self.plan = plan
        self.link = link
        self.begin = begin
        self.items = DriverItems(checkpoints=plan.checkpoints)
        self._inbox = inbox
        self._outside = _Outside(link, plan.state)

    def flow_task(
        self, id: TaskId, level: FlowingLevel, senders: Collection[int],
        positions: Callable[[], Positions] = dict,
    ) -> FlowTask:  # fmt: skip
        """The task, its operators open; the driver knows of it."""
        task = FlowTask(
            id, level, senders, self.begin, self._outside, self.items, positions=positions
        )
        task.open()
        self.link.send(Ready(id))
        return task

    def check(self, task: FlowTask) -> None:
        """Leave when the attempt is over; fail if a file could not be written."""
        if self.link.over.is_set():
            _leave(task)
        self._outside.check()

    def next_message(self, wait: float | None) -> Any:
        """A row of another task or a word of the driver, if there is one before the time is up."""
        try:
            return self._inbox.get_nowait() if wait == 0 else self._inbox.get(timeout=wait)
        except queue.Empty:
            return _EMPTY


def _leave(task: FlowTask) -> None:
    """Close the user's functions, and end the process."""
    if not task.ended:
        try:
            task.task.close()
        except Exception:
            _LOG.warning("a function of task %s could not be closed", task.id, exc_info=True)
    leave_process()


@contextmanager
def _begun(plan: FlowPlan, id: TaskId, rows: Iterator[pa.RecordBatch]) -> Iterator[_AtWork]:
    """Connect with the driver, hear what to begin with, and read what comes in."""
    inbox: Inbox = queue.Queue(_ROWS_WAITING)
    link = Link(plan.address, Hello(id, os.getpid()), inbox.put)
    try:
        with reported():
            begin = inbox.get()
            threading.Thread(
                target=_drain, args=(rows, inbox, link), daemon=True, name="headrace-rows"
            ).start()
            yield _AtWork(plan, link, inbox, begin)
    except GeneratorExit:
        raise
    except BaseException as error:
        link.send(Failed(id, str(error) if isinstance(error, WorkerFailure) else repr(error)))
        # The driver ends all tasks at once: were Spark to hear of it first, it would hang up on
        # the others while they write, and they would complain.
        if link.over.wait(_PATIENCE):
            leave_process()
        raise
    finally:
        link.close()


def _drain(rows: Iterator[pa.RecordBatch], inbox: Inbox, link: Link) -> None:
    with suppress(Exception):  # Spark has hung up: it says itself why
        for blob in _blobs(rows):
            inbox.put(blob)
    link.leave()  # a query ends only when it is stopped, or has failed


def _blobs(rows: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    """What other tasks have sent; a clock's rows have no such column."""
    for batch in rows:
        if batch.num_columns > 1:
            yield from (blob for blob in batch.column(1).to_pylist() if blob is not None)


def _level_task(
    plan: FlowPlan, level: int, subtask: int, items: DriverItems, *, source: int | None = None
) -> FlowingLevel:
    shipment = plan.shipment
    task = FlowingLevel(
        shipment.plan(), level, subtask, wall_clock, tell=items.add, source=source,
        files=shipment.files,
    )  # fmt: skip
    task.open()
    return task


def _as_arrow(
    rows: Iterator[tuple[int, bytes]], task: FlowTask, link: Link
) -> Iterator[pa.RecordBatch]:
    for slot, blob in rows:
        if link.over.is_set():
            _leave(task)  # there may be nobody any more who could take it
        yield slot_and_blob(slot, blob)
