"""The operators of one level in a task that flows.

Time moves on between records: whoever reads says how far it has come, those behind an exchange hear
of it from each of their senders, and the least of them counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from headrace.core.exchange import Broadcast
from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP, LateAnswers
from headrace.core.source import SplitSpec
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.envelope import MARK, Envelope
from headrace.runtime.event_time import ANY_SPLIT, Progress, Watermarks, merge_watermarks
from headrace.runtime.flow.load import Load
from headrace.runtime.flow.messages import Round
from headrace.runtime.level_task import COUNTS, PROGRESS, DriverItem, LevelTask, Row, fed_by
from headrace.runtime.subtask_state import UNION_PREFIX
from headrace.runtime.vertex_task import VertexTask

LOAD = "load"
"""Among the counts of an operator: what its task has spent its time on."""


class FlowingLevel(LevelTask):
    """A LevelTask with what comes to it and goes on: records, and time between them."""

    def __init__(
        self, plan: PhysicalPlan, level: int, subtask: int, clock: Callable[[], int], *,
        tell: Callable[[DriverItem], None] | None, source: int | None = None,
        files: Mapping[str, str] | None = None, checkpoints: bool = True,
    ):  # fmt: skip
        """`tell`: the way to the driver; None: through all levels, as in a batch. `checkpoints`:
        whether it will be part of any."""
        self._said: dict[int, tuple[int, bool]] = {}
        """Of each origin read here: what was said of it last, its time and whether it is idle."""
        self._shown: dict[int, dict[str, Progress]] = {}
        self.awaits_splits = False
        """Whether nobody has said yet what there is to read: until then it does not know whether it
        is idle."""
        self._in_rounds = False
        self._reads_all = False
        self._rests = False
        """Whether the splits read here have come and gone: they hold nobody's time back."""
        self._marks: Watermarks = {}
        """What was heard of time in a round, until all its records are here."""
        self.load = Load()
        super().__init__(
            plan, level, subtask, clock, source=source, logged=checkpoints and level > 0,
            files=files, tell=tell,
        )  # fmt: skip
        late = [task.operator.late_answers for task in self.tasks.values()]
        self.owed: list[LateAnswers] = [each for each in late if each is not None]
        """What operators still owe that may answer later."""
        self._split: str | None = None
        self._keeps_time_of_answers = self._reaches_timekeeper()

    def _vertex_task(self, vertex: Vertex) -> VertexTask:
        task = super()._vertex_task(vertex)
        if self._per_record and task.operator.makes_watermarks:
            task.on_watermark = self._report_time
        return task

    def answer_later(self, on_answers: Callable[[], None] | None = None) -> None:
        """Let operators go on while they owe answers; `on_answers` is called by any thread when
        there are some."""
        for task in self.tasks.values():
            task.answers_later, task.on_answers = True, on_answers

    def _reaches_timekeeper(self) -> bool:
        """Whether late answers come to one that keeps the time of each split."""
        behind: set[int] = set()
        for id, task in self.tasks.items():
            if id in behind or task.operator.late_answers is not None:
                behind.update(edge.target for edge in task.vertex.edges if edge.exchange is None)
        return any(task.vertex.id in behind for task in self._timekeepers)

    def begin_split(self, split: str | None) -> None:
        if split != self._split:
            self._settle_split()
            self._split = split
        super().begin_split(split)

    def end_split(self, split: str | None) -> None:
        self._settle_split()
        super().end_split(split)

    def _settle_split(self) -> None:
        """Answers to records of one split must not be taken for those of another."""
        if self._keeps_time_of_answers:
            for task in self.tasks.values():
                task.settle_answers()

    @property
    def keeps_time(self) -> bool:
        """Whether it says by itself how far time has come."""
        return bool(self._timekeepers)

    @property
    def owes_answers(self) -> bool:
        return any(late.unanswered for late in self.owed)

    @property
    def is_full(self) -> bool:
        """Whether operators have as many records to answer as they take on."""
        return any(late.unanswered >= late.capacity for late in self.owed)

    @property
    def takes_broadcasts(self) -> bool:
        """Whether records come here that go to all slots, if only to be passed on.

        No barrier may overtake those: each slot would have another part of them in its state.
        """
        return any(
            isinstance(edge.exchange, Broadcast)
            and vertex.level < self.level <= self.plan.vertices[edge.target].level
            for vertex in self.plan.vertices.values()
            for edge in vertex.edges
        )

    def expect_senders(self, tasks_of: Mapping[int, int]) -> None:
        """Nobody's time moves on before all have reported who will; `tasks_of`: by source, how
        many tasks read it."""
        channels: dict[int, list[str]] = {}
        for origin in self.plan.vertices.values():
            if origin.level >= self.level or origin.id not in _origins(self.plan):
                continue
            channels[origin.id] = self._senders(origin, tasks_of)
        self.time.expect_only(channels)

    def _senders(self, origin: Vertex, tasks_of: Mapping[int, int]) -> list[str]:
        """The channels by which this task hears of an origin."""
        if origin.level == 0 and self.level == 1:
            return [
                _source_channel(source, number)
                for source, count in tasks_of.items()
                if any(vertex.id == origin.id for vertex in fed_by(self.plan, source))
                for number in range(count)
            ]
        senders = self.plan.parallelism
        if origin.level == self.level - 1:
            senders = min(origin.parallelism, senders)
        return [f"#{sender}" for sender in range(senders)]

    def know_splits(self, *, any_here: bool) -> None:
        """It was said what there is to read. Who has nothing says so at once: where time moves on
        with each record, no other time to say it will come."""
        self.awaits_splits = False
        if not any_here:
            self.move_time()

    def move_time(self) -> None:
        """Report how far time has come by what was read or received here."""
        self.time.look_at_clock()
        if self._reads_all:
            self.time.start(task.vertex.id for task in self._timekeepers)
        for task in self._timekeepers:
            if self.level == 0 or self.subtask < task.vertex.parallelism:
                self._report_time(task)
                self._show_progress(task)

    def _report_time(self, task: VertexTask) -> None:
        id = task.vertex.id
        if self.level:
            self.time.take_in({id: {self._channel(""): self._report_behind_exchange(task)}})
        else:
            self.time.take_in({id: {s: self._progress(task, s) for s in task.reported}})
        self._advance_behind((id,))  # also without news: a split may be idle by now
        if self.level:
            self._send_mark(self._derived((id,)))
            return
        if self.awaits_splits:
            return
        told = watermark, idle = self._progress_of_source(id)
        if self._said.get(id) != told:
            self._said[id] = told
            now = max(1, self.time.now)
            self._send_mark({id: {self._channel(""): (watermark, -now if idle else now)}})

    def _pass_mark(self, news: Watermarks) -> None:
        self._hear(news)
        if not self._is_last:
            self._send_mark(self._derived(news))

    def _send_mark(self, news: Watermarks) -> None:
        """Let those behind an exchange hear of time after all that was before it."""
        if not self._hears_later:
            for task in self.tasks.values():
                task.settle()  # what operators hold back would be late behind it
        self._outbox.mark(news)

    @property
    def _hears_later(self) -> bool:
        """Whether marks are heard only when all records of a round are here."""
        return self._in_rounds and not self._per_record

    def _show_progress(self, task: VertexTask) -> None:
        """Let the driver know how far the splits have come that are read here.

        Not with each watermark, of which there may be one for every record.
        """
        seen = {self._channel("") if self.level else split: task.progress(split)
                for split in task.reported}  # fmt: skip
        if seen and seen != self._shown.get(task.vertex.id):
            self._shown[task.vertex.id] = seen
            self._outbox.to_driver((task.vertex.id, self.subtask, PROGRESS, seen))

    def _progress_of_source(self, origin: int) -> tuple[int, bool]:
        """What this task says of an origin; one that has nothing to read holds nobody back."""
        watermark, idle = self.time.of_origin(origin)
        if self._reads_all:
            return watermark, idle
        if watermark == MAX_TIMESTAMP and not self._final:
            return self.time.reached(origin), True
        return watermark, idle or self._rests or not self.time.knows_any(origin)

    def begin_round(self, round: Round) -> None:
        """It works in rounds, and this is what it needs to know for the next one."""
        self._in_rounds = True
        self.awaits_splits = round.awaits_splits
        self._reads_all = round.reads_all and self.level == 0
        self._rests = False
        if self.level == 1 and not round.reads_all:
            self.time.resting = _resting_origins(self.plan)
        if self._per_record and self.level == 1:
            self._let_rest(round.resting)
        for vertex, splits in round.times.items():
            for split, (watermark, heard) in splits.items():
                self.tasks[vertex].reported[split] = watermark
                self.tasks[vertex].heard[split] = heard

    def say_all_anew(self) -> None:
        """Another process has done this task's part meanwhile: who was told what is not known."""
        self._said.clear()
        self._shown.clear()

    def _let_rest(self, senders: Collection[int]) -> None:
        """Those will say that they have nothing to read only after all that others have read."""
        now = max(1, self.clock())
        tasks = [
            (vertex.id, number)
            for vertex in self.plan.sources
            for number in range(vertex.parallelism)
        ]
        channels = {_source_channel(*tasks[sender]) for sender in senders}
        for origin in _origins(self.plan):
            known = self.time.reports().get(origin, {})
            resting = {name: (MIN_TIMESTAMP, -now) for name in known if name in channels}
            self.time.take_in({origin: resting})

    def end_records(self) -> Iterator[Row]:
        """All records of a round are here: time moves on."""
        for task in self.tasks.values():
            if task.waiting is not None:
                yield from self._release(task)
        marks, self._marks = self._marks, {}
        self.time.look_at_clock()
        if marks:
            self._pass_mark(marks)
            yield from self._outbox.take_full()
        may_be_idle = [origin for origin, after in self.time.resting.items() if after is not None]
        if may_be_idle:  # nobody says so again
            self._advance_behind(may_be_idle)
            self._send_mark(self._derived(may_be_idle))
        self._rests = self.source is not None and _come_and_go(self.plan.vertices[self.source])
        self.move_time()
        yield from self._outbox.take_full()

    def next_wake(self) -> int | None:
        """When there is something to do even if nothing comes."""
        times = (self.next_processing_time(), self.time.next_idle_time())
        return min((time for time in times if time is not None), default=None)

    def take_item(self, vertex: int, side: int, content: Any) -> Iterator[Row]:
        """Hand over a part of what another level sent."""
        if vertex == MARK and self._hears_later:
            merge_watermarks(self._marks, content)
            return
        task = self.tasks.get(vertex)
        if task is not None:
            task.receive(side, content)
        elif vertex == MARK:
            self._pass_mark(content)
        else:  # bound for a later level, on the slot it is on already
            self._outbox.pass_on(self.subtask, vertex, side, content)
        self.fire_processing_time()
        yield from self._outbox.take_full()

    def emit_answers(self) -> Iterator[Row]:
        """Let those answers go on that are there."""
        for task in self.tasks.values():
            task.emit_answers()
            yield from self._outbox.take_full()

    def keep_parcels_below(self, size: int) -> None:
        """Let what goes out have no more than about so many bytes at a time."""
        self._outbox.keep_below(size)

    def end_round(self) -> Iterator[Row]:
        """Operators give what they hold back, and everything goes out."""
        for task in self.tasks.values():
            task.end_round()
            yield from self._outbox.take_full()
        yield from self._outbox.take_waiting()

    def end_epoch(self) -> Iterator[Row]:
        """All that was received is about to become part of a checkpoint."""
        for task in self.tasks.values():
            task.end_batch(snapshot=not self.plan.batch)
            yield from self._outbox.take_full()
        self._keep_clocks()
        yield from self._outbox.take_waiting()

    def begin_epoch(self, checkpoint: int, attempt: int) -> None:
        """What comes now will be part of that checkpoint."""
        for task in self.tasks.values():
            task.begin_epoch(checkpoint, attempt)

    def initialize(self, restored: int | None) -> None:
        """State is as that checkpoint left it: records may come."""
        for task in self.tasks.values():
            task.initialize(restored is not None, restored)

    def complete(self, checkpoint: int) -> None:
        """A checkpoint is durable."""
        for task in self.tasks.values():
            task.complete(checkpoint)

    @property
    def has_union_state(self) -> bool:
        return any(name.startswith(UNION_PREFIX) for _, name in self.state.described())

    def end_input(self) -> Iterator[Row]:
        """No record will come any more: time comes to its end, and so do the operators."""
        self._final = True
        self.time.look_at_clock()
        for task in self._timekeepers:
            if self.level == 0:
                for split in task.reported or (ANY_SPLIT,):
                    task.split = split
                    task.report_watermark(MAX_TIMESTAMP)
            self._report_time(task)
        for task in self.tasks.values():
            yield from self._release(task)
            task.advance_watermark(MAX_TIMESTAMP)
            if self.plan.batch:
                task.stop_clock()
            task.finish()
            yield from self._outbox.take_full()
        yield from self._outbox.take_waiting()

    def _release(self, task: VertexTask) -> Iterator[Row]:
        """Let an operator see the input that waited for the rest of it."""
        for _ in task.release():
            yield from self._outbox.take_full()

    def take_all(self, blobs: Iterable[bytes]) -> Iterator[Row]:
        """In a batch: hand over everything that the level before sent, and come to the end.

        How many tasks send is not known, so that time ends with all that is here. Only where marks
        lie between records they tell who sends them, once all are here.
        """
        self.begin_round(Round())
        envelopes: Iterable[Envelope] = map(Envelope.decode, blobs)
        if self._per_record:
            envelopes = list(envelopes)
            self.time.expect_only(_channels(envelopes))
        for envelope in envelopes:
            for item in envelope.driver:
                self._outbox.to_driver(item)
            for vertex, side, content in envelope.records:
                yield from self.take_item(vertex, side, content)
        yield from self.finish_batch()

    def finish_batch(self) -> Iterator[Row]:
        """In a batch: all input has been read."""
        yield from self.end_input()
        yield from self.end_epoch()
        for item in self.counts():
            self._outbox.to_driver(item)
        yield from self._outbox.take_waiting()

    def counts(self) -> Iterator[DriverItem]:
        """What the operators have counted, for the driver."""
        for task in self._timekeepers:
            self._show_progress(task)
        spent = self.load.spent()
        for task in self.tasks.values():
            counts = {"incarnation": self._incarnation, **task.counts(), LOAD: spent}
            yield task.vertex.id, self.subtask, COUNTS, counts

    def _channel(self, split: str) -> str:
        if self.source is not None:
            return _source_channel(self.source, self.subtask)
        return super()._channel(split)


