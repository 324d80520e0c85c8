"""What a Spark task runs that flows: a loop over what comes in and what is due.

A thread reads what Spark hands over, another what the driver says; both go into one queue, so that
the loop can wait for either, and for a time.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from headrace.core.crash_points import reach
from headrace.core.operator import Batch
from headrace.core.source import SplitSpec
from headrace.runtime.driver_items import DriverItems
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.flow.messages import (
    Assign,
    Begin,
    Completed,
    Drain,
    Failed,
    Feed,
    Hello,
    Hold,
    NoMoreSplits,
    Pause,
    Ready,
    Room,
    SplitEnded,
    TaskId,
    TookPiece,
    Trigger,
)
from headrace.runtime.flow.parcels import Parcel
from headrace.runtime.flow.restoring import restore_level
from headrace.runtime.flow.snapshots import Written
from headrace.runtime.flow.splits import Splits
from headrace.runtime.flow.task import FlowTask
from headrace.runtime.outbox import Row
from headrace.spark.arrow_rows import slot_and_blob
from headrace.spark.failures import Reporting, WorkerFailure, reported
from headrace.spark.flow.channel import Address, Link
from headrace.spark.flow.frames import InputFailed
from headrace.spark.flow.pacing import BLOCKED_S, REST_S, Turns, Waker
from headrace.spark.flow.state_files import DriverFiles, StateFiles
from headrace.spark.shipment import Shipment
from headrace.spark.worker import ArrowFunction, abandoned_on_failure, partition, wall_clock

_LOG = logging.getLogger("headrace")
Inbox = queue.SimpleQueue[Any]
"""Rows of other tasks, of which there are no more than these have room for, and messages of the
driver."""
_PATIENCE = 10.0
_QUEUED_AT_MOST = 64 * 1024 * 1024
"""Bytes of state that wait to be written, beyond which the task waits, too."""
_EMPTY = object()
_AWAKE = object()
"""In the inbox: operators have answers."""


@dataclass(frozen=True)
class FlowPlan:
    """What all tasks of an attempt are told by the query itself."""

    shipment: Shipment
    address: Address
    state: Path | None
    """The folder of the job's state; None: its files go through the driver."""
    sources: tuple[tuple[int, int], ...]
    """By number of the source task: the source's vertex, and the task's number among its own."""
    buffer_ms: int | None
    """How long records wait for others to go with; -1: until there are many; None: it depends."""
    mark_ms: int
    """How often watermarks go out; 0: with each record."""
    checkpoints: bool
    """Whether there are any before the end."""


class _Outside:
    """A task's way to the driver and to the files of its state."""

    def __init__(self, link: Link, state: StateFiles):
        self._link = link
        self._state = state
        self._work: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._queued = 0
        self._room = threading.Condition()
        self._failure: BaseException | None = None
        threading.Thread(target=self._write_all, daemon=True, name="headrace-writer").start()

    def send(self, message: Any) -> None:
        self._link.send(message)

    def write(self, files: Written, then: Callable[[], None]) -> None:
        """Have it done meanwhile; waits only where very much is still to be written."""
        size = sum(len(content) for _, content in files)
        with self._room:
            self._room.wait_for(lambda: self._queued <= _QUEUED_AT_MOST or self._failure)
            self._queued += size
        self._work.put((files, then, size))

    def check(self) -> None:
        """Raise what the writing thread met with."""
        if self._failure is not None:
            raise self._failure

    def _write_all(self) -> None:
        while True:
            files, then, size = self._work.get()
            try:
                for name, content in files:
                    reach("state-files.before", int(name.split("-")[3]))
                    self._state.write(name, content)
                then()
            except BaseException as error:
                self._failure = error
                return
            finally:
                del files  # it may be much, and the next may be long in coming
                with self._room:
                    self._queued -= size
                    self._room.notify_all()


