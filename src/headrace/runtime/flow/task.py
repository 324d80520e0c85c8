"""A task that flows: it works parcels off as they come, and barriers divide what it does.

The parcels of one sender come in order. When a barrier has come from some senders and not from
others, what follows it waits: a snapshot holds what was before the barrier and nothing else. A
barrier that overtakes does not wait for its turn: the state is taken as soon as the first one is
here, and what the others are still to bring before theirs is kept with it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

from headrace.core.crash_points import reach
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.driver_items import REACH, DriverItem, DriverItems
from headrace.runtime.envelope import MARK
from headrace.runtime.flow.intake import Intake, ends
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.flow.messages import (
    Acknowledged,
    Begin,
    Declined,
    Ended,
    Room,
    SlotFiles,
    TaskFigures,
    TaskId,
    TaskPart,
    Told,
    WorkedOff,
)
from headrace.runtime.flow.output import Output
from headrace.runtime.flow.parcels import BARRIER, END, RECORDS, Barrier, Parcel
from headrace.runtime.flow.pieces import Opened, Pace
from headrace.runtime.flow.snapshots import COMPACT_AT_LEAST, Snapshots, Written
from headrace.runtime.flow.splits import Splits
from headrace.runtime.flow.windows import Windows
from headrace.runtime.outbox import Row

_COUNT_EVERY = 1000
"""Milliseconds after which the driver hears what operators have counted."""
TASK = "task"
"""Among the figures of a checkpoint: how the task took part."""


class Outside(Protocol):
    """What a task asks of the engine around it."""

    def send(self, message: Any) -> None:
        """Say something to the driver."""

    def write(self, files: Written, then: Callable[[], None]) -> None:
        """Make files of state durable, meanwhile or at once, and then call."""


@dataclass
class _Figures:
    """What is known of a task's part in a checkpoint, as it goes on."""

    known: dict[str, Any]
    came: float
    start_delay: int
    alignment: int
    sync: int
    taken: float
    in_flight: int = 0

    def told(self, level: FlowingLevel, now: float) -> dict[str, Any]:
        """For the driver, when everything is written."""
        uids = tuple(each.vertex.uid for each in level.tasks.values())
        figures = TaskFigures(
            uids, self.start_delay, self.alignment, self.sync, int(now - self.taken), self.in_flight
        )
        return {**self.known, TASK: figures}


@dataclass
class _Overtaken:
    """A checkpoint whose state is taken, and which still lacks what is on its way."""

    number: int
    part: TaskPart
    written: Written
    figures: _Figures
    parcels: list[Parcel]
    missing: set[int]
    """Senders whose barrier has not come."""


