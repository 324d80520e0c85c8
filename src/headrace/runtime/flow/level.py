"""The operators of one level in one task, wired together: how records come to them and go on.

What the task does with time is in `headrace.runtime.flow.level_time`.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from headrace.core.operator import MAX_TIMESTAMP, PROCESSING_TIME, Batch, LateAnswers, TaskInfo
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.backends import backend_of
from headrace.runtime.driver_items import COUNTS, LOAD, DriverItem
from headrace.runtime.envelope import MARK, Envelope
from headrace.runtime.flow.level_time import LevelTime
from headrace.runtime.flow.load import Load
from headrace.runtime.flow.messages import Round
from headrace.runtime.flow.place import Place
from headrace.runtime.outbox import Outbox, Row
from headrace.runtime.source_task import SourceOperator
from headrace.runtime.subtask_state import UNION_PREFIX, SubtaskState
from headrace.runtime.vertex_task import VertexTask
from headrace.runtime.waiting_input import waiting_input


class FlowingLevel:
    """The operators of one level in one subtask; of level 0, those fed by one source.

    Functions keep fields of their own, so every task needs a plan of its own, freshly unpickled.
    """

    def __init__(
        self, plan: PhysicalPlan, level: int, subtask: int, clock: Callable[[], int], *,
        tell: Callable[[DriverItem], None] | None, source: int | None = None,
        files: Mapping[str, str] | None = None, checkpoints: bool = True,
    ):  # fmt: skip
        """`tell`: the way to the driver; None: through all levels, as in a batch. `checkpoints`:
        whether it will be part of any."""
        self.plan = plan
        self.level = level
        self.subtask = subtask
        self.source = source
        self.clock = clock
        self.place = Place(plan, level, subtask, source)
        self.state = SubtaskState(
            logged=checkpoints and level > 0, clock=clock, backend=backend_of(plan.settings)
        )
        self._outbox = Outbox(plan.parallelism, subtask, level == plan.last_level, tell)
        self._incarnation = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._files = files or {}
        self.tasks = {vertex.id: self._vertex_task(vertex) for vertex in self.place.vertices()}
        for task in self.tasks.values():
            self._wire(task)
        self.time = LevelTime(self.place, self.tasks, self.state, self._outbox, clock)
        self.load = Load()
        late = [task.operator.late_answers for task in self.tasks.values()]
        self.owed: list[LateAnswers] = [each for each in late if each is not None]
        """What operators still owe that may answer later."""

    def _number(self) -> int:
        """Among all tasks of the level: those of several sources are counted on."""
        before = 0
        for source in self.plan.sources if self.source is not None else ():
            if source.id == self.source:
                break
            before += source.parallelism
        return before + self.subtask

    def _vertex_task(self, vertex: Vertex) -> VertexTask:
        info = TaskInfo(
            name=vertex.name, uid=vertex.uid, subtask=self.subtask % vertex.parallelism,
            parallelism=vertex.parallelism, max_parallelism=vertex.max_parallelism,
            job_parameters=self.plan.settings.get("job_parameters", {}), cached_files=self._files,
            partition=self._number(), output_id=str(self.plan.settings.get("output_id", "")),
            lineage=str(self.plan.settings.get("lineage", "")),
            kept_folder=str(self.plan.settings.get("kept_folder", "")),
            driver_host=str(self.plan.settings.get("driver_host", "127.0.0.1")),
        )  # fmt: skip
        operator = vertex.operator or SourceOperator()
        task = VertexTask(vertex, operator, info, self.state, self.clock, self._outbox.to_driver)
        task.waiting = waiting_input(self.plan, vertex)
        return task

    def _wire(self, task: VertexTask) -> None:
        for edge in task.vertex.edges:
            if edge.exchange is None:
                task.connect(self.tasks[edge.target].receiver(edge.side), edge.tag)
            else:
                target = self.plan.vertices[edge.target]
                task.connect(self._outbox.sender(edge, target, self.subtask), edge.tag)

    @property
    def remembers(self) -> bool:
        """Whether functions hold, in fields of their own, what they also write to state."""
        return any(task.operator.checkpointed for task in self.tasks.values())

    @property
    def has_union_state(self) -> bool:
        return any(name.startswith(UNION_PREFIX) for _, name in self.state.described())

    # Its life, from one checkpoint to the next.

    def open(self) -> None:
        for task in self.tasks.values():
            task.open()

    def initialize(self, restored: int | None) -> None:
        """State is as that checkpoint left it: records may come."""
        for task in self.tasks.values():
            task.initialize(restored is not None, restored)

    def begin_epoch(self, checkpoint: int, attempt: int) -> None:
        """What comes now will be part of that checkpoint."""
        for task in self.tasks.values():
            task.begin_epoch(checkpoint, attempt)

    def end_epoch(self) -> Iterator[Row]:
        """All that was received is about to become part of a checkpoint."""
        for task in self.tasks.values():
            task.end_batch(snapshot=not self.plan.batch)
            yield from self._outbox.take_full()
        self.time.keep()
        yield from self._outbox.take_waiting()

    def complete(self, checkpoint: int) -> None:
        """A checkpoint is durable."""
        for task in self.tasks.values():
            task.complete(checkpoint)

    def abandon(self) -> None:
        """Close what can be closed after a failure, which matters more than another one."""
        for task in self.tasks.values():
            with suppress(Exception):
                task.close()
        self.state.close()

    def close(self) -> None:
        for task in self.tasks.values():
            task.close()
        self.state.close()

    # Records.

    def feed(self, vertex: int, batch: Batch) -> Iterator[Row]:
        """Hand over records of a source; yields output that is ready to go."""
        self.time.begin_split(batch.split)
        self.tasks[vertex].receive(0, batch)
        if batch.ends_split:
            self.time.end_split(batch.split)
        yield from self._outbox.take_full()

    def take_item(self, vertex: int, side: int, content: Any) -> Iterator[Row]:
        """Hand over a part of what another level sent."""
        task = self.tasks.get(vertex)
        if task is not None:
            task.receive(side, content)
        elif vertex == MARK:
            self.time.hear(content)
        else:  # bound for a later level, on the slot it is on already
            self._outbox.pass_on(self.subtask, vertex, side, content)
        self.fire_processing_time()
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

    def end_records(self) -> Iterator[Row]:
        """All records of a round are here: time moves on."""
        for task in self.tasks.values():
            yield from self._release(task)
        self.time.end_records()
        yield from self._outbox.take_full()

    def end_input(self) -> Iterator[Row]:
        """No record will come any more: time comes to its end, and so do the operators."""
        self.time.end()
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

    # What is done when nothing comes.

    def fire_processing_time(self) -> None:
        now = self.clock()
        for task in self.tasks.values():
            task.advance_processing_time(now)

    def next_processing_time(self) -> int | None:
        """When the earliest processing-time timer is due."""
        times = [task.timers.next_time(PROCESSING_TIME) for task in self.tasks.values()]
        return min((time for time in times if time is not None), default=None)

    def next_wake(self) -> int | None:
        """When there is something to do even if nothing comes."""
        times = (self.next_processing_time(), self.time.heard.next_idle_time())
        return min((time for time in times if time is not None), default=None)

    def answer_later(self, on_answers: Callable[[], None] | None = None) -> None:
        """Let operators go on while they owe answers; `on_answers` is called by any thread when
        there are some."""
        for task in self.tasks.values():
            task.answers_later, task.on_answers = True, on_answers

    @property
    def owes_answers(self) -> bool:
        return any(late.unanswered for late in self.owed)

    @property
    def is_full(self) -> bool:
        """Whether operators have as many records to answer as they take on."""
        return any(late.unanswered >= late.capacity for late in self.owed)

    def emit_answers(self) -> Iterator[Row]:
        """Let those answers go on that are there."""
        for task in self.tasks.values():
            task.emit_answers()
            yield from self._outbox.take_full()

    def counts(self) -> Iterator[DriverItem]:
        """What the operators have counted, for the driver."""
        self.time.show_progress()
        spent = self.load.spent()
        for task in self.tasks.values():
            counts = {"incarnation": self._incarnation, **task.counts(), LOAD: spent}
            yield task.vertex.id, self.subtask, COUNTS, counts

    # A batch, in which all input is there.

    def take_all(self, blobs: Iterable[bytes]) -> Iterator[Row]:
        """Hand over everything that the level before sent, and come to the end.

        How many tasks send is not known, so that time ends with all that is here. Only where marks
        lie between records they tell who sends them, once all are here.
        """
        self.time.begin_round(Round())
        envelopes: Iterable[Envelope] = map(Envelope.decode, blobs)
        if self.time.per_record:
            envelopes = list(envelopes)
            self.time.heard.expect_only(_channels(envelopes))
        for envelope in envelopes:
            for item in envelope.driver:
                self._outbox.to_driver(item)
            for vertex, side, content in envelope.records:
                yield from self.take_item(vertex, side, content)
        yield from self.finish_batch()

    def finish_batch(self) -> Iterator[Row]:
        """All input has been read."""
        yield from self.end_input()
        yield from self.end_epoch()
        for item in self.counts():
            self._outbox.to_driver(item)
        yield from self._outbox.take_waiting()


def _channels(envelopes: Iterable[Envelope]) -> dict[int, list[str]]:
    """By origin, who reports of it in these."""
    channels: dict[int, dict[str, None]] = {}
    for envelope in envelopes:
        for news in envelope.marks():
            for origin, splits in news.items():
                channels.setdefault(origin, {}).update(dict.fromkeys(splits))
    return {origin: list(names) for origin, names in channels.items()}
