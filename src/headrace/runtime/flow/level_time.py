"""What a task does with time: it moves on between records.

Whoever reads says how far it has come, those behind an exchange hear of it from each of their
senders, and the least of them counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.core.state import MapState, MapStateDescriptor
from headrace.plan.physical import PER_RECORD_WATERMARKS
from headrace.runtime.carried_time import CLOCKS, ENGINE_UID, REACHED, WATERMARKS
from headrace.runtime.driver_items import PROGRESS
from headrace.runtime.event_time import (
    ANY_SPLIT,
    EventTime,
    Progress,
    Watermarks,
    merge_watermarks,
)
from headrace.runtime.flow.messages import Round
from headrace.runtime.flow.place import Place, origins
from headrace.runtime.outbox import Outbox
from headrace.runtime.subtask_state import SubtaskState
from headrace.runtime.vertex_task import VertexTask


class LevelTime:
    """Tells the operators of a task how far time has come, and those behind an exchange."""

    def __init__(
        self, place: Place, tasks: Mapping[int, VertexTask], state: SubtaskState, outbox: Outbox,
        clock: Callable[[], int],
    ):  # fmt: skip
        def table(name: str) -> MapState[Any, Any]:
            return state.broadcast(ENGINE_UID, MapStateDescriptor(name))

        self._place = place
        self._level = place.level
        self._channel = place.channel
        self._tasks = tasks
        self._outbox = outbox
        self._clock = clock
        self._idle_after = place.idle_after()
        self.heard = EventTime(table(WATERMARKS), table(REACHED), self._idle_after, clock)
        self._clocks: MapState[str, int] = table(CLOCKS)
        self._timekeepers = [task for task in tasks.values() if task.operator.makes_watermarks]
        settings = place.plan.settings
        self.per_record = bool(settings.get(PER_RECORD_WATERMARKS)) and not place.plan.batch
        """Whether watermarks travel between the records they follow."""
        if self.per_record:
            for task in self._timekeepers:
                task.on_watermark = self._report
        self._shared = place.fed_by_others()
        self._split: str | None = None
        self._settles_splits = self._answers_are_timed()
        self._known_behind: dict[frozenset[int], list[VertexTask]] = {}
        self._said: dict[int, tuple[int, bool]] = {}
        """Of each origin read here: what was said of it last, its time and whether it is idle."""
        self._shown: dict[int, dict[str, Progress]] = {}
        self.awaits_splits: Callable[[], bool] = _never
        """Whether it is not known yet what there is to read: until then the task does not know
        whether it is idle."""
        self._in_rounds = False
        self._reads_all = False
        self._rests = False
        """Whether the splits read here have come and gone: they hold nobody's time back."""
        self._marks: Watermarks = {}
        """What was heard of time in a round, until all its records are here."""
        self._final = False

    @property
    def is_made_here(self) -> bool:
        """Whether the task says by itself how far time has come."""
        return bool(self._timekeepers)

    # Splits, at those who read.

    def _answers_are_timed(self) -> bool:
        """Whether late answers come to one that keeps the time of each split."""
        behind: set[int] = set()
        for id, task in self._tasks.items():
            if id in behind or task.operator.late_answers is not None:
                behind.update(edge.target for edge in task.vertex.edges if edge.exchange is None)
        return any(task.vertex.id in behind for task in self._timekeepers)

    def begin_split(self, split: str | None) -> None:
        """The records that follow are of one split of the source."""
        if split != self._split:
            self._settle_split()
            self._split = split
        for task in self._timekeepers:
            task.split = self._split_name(task, split)
            task.reported.setdefault(task.split, MIN_TIMESTAMP)
            if task.split not in task.heard:
                task.report_idle(False)

    def end_split(self, split: str | None) -> None:
        """A split has been read to its end: it holds nobody's time back any more."""
        self._settle_split()
        for task in self._timekeepers:
            task.split = self._split_name(task, split)
            task.report_watermark(MAX_TIMESTAMP)

    def _settle_split(self) -> None:
        """Answers to records of one split must not be taken for those of another."""
        if self._settles_splits:
            for task in self._tasks.values():
                task.settle_answers()

    def _split_name(self, task: VertexTask, split: str | None) -> str:
        name = split or ANY_SPLIT
        # The splits of two sources may have the same names.
        return f"{self._place.source}:{name}" if task.vertex.id in self._shared else name

    def know_splits(self, *, any_here: bool) -> None:
        """It was said what there is to read. Who has nothing says so at once."""
        if not any_here:
            self.move()

    # What is said of time here.

    def move(self) -> None:
        """Report how far time has come by what was read or received here."""
        self.heard.look_at_clock()
        if self._reads_all:
            self.heard.start(task.vertex.id for task in self._timekeepers)
        for task in self._timekeepers:
            if self._level == 0 or self._place.subtask < task.vertex.parallelism:
                self._report(task)
        self.show_progress()

    def _report(self, task: VertexTask) -> None:
        id = task.vertex.id
        if self._level:
            self.heard.take_in({id: {self._channel: self._report_behind_exchange(task)}})
        else:
            self.heard.take_in({id: {s: self._progress(task, s) for s in task.reported}})
        self._advance_behind((id,))  # also without news: a split may be idle by now
        if self._level:
            self._send_mark(self._derived((id,)))
            return
        if self.awaits_splits():
            return
        told = watermark, idle = self._progress_of_source(id)
        if self._said.get(id) != told:
            self._said[id] = told
            now = max(1, self.heard.now)
            self._send_mark({id: {self._channel: (watermark, -now if idle else now)}})

    def _report_behind_exchange(self, task: VertexTask) -> Progress:
        """What an assigner reports that is fed by other tasks; it ends when all of them have."""
        id = task.vertex.id
        watermark, heard = self._progress(task, ANY_SPLIT)
        if self.heard.watermark(self._place.origins_before(id)) == MAX_TIMESTAMP:
            watermark = MAX_TIMESTAMP
        if not heard and id in self._idle_after and not self.heard.knows(id, self._channel):
            heard = max(1, self._clock())  # from now on it may turn out to be idle
        return watermark, heard

    def _progress(self, task: VertexTask, split: str) -> Progress:
        watermark, heard = task.progress(split)
        may_be_idle = task.vertex.id in self._idle_after or task.operator.calls_splits_idle
        return watermark, heard if may_be_idle else 0

    def _progress_of_source(self, origin: int) -> tuple[int, bool]:
        """What this task says of an origin; one that has nothing to read holds nobody back."""
        watermark, idle = self.heard.of_origin(origin)
        if self._reads_all:
            return watermark, idle
        if watermark == MAX_TIMESTAMP and not self._final:
            return self.heard.reached(origin), True
        return watermark, idle or self._rests or not self.heard.knows_any(origin)

    def show_progress(self) -> None:
        """Let the driver know how far the splits have come that are read here.

        Not with each watermark, of which there may be one for every record.
        """
        for task in self._timekeepers:
            seen = {self._channel if self._level else split: task.progress(split)
                    for split in task.reported}  # fmt: skip
            if seen and seen != self._shown.get(task.vertex.id):
                self._shown[task.vertex.id] = seen
                self._outbox.to_driver((task.vertex.id, self._place.subtask, PROGRESS, seen))

    def say_all_anew(self) -> None:
        """Another process has done this task's part meanwhile: who was told what is not known."""
        self._said.clear()
        self._shown.clear()

    # What others say of it.

    def expect_senders(self) -> None:
        """Nobody's time moves on before all have reported who will."""
        self.heard.expect_only(self._place.senders())

    def hear(self, news: Watermarks) -> None:
        """A mark has come between records: move time on, and pass it on."""
        if self._in_rounds and not self.per_record:
            merge_watermarks(self._marks, news)
        else:
            self._pass_mark(news)

    def _pass_mark(self, news: Watermarks) -> None:
        if self.heard.take_in(news):
            self._advance_behind(news)
        if not self._outbox.is_last:
            self._send_mark(self._derived(news))

    def _send_mark(self, news: Watermarks) -> None:
        """Let those behind an exchange hear of time after all that was before it."""
        if self.per_record or not self._in_rounds:  # else it is heard when all records are there
            for task in self._tasks.values():
                task.settle()  # what operators hold back would be late behind it
        self._outbox.mark(news)

    def _derived(self, origins: Iterable[int]) -> Watermarks:
        """What this task makes of others' reports, for the level after it.

        That level must not judge by the reports themselves: by its clock a split may be idle that
        was not here, and what is still to come from here would be late there.
        """
        return {origin: {self._channel: self.heard.progress(origin)} for origin in origins}

    def _advance_behind(self, origins: Collection[int]) -> None:
        """Move time on for those whose time depends on any of these origins."""
        times: dict[tuple[int, ...], int] = {}
        for task in self._behind(origins):
            own = task.vertex.watermark_origins
            if own not in times:
                times[own] = self._time_behind(own)
            time = _delayed(times[own], task.vertex.watermark_delay)
            if time > task.watermark:
                task.advance_watermark(time)

    def _behind(self, origins: Collection[int]) -> list[VertexTask]:
        """The tasks whose time depends on any of these origins, in the order of their edges."""
        some = frozenset(origins)
        if some not in self._known_behind:
            self._known_behind[some] = [
                task for task in self._tasks.values()
                if not some.isdisjoint(task.vertex.watermark_origins)
            ]  # fmt: skip
        return self._known_behind[some]

    def _time_behind(self, origins: tuple[int, ...]) -> int:
        time = self.heard.watermark(origins)
        if self._level == 0 and time == MAX_TIMESTAMP:
            return MIN_TIMESTAMP  # the splits read here have ended, but another one may follow
        return time

    # Rounds, checkpoints and the end.

    def begin_round(self, round: Round) -> None:
        """The task works in rounds, and this is what it needs to know for the next one."""
        self._in_rounds = True
        self.awaits_splits = lambda: round.awaits_splits
        self._reads_all = round.reads_all and self._level == 0
        self._rests = False
        if self._level == 1 and not round.reads_all:
            self.heard.resting = self._place.resting_origins()
        if self.per_record and self._level == 1:
            self._let_rest(round.resting)
        for vertex, splits in round.times.items():
            for split, (watermark, heard) in splits.items():
                self._tasks[vertex].reported[split] = watermark
                self._tasks[vertex].heard[split] = heard

    def _let_rest(self, senders: Collection[int]) -> None:
        """Those will say that they have nothing to read only after all that others have read."""
        now = max(1, self._clock())
        channels = self._place.source_channels(senders)
        for origin in origins(self._place.plan):
            known = self.heard.reports().get(origin.id, {})
            resting = {name: (MIN_TIMESTAMP, -now) for name in known if name in channels}
            self.heard.take_in({origin.id: resting})

    def end_records(self) -> None:
        """All records of a round are here: time moves on."""
        marks, self._marks = self._marks, {}
        self.heard.look_at_clock()
        if marks:
            self._pass_mark(marks)
        may_be_idle = [origin for origin, after in self.heard.resting.items() if after is not None]
        if may_be_idle:  # nobody says so again
            self._advance_behind(may_be_idle)
            self._send_mark(self._derived(may_be_idle))
        self._rests = self._place.splits_come_and_go
        self.move()

    def end(self) -> None:
        """No record will come any more: what is read here has come to its end."""
        self._final = True
        self.heard.look_at_clock()
        for task in self._timekeepers:
            if self._level == 0:
                for split in task.reported or (ANY_SPLIT,):
                    task.split = split
                    task.report_watermark(MAX_TIMESTAMP)
            self._report(task)

    def keep(self) -> None:
        """Make it state how far time has come."""
        self.heard.keep()
        # Kept apart from the reports: which of them count depends on when it is asked.
        for task in self._tasks.values():
            if not self._final and task.watermark > self._kept(task):
                self._clocks.put(task.vertex.uid, task.watermark)

    def _kept(self, task: VertexTask) -> int:
        known = self._clocks.get(task.vertex.uid)
        return MIN_TIMESTAMP if known is None else known

    def restore(self) -> None:
        """After state was restored, operators see the watermark as it stood."""
        self.heard.restore()
        for task in self._tasks.values():
            task.watermark = self._kept(task)
            task.reported.clear()  # it may be of a round that has not come to its end


def _never() -> bool:
    return False


def _delayed(time: int, delay: int) -> int:
    """How far time has come behind operators that emit what lies in the past."""
    return time if time == MAX_TIMESTAMP else max(time - delay, MIN_TIMESTAMP)