class FlowTask:
    """Runs the operators of a level between barriers, and makes it part of checkpoints."""

    def __init__(
        self, id: TaskId, level: FlowingLevel, begin: Begin, outside: Outside, items: DriverItems,
        *, splits: Splits | None = None,
    ):  # fmt: skip
        """`items`: where its operators leave what they have to say to the driver."""
        self.id = id
        self.level = level
        self._begin = begin
        self._alignment = begin.alignment
        if level.place.takes_broadcasts():
            self._alignment = replace(begin.alignment, overtakes_after=None)
        self._outside = outside
        self._items = items
        self._splits = splits
        self._epoch = begin.checkpoint
        """The next checkpoint."""
        self._round = begin.round
        self._connect()
        self._opened: Opened | None = None
        self._pace = Pace()
        self._aligning: int | None = None
        self._overtaken: _Overtaken | None = None
        self._triggered: dict[int, float] = {}
        """By checkpoint whose barrier has come: when it was triggered, by this task's clock."""
        self._came: dict[int, float] = {}
        """By checkpoint: when its first barrier came."""
        self._exact: set[int] = set()
        """Checkpoints for savepoints."""
        self._overtake: tuple[float, int] | None = None
        """When a barrier is to overtake, and of which checkpoint."""
        whole = begin.taken_over is not None
        self._snapshots = self._make_snapshots(whole) if id.level else None
        self._counted = level.clock()
        self.files = begin.state or SlotFiles()
        """The state of its operators as of the last snapshot."""
        self.ended = False

    def _connect(self) -> None:
        """Know those before it and those after it."""
        plan, level = self.level.plan, self.id.level
        senders = _tasks_at(plan, level - 1)
        receivers = plan.parallelism if level < plan.last_level else 0
        self._intake = Intake(self.id, range(senders))
        self._windows = Windows(senders, None if self.level.owed else self.level.load)
        self._output = Output(self.id.number, receivers, limited=self._round is None)
        self.level.keep_parcels_below(self._output.parcel_size)
        if self._round is not None:
            self._intake.over |= self._round.over
            self.level.time.begin_round(self._round)

    def open(self, in_flight: list[Parcel] | None = None) -> None:
        """State is there: records may come, first those that were on their way."""
        self._intake.put_back(in_flight or [])
        self.level.begin_epoch(self._epoch, self._begin.attempt)
        self.level.initialize(self._begin.restored)

    @property
    def last_checkpoint(self) -> int:
        """The last one that it has taken part in, or began with."""
        return self._epoch - 1

    @property
    def is_through(self) -> bool:
        """Whether it has taken part in the checkpoint that was to be next when it began."""
        return self.ended or self._epoch > self._begin.checkpoint

    # What comes in.

    def arrive(self, blob: bytes) -> Iterator[Row]:
        """Another task has sent something: its turn comes, unless it is a barrier in a hurry."""
        parcel = self._intake.arrive(blob)
        if self._overtaken is not None:
            self._keep(self._overtaken, parcel)
        if parcel.kind == BARRIER and parcel.checkpoint >= self._epoch:
            self._note_barrier(parcel)
            if self._overtake is not None:
                yield from self.overtake_if_due()

    def _note_barrier(self, parcel: Parcel) -> None:
        number, barrier = parcel.checkpoint, Barrier.decode(parcel.content)
        now = self.level.clock()
        self._came.setdefault(number, now)
        triggered = now - barrier.age
        if number in self._triggered:
            triggered = min(triggered, self._triggered[number])
        self._triggered[number] = triggered
        patience = self._alignment.overtakes_after
        if barrier.is_exact:
            self._exact.add(number)
        elif patience is not None:
            self._overtake = triggered + patience, number

    @property
    def overtakes_at(self) -> float | None:
        """When a barrier will have waited long enough, by the clock of the task."""
        return None if self._overtake is None else self._overtake[0]

    def overtake_if_due(self) -> Iterator[Row]:
        """Let a barrier that has waited long enough overtake what is before it."""
        if self._overtake is None or self.ended or self.level.clock() < self._overtake[0]:
            return
        number = self._overtake[1]
        if self._aligning is not None and self._aligning != number:
            self._give_up_aligning()
        parcels, missing = self._intake.before_barriers(number)
        if self._opened is not None:
            parcels.insert(0, self._opened.rest())
        reach("barrier-overtakes", number)
        yield from self._take_snapshot(number, parcels, missing)
        self._release()

    def _keep(self, overtaken: _Overtaken, parcel: Parcel) -> None:
        """Add what comes before the barrier of its sender to a checkpoint."""
        if parcel.sender not in overtaken.missing:
            return
        if ends(parcel, overtaken.number):
            overtaken.missing.discard(parcel.sender)
            if parcel.kind == BARRIER and parcel.checkpoint > overtaken.number:
                self._decline(overtaken.number)
        elif parcel.kind == RECORDS:
            overtaken.parcels.append(parcel)
        if not overtaken.missing:
            self._finish_overtaken(overtaken)

    def _finish_overtaken(self, overtaken: _Overtaken) -> None:
        self._overtaken = None
        assert self._snapshots is not None
        assert overtaken.part.state is not None
        files, written = self._snapshots.add_in_flight(
            overtaken.part.state, overtaken.number, overtaken.parcels
        )
        figures = overtaken.figures
        figures.alignment = int(self.level.clock() - figures.came)
        figures.in_flight = 0 if files.in_flight is None else files.in_flight.size
        part = replace(overtaken.part, state=files)
        self._acknowledge(overtaken.number, part, overtaken.written + written, figures)

    # What is done with it.

    @property
    def is_blocked(self) -> bool:
        """Whether those after it have no room for more."""
        return self._output.is_blocked

    @property
    def has_work(self) -> bool:
        """Whether something is here to be worked off, and may be."""
        waits = self._opened is not None or self._intake.has_work
        return waits and not self.is_blocked and not self.ended

    @property
    def _holds(self) -> bool:
        """Whether what is behind a barrier waits."""
        return self._alignment.holds or self._aligning in self._exact

    @property
    def awaits_answers(self) -> bool:
        """Whether the next thing to do would have to wait for answers of operators."""
        if not self.level.owes_answers:
            return False
        if self.level.is_full:
            return True
        if self._opened is not None:
            return self._opened.is_at_mark
        parcel = self._intake.peek(holds=self._holds)
        return parcel is not None and parcel.kind != RECORDS

    @property
    def has_answers(self) -> bool:
        """Whether operators have answers that may go on."""
        are_there = any(late.has_answers for late in self.level.owed)
        return are_there and not self.is_blocked and not self.ended

    def emit_answers(self) -> Iterator[Row]:
        """Let answers go on that have come meanwhile."""
        yield from self._output.records(self.level.emit_answers())

    def work(self) -> Iterator[Row]:
        """Do the next piece of what is here."""
        if self._opened is None:
            parcel = self._intake.next(holds=self._holds)
            if parcel is None:
                return
            if parcel.kind != RECORDS:
                yield from self._reach(parcel)
                return
            self._opened = Opened(parcel)
            if self.awaits_answers:
                return
        opened = self._opened
        if not opened.is_done:
            vertex, side, content = opened.next_piece(self._piece)
            began = time.perf_counter()
            yield from self._output.records(self.level.take_item(vertex, side, content))
            if vertex != MARK:
                self._pace.took(len(content), time.perf_counter() - began)
        if opened.is_done:
            self._opened = None
            self._count(opened.parcel)

    @property
    def _piece(self) -> int:
        """How many records to work off at once."""
        if self._round is not None:
            return sys.maxsize  # in a round no barrier is in a hurry
        return min((self._pace.records, *(late.capacity for late in self.level.owed)))

    def _count(self, done: Parcel) -> None:
        if self._round is None and not done.was_kept:
            told = self._windows.worked_off(done.sender, len(done.content))
            if told is not None:
                self._outside.send(WorkedOff(self.id, done.sender, *told))

    def _reach(self, parcel: Parcel) -> Iterator[Row]:
        """A barrier's turn has come, or the end of a sender."""
        if parcel.kind == END:
            self._intake.over.add(parcel.sender)
        elif parcel.checkpoint < max(self._epoch, self._aligning or 0):
            return  # it has overtaken, or was given up
        else:
            if self._aligning is not None and parcel.checkpoint > self._aligning:
                # Another sender never heard of the one before.
                self._give_up_aligning()
            self._aligning = parcel.checkpoint
            self._intake.ahead.add(parcel.sender)
        if self._aligning is not None and self._intake.barriers_are_here:
            number = self._aligning
            reach("barrier-aligned", number)
            yield from self._take_snapshot(number)
            self._release()
        if self._intake.is_over:
            yield from self.end()

    def _give_up_aligning(self) -> None:
        assert self._aligning is not None
        self._decline(self._aligning)
        self._release()

    def _decline(self, number: int) -> None:
        self._outside.send(Declined(self.id, number, "was overtaken by a later one"))

    def _release(self) -> None:
        """Go on with those that are ahead, until the next barrier."""
        self._aligning = None
        self._intake.release()

    def feed(self, vertex: int, batch: Any) -> Iterator[Row]:
        """What a source task has read."""
        yield from self._output.records(self.level.feed(vertex, batch))

    # What goes out.

    def make_room(self, room: Room) -> Iterator[Row]:
        """A receiver has worked something off."""
        yield from self._output.make_room(room.slot, room.size, room.window)
        self.level.keep_parcels_below(self._output.parcel_size)

    def end_round(self) -> Iterator[Row]:
        """Let everything out that waits."""
        self.level.fire_processing_time()
        yield from self._output.records(self.level.end_round())
        self.tell_news()

    def tell_news(self) -> None:
        """Let the driver hear what need not wait for a checkpoint, and counts now and then."""
        news = self._items.take_news()
        now = self.level.clock()
        if now - self._counted >= _COUNT_EVERY:
            self._counted = now
            news = (*news, *self.level.counts(), *self._reach_of_splits())
        if news:
            self._outside.send(Told(self.id, news))

    def _reach_of_splits(self) -> list[DriverItem]:
        if self._splits is None or self.level.source is None:
            return []
        return [(self.level.source, self.level.subtask, REACH, self._splits.reach())]

    def checkpoint(self, number: int, *, is_exact: bool = False) -> Iterator[Row]:
        """Of a source task: put a barrier into the stream."""
        self._triggered[number] = self._came[number] = self.level.clock()
        if is_exact:
            self._exact.add(number)
        yield from self._take_snapshot(number)

    def _take_snapshot(
        self, number: int, parcels: list[Parcel] | None = None, missing: set[int] | None = None
    ) -> Iterator[Row]:
        """Take the state as it is, and pass the barrier on.

        `parcels` are part of the checkpoint, and so is what is to come of the senders that are
        `missing`; None: there is nothing on its way.
        """
        if self._overtaken is not None:
            self._decline(self._overtaken.number)
            self._finish_overtaken(self._overtaken)
        came, triggered, began = self._came[number], self._triggered[number], self.level.clock()
        if self._round is not None:
            yield from self._output.records(self.level.end_records())
        yield from self._output.records(self.level.end_epoch())
        part, written, known = self._part(number)
        reach("snapshot-taken", number)
        now = self.level.clock()
        barrier = Barrier(number in self._exact, now - triggered)
        yield from self._output.barrier(number, barrier.encode())
        self._begin_epoch(number + 1)
        figures = _Figures(
            known, came, int(came - triggered), int(began - came), int(now - began), now
        )
        if parcels is None or missing is None:
            self._acknowledge(number, part, written, figures)
            return
        overtaken = _Overtaken(number, part, written, figures, parcels, missing)
        if missing:
            self._overtaken = overtaken
        else:
            self._finish_overtaken(overtaken)

    def complete(self, number: int) -> None:
        """A checkpoint is durable: operators may hear of it, and so may who gave the records."""
        if not self.ended:
            self.level.complete(number)
        if self._splits is not None:
            self._splits.checkpoint_completed(number)

    def _make_snapshots(self, whole: bool) -> Snapshots:
        begin, settings = self._begin, self.level.plan.settings
        return Snapshots(
            self.level.state,
            self.id,
            begin.attempt,
            begin.state,
            self._write,
            whole=whole,
            compact_at=settings.get("compact_at_bytes", COMPACT_AT_LEAST),
        )

    def _write(self, files: Written) -> None:
        self._outside.write(files, lambda: None)

    def _begin_epoch(self, number: int) -> None:
        self._epoch = number
        self._overtake = None
        for past in [n for n in self._came if n < number]:
            del self._came[past], self._triggered[past]
            self._exact.discard(past)
        self.level.begin_epoch(number, self._begin.attempt)

    def _acknowledge(
        self, number: int, part: TaskPart, written: Written, figures: _Figures
    ) -> None:
        def acknowledge() -> None:
            reach("state-files.after", number)
            all_figures = figures.told(self.level, self.level.clock())
            self._outside.send(Acknowledged(self.id, number, part, all_figures))

        self._outside.write(written, acknowledge)

    def end(self) -> Iterator[Row]:
        """No record will come any more; functions that cannot be closed fail the job."""
        self.ended = True
        if self._round is not None:
            yield from self._output.records(self.level.end_records())
        yield from self._output.records(self.level.end_input())
        yield from self._output.records(self.level.end_epoch())
        part, written, figures = self._part(self._epoch)
        self.level.close()
        yield from self._output.end()
        self._outside.write(written, lambda: self._outside.send(Ended(self.id, part, figures)))

    def _part(self, number: int) -> tuple[TaskPart, Written, dict[str, Any]]:
        counts = tuple(self.level.counts())  # asking for them, too, may tell the driver something
        items = (*self._items.take_all(), *counts)
        wake_at = None if self._round is None or self.ended else self.level.next_wake()
        if self._snapshots is None:
            none = {"union": False, "bytes": 0, "operators": {}}
            positions = {} if self._splits is None else self._splits.take_positions(number)
            return TaskPart(None, positions, items, wake_at), [], none
        self.files, written, figures = self._snapshots.take(number)
        return TaskPart(self.files, items=items, wake_at=wake_at), written, figures


def _tasks_at(plan: PhysicalPlan, level: int) -> int:
    if level == 0:
        return sum(vertex.parallelism for vertex in plan.sources)
    return plan.parallelism if level > 0 else 0