def read_sources(plan: FlowPlan) -> ArrowFunction:
    """Level 0: reads the splits it is given until it is told to stop."""

    def run(clock: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        id = TaskId(0, partition())
        with _begun(plan, id, clock) as at_work:
            vertex, subtask = plan.sources[id.number]
            level = make_level(plan, 0, subtask, at_work.items, source=vertex)
            source = level.plan.vertices[vertex]
            at_work.reporting.speaks_of(source.name, source.uid)
            assert isinstance(source.source, SplitSpec)
            splits = Splits(source.source.source, source.origin, checkpoints=plan.checkpoints)
            splits.on_end(lambda split: at_work.link.send(SplitEnded(id, split)))
            splits.on_taken(lambda split: at_work.link.send(TookPiece(id)))
            level.time.awaits_splits = lambda: splits.are_unknown
            task = at_work.flow_task(id, level, splits=splits)
            with abandoned_on_failure(level):
                yield from _as_arrow(_read(at_work, task, splits, vertex), task, at_work.link)

    return run


def _read(at_work: _AtWork, task: FlowTask, splits: Splits, vertex: int) -> Iterator[Row]:
    waker, turns = Waker(task, at_work.plan.buffer_ms, at_work.plan.mark_ms), Turns(splits)
    orders: deque[Any] = deque()
    """A barrier may have to wait, and what was said after it waits with it."""
    stopped = False
    while True:
        at_work.check(task)
        pause = BLOCKED_S if task.is_blocked else REST_S
        if task.level.is_full or (orders and not splits.must_go_on) or waker.mark_waits:
            pause = waker.wait()
        elif not (task.ended or stopped or task.is_blocked):
            batch = turns.read()
            pause = turns.pause
            if batch is not None:
                yield from _feed(task, splits, vertex, batch)
                waker.wrote()
        message = at_work.next_message(pause, task=task)
        if isinstance(message, Room):
            yield from task.make_room(message)
        elif isinstance(message, Feed):  # a barrier may wait for it
            splits.feed(message)
        elif message is not _EMPTY and message is not _AWAKE:
            orders.append(message)
        if task.has_answers:
            yield from task.emit_answers()
            waker.wrote()
        while orders and not (isinstance(orders[0], Trigger) and _must_wait(task, splits)):
            order = orders.popleft()
            yield from _obey(order, task, splits, vertex)
            stopped = stopped or (isinstance(order, Trigger) and order.stops)
            if isinstance(order, Assign):
                turns.wait_for_others()
        if task.ended or stopped:
            continue
        if splits.ended and not task.level.owes_answers:
            yield from task.end()
        else:
            yield from waker.do_what_is_due()


def _must_wait(task: FlowTask, splits: Splits) -> bool:
    """Whether a barrier cannot go out yet."""
    return task.level.owes_answers or (splits.must_go_on and not task.ended)


def _feed(task: FlowTask, splits: Splits, vertex: int, batch: Batch) -> Iterator[Row]:
    yield from task.feed(vertex, batch)
    if splits.in_steps:
        task.level.time.move()
        yield from task.end_round()


def _obey(order: Any, task: FlowTask, splits: Splits, vertex: int) -> Iterator[Row]:
    """Do what the driver says to a source task."""
    match order:
        case Trigger(checkpoint=number) if not task.ended:
            reach("barrier-injected", number)
            yield from task.checkpoint(number, is_exact=order.is_exact)
        case Assign(splits=assigned):
            for known in splits.assign(assigned):
                yield from task.feed(vertex, known)
            task.level.time.know_splits(any_here=bool(assigned))
            yield from task.end_round()
        case Hold(splits=waiting):
            splits.hold(waiting)
        case Pause(on=on):
            splits.pause(on)
        case NoMoreSplits():
            splits.complete()
        case Drain():
            splits.drain()
        case Completed(checkpoint=number):
            task.complete(number)


def run_level(plan: FlowPlan, level_number: int) -> ArrowFunction:
    """A level after an exchange: takes what comes, and does what is due."""

    def run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        id = TaskId(level_number, partition())
        with _begun(plan, id, rows) as at_work:
            level = make_level(plan, level_number, id.number, at_work.items)
            with abandoned_on_failure(level):
                in_flight = restore_level(
                    level, at_work.begin, at_work.state.read, at_work.files.open_saved
                )
                task = at_work.flow_task(id, level, in_flight=in_flight)
                yield from _as_arrow(_flow(at_work, task), task, at_work.link)

    return run


def _flow(at_work: _AtWork, task: FlowTask) -> Iterator[Row]:
    waker = Waker(task, at_work.plan.buffer_ms, at_work.plan.mark_ms)
    while True:
        at_work.check(task)
        message = at_work.next_message(_pause(task, waker), task=task)
        while message is not _EMPTY:  # all that is here, so that a barrier need not wait its turn
            if isinstance(message, bytes):
                yield from task.arrive(message)
            elif isinstance(message, Room):
                yield from task.make_room(message)
            elif isinstance(message, Completed):
                task.complete(message.checkpoint)
            message = at_work.next_message()
        if _may_work(task, waker):
            yield from task.work()
            waker.wrote()
        if task.has_answers:
            yield from task.emit_answers()
            waker.wrote()
        if not task.ended:
            yield from waker.do_what_is_due()


def _pause(task: FlowTask, waker: Waker) -> float:
    """How long to wait for others."""
    if task.ended:
        return REST_S
    return 0.0 if _may_work(task, waker) else waker.wait()


def _may_work(task: FlowTask, waker: Waker) -> bool:
    return task.has_work and not task.awaits_answers and not waker.mark_waits


class _AtWork:
    """What a task has around it while it runs: the driver, its input, its files."""

    def __init__(
        self, plan: FlowPlan, link: Link, inbox: Inbox, begin: Begin, reporting: Reporting,
        files: DriverFiles,
    ):  # fmt: skip
        self.plan = plan
        self.reporting = reporting
        self.link = link
        self.begin = begin
        self.items = DriverItems(checkpoints=plan.checkpoints)
        self._inbox = inbox
        self.files = files
        self.state = files.state_files(plan.state)
        self._outside = _Outside(link, self.state)

    def flow_task(
        self, id: TaskId, level: FlowingLevel, *, splits: Splits | None = None,
        in_flight: list[Parcel] | None = None,
    ) -> FlowTask:  # fmt: skip
        """The task, its operators open; the driver knows of it."""
        task = FlowTask(id, level, self.begin, self._outside, self.items, splits=splits)
        level.answer_later(lambda: self._inbox.put(_AWAKE))
        task.open(in_flight)
        self.link.send(Ready(id, level.has_union_state))
        return task

    def check(self, task: FlowTask) -> None:
        """Leave when the attempt is over; fail if a file could not be written."""
        if self.link.over.is_set():
            _leave(task, self.link)
        self._outside.check()

    def next_message(self, wait: float = 0, *, task: FlowTask | None = None) -> Any:
        """A row of another task or a word of the driver, if there is one before the time is up.

        `task`: who waits, if somebody does.
        """
        try:
            if wait == 0 or task is None:
                return self._inbox.get_nowait()
            began, for_room = time.monotonic(), task.is_blocked
            try:
                return self._inbox.get(timeout=wait)
            finally:
                if not task.level.is_full:
                    task.level.load.waited(time.monotonic() - began, for_room=for_room)
        except queue.Empty:
            return _EMPTY


def _leave(task: FlowTask, link: Link) -> None:
    """Close the user's functions, and end the process."""
    if not task.ended:
        try:
            task.level.close()
        except Exception:
            _LOG.warning("a function of task %s could not be closed", task.id, exc_info=True)
    link.leave_with_others()


@contextmanager
def _begun(plan: FlowPlan, id: TaskId, rows: Iterator[pa.RecordBatch]) -> Iterator[_AtWork]:
    """Connect with the driver, hear what to begin with, and read what comes in."""
    inbox: Inbox = queue.SimpleQueue()
    with connected(plan, id, inbox.put, Link.leave_with_others) as (link, reporting, files):
        begin = inbox.get()
        threading.Thread(
            target=_drain, args=(rows, inbox, link), daemon=True, name="headrace-rows"
        ).start()
        yield _AtWork(plan, link, inbox, begin, reporting, files)


@contextmanager
def connected(
    plan: FlowPlan, id: TaskId, put: Callable[[Any], None], leave: Callable[[Link], None]
) -> Iterator[tuple[Link, Reporting, DriverFiles]]:
    """Connect with the driver, which hears why the task fails; `leave`: how to end the process."""
    link = Link(plan.address, Hello(id), put)
    try:
        with reported() as reporting, closing(DriverFiles(plan.address)) as files:
            yield link, reporting, files
    except (GeneratorExit, InputFailed):
        raise
    except BaseException as error:
        link.send(Failed(id, str(error) if isinstance(error, WorkerFailure) else repr(error)))
        # The driver ends all tasks: were Spark to hear of it first, it would hang up on others
        # while they write, or begin this one again.
        if link.over.wait(_PATIENCE):
            leave(link)
        raise
    finally:
        link.close()


def _drain(rows: Iterator[pa.RecordBatch], inbox: Inbox, link: Link) -> None:
    with suppress(Exception):  # Spark has hung up: it says itself why
        for blob in read_blobs(rows):
            inbox.put(blob)
    link.cut_off.set()
    link.leave()  # a query ends only when it is stopped, or has failed


def read_blobs(rows: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    """What other tasks have sent; a clock's rows have no such column."""
    for batch in rows:
        if batch.num_columns > 1:
            yield from (blob for blob in batch.column(1).to_pylist() if blob is not None)


def make_level(
    plan: FlowPlan, level: int, subtask: int, items: DriverItems, *, source: int | None = None
) -> FlowingLevel:
    """The operators of a task, open."""
    shipment = plan.shipment
    task = FlowingLevel(
        shipment.plan(), level, subtask, wall_clock, tell=items.add, source=source,
        files=shipment.files,
    )  # fmt: skip
    task.open()
    return task


def _as_arrow(rows: Iterator[Row], task: FlowTask, link: Link) -> Iterator[pa.RecordBatch]:
    for slot, blob in rows:
        if link.over.is_set():
            _leave(task, link)  # there may be nobody any more who could take it
        yield slot_and_blob(slot, blob)