def _channels(envelopes: Iterable[Envelope]) -> dict[int, list[str]]:
    """By origin, who reports of it in these."""
    channels: dict[int, dict[str, None]] = {}
    for envelope in envelopes:
        for news in envelope.marks():
            for origin, splits in news.items():
                channels.setdefault(origin, {}).update(dict.fromkeys(splits))
    return {origin: list(names) for origin, names in channels.items()}


def _source_channel(source: int, number: int) -> str:
    return f"#{source}:{number}"


def _come_and_go(source: Vertex) -> bool:
    """Whether the splits of a source come and go, as files do."""
    spec = source.source
    return spec.source.splits_end if isinstance(spec, SplitSpec) else True


def _resting_origins(plan: PhysicalPlan) -> dict[int, int | None]:
    """Those of level 0 that only sources feed whose splits come and go, and when they are idle."""
    found: dict[int, int | None] = {}
    for origin in _origins(plan):
        vertex = plan.vertices[origin]
        feeding = [s for s in plan.sources if any(v.id == origin for v in fed_by(plan, s.id))]
        if vertex.level == 0 and all(map(_come_and_go, feeding)):
            found[origin] = None if vertex.operator is None else vertex.operator.idle_after_ms
    return found


def _origins(plan: PhysicalPlan) -> set[int]:
    return {origin for vertex in plan.vertices.values() for origin in vertex.watermark_origins}
