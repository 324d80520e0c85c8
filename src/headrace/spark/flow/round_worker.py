"""What a Spark task runs in a round: its part of one checkpoint, from the driver's first word to
its own last.

Workers keep tasks between rounds, since opening a function and restoring state may be dear. Spark
gives a task to any worker, so what is kept is marked with the checkpoint it stands at; a worker
that finds itself behind applies the files it has missed.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from headrace.core.checkpointed import source_part
from headrace.core.crash_points import reach
from headrace.core.operator import Batch
from headrace.core.source import LiveReader, SourceSpec, SplitReader, SplitSpec
from headrace.errors import JobFailed
from headrace.runtime.driver_items import DriverItems
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.flow.messages import Begin, Leave, Round, SlotFiles, TaskId
from headrace.runtime.flow.parcels import Parcel
from headrace.runtime.flow.restoring import restore_level
from headrace.runtime.flow.snapshots import Written, restore
from headrace.runtime.flow.task import FlowTask
from headrace.runtime.outbox import Row
from headrace.runtime.source_task import read_ranges
from headrace.spark.arrow_rows import slot_and_blob
from headrace.spark.failures import Reporting
from headrace.spark.flow.channel import Link, leave_process
from headrace.spark.flow.frames import given_rows
from headrace.spark.flow.state_files import DriverFiles
from headrace.spark.flow.worker import FlowPlan, connected, make_level, read_blobs
from headrace.spark.garbage import look_at_everything, pass_over_what_stays
from headrace.spark.runs_at_work import is_over, note_run
from headrace.spark.shipment import Shipment
from headrace.spark.slot_routing import keep_slot
from headrace.spark.worker import ArrowFunction, abandoned_on_failure, decode_rows, partition


@dataclass
class _Kept:
    """A task between two rounds."""

    level: FlowingLevel
    items: DriverItems
    attempt: int
    checkpoint: int = 0
    files: SlotFiles | None = None
    reader: SplitReader[Any] | None = None

    def let_go(self) -> None:
        """Close it, and free what it held."""
        self.level.abandon()
        if self.reader is not None:
            self.reader.close()
        look_at_everything()


_KEPT: dict[tuple[str, TaskId], _Kept] = {}
"""By run and task."""


def _take_kept(shipment: Shipment, id: TaskId, begin: Begin) -> _Kept | None:
    """What this process has of a task; what belongs to jobs that have ended goes."""
    note_run(shipment)
    for whose in [whose for whose in _KEPT if _has_ended(whose[0], shipment)]:
        _KEPT.pop(whose).let_go()
    kept = _KEPT.pop((shipment.run_id, id), None)
    if kept is not None and kept.attempt != begin.attempt:
        kept.let_go()
        return None
    return kept


def _has_ended(run_id: str, shipment: Shipment) -> bool:
    """Whether a run has ended: its job has, or is in another run by now."""
    job, _, run = shipment.run_id.rpartition("-")
    other_job, _, other_run = run_id.rpartition("-")
    return (bool(job) and job == other_job and run != other_run) or is_over(run_id, shipment)


class _AtWork:
    """What a task has around it: the driver, its files."""

    def __init__(
        self, plan: FlowPlan, link: Link, begin: Begin, reporting: Reporting, files: DriverFiles
    ):
        self.plan = plan
        self.begin = begin
        self.reporting = reporting
        self.files = files
        self.state = files.state_files(plan.state)
        self._link = link

    @property
    def round(self) -> Round:
        assert self.begin.round is not None
        return self.begin.round

    def send(self, message: Any) -> None:
        self._link.send(message)

    def write(self, files: Written, then: Callable[[], None]) -> None:
        for name, content in files:
            reach("state-files.before", self.begin.checkpoint)
            self.state.write(name, content)
        then()

    def as_arrow(self, rows: Iterator[Row], level: FlowingLevel) -> Iterator[pa.RecordBatch]:
        for slot, blob in rows:
            if self._link.over.is_set():  # there may be nobody any more who could take it
                level.abandon()
                leave_process()
            yield slot_and_blob(slot, blob)


@contextmanager
def _begun(plan: FlowPlan, id: TaskId) -> Iterator[_AtWork]:
    """Connect with the driver, and hear what to do."""
    said: queue.SimpleQueue[Any] = queue.SimpleQueue()
    with connected(plan, id, said.put, lambda _: leave_process()) as (link, reporting, files):
        pass_over_what_stays()
        begin = said.get()
        if isinstance(begin, Leave):
            leave_process()
        yield _AtWork(plan, link, begin, reporting, files)


def read_in_round(
    plan: FlowPlan, numbers: tuple[int, ...], first: int = 0, *, fed: bool = False
) -> ArrowFunction:
    """Level 0: reads what the driver says; or, if it is `fed`, takes what Spark has read.

    `numbers`: of the tasks, by partition; `first`: the first of these partitions.
    """

    def run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        id = TaskId(0, numbers[partition() - first])
        with _begun(plan, id) as at_work:
            vertex, subtask = plan.sources[id.number]
            kept = _take_kept(plan.shipment, id, at_work.begin)
            if kept is None:
                items = DriverItems()
                level = make_level(plan, 0, subtask, items, source=vertex)
                kept = _Kept(level, items, at_work.begin.attempt)
            source = kept.level.plan.vertices[vertex]
            at_work.reporting.speaks_of(source.name, source.uid)
            assert source.source is not None
            with abandoned_on_failure(kept.level):
                task = _open(at_work, id, kept)
                batches = (decode_rows(source.source, given_rows(rows)) if fed
                           else _read(kept, source.source, at_work))  # fmt: skip
                for batch in batches:
                    yield from at_work.as_arrow(task.feed(vertex, batch), kept.level)
                reach("barrier-injected", at_work.begin.checkpoint)
                last = (
                    task.end() if at_work.round.ends else task.checkpoint(at_work.begin.checkpoint)
                )
                yield from at_work.as_arrow(last, kept.level)
            _keep(plan, id, task, kept)

    return run


def _read(kept: _Kept, spec: SourceSpec, at_work: _AtWork) -> Iterator[Batch]:
    if not isinstance(spec, SplitSpec):
        return  # Spark had nothing for this task
    splits_end = spec.source.splits_end
    for split, records in at_work.round.records:
        yield Batch(records, split=None if splits_end else split)
    if at_work.round.ranges:
        if kept.reader is None:
            reader: Any = source_part(spec.source.create_reader())
            assert not isinstance(reader, LiveReader)
            kept.reader = reader
        yield from read_ranges(kept.reader, at_work.round.ranges, splits_end=splits_end)


def work_in_round(plan: FlowPlan, level: int) -> ArrowFunction:
    """A level after an exchange: takes all that was sent to it, up to the barriers."""

    def run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        id = TaskId(level, partition())
        with _begun(plan, id) as at_work:
            kept, in_flight = _caught_up(at_work, id)
            with abandoned_on_failure(kept.level):
                task = _open(at_work, id, kept, in_flight)
                kept.level.fire_processing_time()
                yield from at_work.as_arrow(_work_off(task, rows), kept.level)
            _keep(plan, id, task, kept)

    return run


def _work_off(task: FlowTask, rows: Iterator[pa.RecordBatch]) -> Iterator[Row]:
    for blob in read_blobs(rows):
        yield from task.arrive(blob)
        while task.has_work:
            yield from task.work()
    if not task.is_through:
        raise JobFailed(
            f"task {task.id} was not given all that was sent to it",
            hint="Spark has lost a part of the stream; the job goes on from its last checkpoint.",
        )


def _open(
    at_work: _AtWork, id: TaskId, kept: _Kept, in_flight: list[Parcel] | None = None
) -> FlowTask:
    begin = at_work.begin
    if begin.restored is not None and kept.checkpoint == begin.restored:
        kept.level.complete(begin.restored)
    else:
        kept.level.time.say_all_anew()
    kept.level.answer_later()
    task = FlowTask(id, kept.level, begin, at_work, kept.items)
    task.open(in_flight)
    return task


def _keep(plan: FlowPlan, id: TaskId, task: FlowTask, kept: _Kept) -> None:
    if task.ended:
        if kept.reader is not None:
            kept.reader.close()
        look_at_everything()
        return
    kept.checkpoint = task.last_checkpoint
    kept.files = task.files
    _KEPT[plan.shipment.run_id, id] = kept
    keep_slot(partition())


def _caught_up(at_work: _AtWork, id: TaskId) -> tuple[_Kept, list[Parcel]]:
    """The task with its state as of the last checkpoint, and what was on its way to it."""
    plan, begin = at_work.plan, at_work.begin
    kept = _take_kept(plan.shipment, id, begin)
    if kept is not None and kept.checkpoint != begin.restored and not _catch_up(at_work, kept):
        kept.let_go()
        kept = None
    if kept is not None:
        return kept, []
    items = DriverItems()
    kept = _Kept(make_level(plan, id.level, id.number, items), items, begin.attempt)
    with abandoned_on_failure(kept.level):
        in_flight = restore_level(kept.level, begin, at_work.state.read, at_work.files.open_saved)
    return kept, in_flight


def _catch_up(at_work: _AtWork, kept: _Kept) -> bool:
    """Apply what was written since the task was here; whether that is possible."""
    files, wanted = kept.files, at_work.begin.state
    if files is None or wanted is None or kept.level.remembers:
        return False  # state could catch up, but not what functions keep in their fields
    known = len(files.files)
    if wanted.files[:known] != files.files:
        return False
    with abandoned_on_failure(kept.level):
        restore(kept.level.state, replace(wanted, files=wanted.files[known:]), at_work.state.read)
        kept.level.time.restore()
    return True
