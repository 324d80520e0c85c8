"""A stream in micro-batches: one Spark job after the other, each a checkpoint."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame

from headrace.core.source import LiveReader, SplitSpec
from headrace.errors import HeadraceError, JobFailed
from headrace.plan.physical import Vertex
from headrace.runtime.flow.admission import Admission, target_seconds
from headrace.runtime.flow.assignment import tasks_by_source
from headrace.runtime.flow.gate import Pace
from headrace.runtime.flow.messages import Acknowledged, Ended, Hello, TaskId
from headrace.runtime.flow.round_sources import LiveRounds, Portion, RoundSource, SplitRounds
from headrace.runtime.flow.rounds import Rounds
from headrace.spark.flow.attempt import (
    FAREWELL,
    NOBODY,
    Attempt,
    explain_loss,
)
from headrace.spark.flow.frame_rounds import FrameRounds
from headrace.spark.flow.lowering import at_slots, lower_levels
from headrace.spark.flow.round_worker import read_in_round, work_in_round
from headrace.spark.worker import SCHEMA, wall_clock

_POLL_S = 0.01
_LONGEST_POLL_S = 0.1
_POLLS_MORE = 0.1
"""By which part the next look at sources without news is later."""
_LAST_WORDS = 10.0
"""Seconds after Spark's end in which the last acknowledgements are here."""
_IDLE_EVERY = 0.5


@dataclass(frozen=True)
class _Done:
    """Spark has ended the job of a round."""

    error: BaseException | None


class RoundRun(Attempt):
    """All rounds of one attempt."""

    ledger: Rounds

    def _prepare(self) -> None:
        plan, settings = self.job.plan, self.job.settings
        self._group = f"{self.job.shipment.run_id}-{self.number}"
        self._pace = Pace(0 if plan.bounded else settings.interval_ms)
        self.ledger = Rounds(
            self.beginning(), self.surroundings(), settings.checkpoints, self._make_sources
        )
        target = target_seconds(settings.target_batch_ms, settings.interval_ms, plan.bounded)
        counted = [source.vertex.id for source in self.ledger.sources if source.counts_records]
        self.admission = Admission(counted, target, settings.max_records_per_batch)
        self._drains = False
        self._stops = False
        """Whether the job stops with the checkpoint that was begun last."""
        self._lowered: tuple[list[TaskId], DataFrame] | None = None
        self._input_is_read = False
        """Whether Spark has handed over all that it was to hand over in a round."""
        self._unsure: dict[TaskId, Acknowledged | Ended] = {}
        """What tasks said of a round before that."""

    def _make_sources(self, saved: Mapping[str, dict[str, Any]]) -> list[RoundSource]:
        sources: list[RoundSource] = []
        with ExitStack() as if_one_fails:
            for vertex, tasks in tasks_by_source(self.job.plan):
                sources.append(self._make_source(vertex, tasks, saved.get(vertex.uid, {})))
                if_one_fails.callback(sources[-1].close)
            if_one_fails.pop_all()
        return sources

    def _make_source(
        self, vertex: Vertex, tasks: list[TaskId], saved: dict[str, Any]
    ) -> RoundSource:
        spec = vertex.source
        if isinstance(spec, SplitSpec):
            live = isinstance(spec.source.create_reader(), LiveReader)
            return (LiveRounds if live else SplitRounds)(vertex, tasks, spec.source, saved)
        files = self.job.settings.files_per_batch
        return FrameRounds(self.job.spark, vertex, tasks, saved, files)

    def reaches(self) -> dict[int, Any]:
        """What each source has handed over last, and what not."""
        return {source.vertex.id: source.reach for source in self.ledger.sources}

    # What happens while it runs.

    def _run(self) -> None:
        self.query_started = True
        due = True  # there may be timers that came due meanwhile, or state to take over
        while self._goes_on:
            if due or self._wait_for_work():
                self._run_round()
            due = False

    def _leave(self) -> None:
        # Spark first: else it would begin tasks again that leave.
        with suppress(Exception):
            # A round that is being planned is none of Spark's jobs yet.
            self.job.spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(self._group)
        with closing(self.ledger):
            self.server.dismiss(FAREWELL)

    def _wait_for_work(self) -> bool:
        """Look at the sources until a round is due; False: the attempt is over."""
        pause, idle_at = _POLL_S, time.monotonic() + _IDLE_EVERY
        while self._goes_on:
            if self._stops:  # what timers would do now is no part of the savepoint
                self._take_in(*self._inbox.get())
                continue
            wake = self.ledger.wake_at
            if self._wanted or self._drains or (wake is not None and wake <= wall_clock()):
                return True
            if not self._holds_back and self._has_news():
                return True
            if time.monotonic() >= idle_at:
                self.job.listener.idle()
                idle_at = time.monotonic() + _IDLE_EVERY
            due = pause if wake is None else min(pause, max(0.0, (wake - wall_clock()) / 1000))
            with suppress(queue.Empty):
                self._take_in(*self._inbox.get(timeout=due))
            pause = min(pause * (1 + _POLLS_MORE), _LONGEST_POLL_S)
        return False

    @property
    def _holds_back(self) -> bool:
        return self._pace.holds_back() or self.job.listener.waits_for_program

    def _has_news(self) -> bool:
        ahead = self._aligner.ahead()
        # All of them are asked: what one has does not keep another from taking its own in.
        news = []
        for source in self.ledger.sources:
            with _blamed(source):
                news.append(source.has_news(ahead.get(source.vertex.id, ())))
        return any(news)

    def _hand_over(self) -> dict[TaskId, Portion]:
        """What the sources hand over in the next round."""
        portions: dict[TaskId, Portion] = {}
        if self._drains:
            for source in self.ledger.sources:
                source.drain()
        if self._stops or self._holds_back:
            return portions
        ahead = self._aligner.ahead()
        for source in self.ledger.sources:
            if not source.over:
                waiting = ahead.get(source.vertex.id, ())
                limit = self.admission.limits.get(source.vertex.id)
                with _blamed(source):
                    portions.update(source.hand_over(limit, waiting))
        behind = any(reach.behind for reach in self.reaches().values())
        if portions:
            self._pace.planned(is_behind=behind)
        return portions

    def _run_round(self) -> None:
        began = time.monotonic()
        wanted = list(self._wanted)
        self._wanted.clear()
        self._stops = self._stops or any(each.stops for each in wanted)
        portions = self._hand_over()
        if any(each.stays for each in wanted):
            self.files.want(self.ledger.coordinator.next_number)
        number = self.ledger.begin_round(began, portions)
        for each in wanted:
            each.number = number
            each.begun.set()
        self._input_is_read = False
        self._start_job()
        self._watch()
        if self.ledger.is_complete:
            self.admission.batch_ended(time.monotonic() - began, self._moved(portions))

    def _moved(self, portions: Mapping[TaskId, Portion]) -> dict[int, Any]:
        return {
            source.vertex.id: source.reach
            for source in self.ledger.sources
            if source.counts_records and any(task in portions for task in source.tasks)
        }

    def _watch(self) -> None:
        """Take in what tasks say until the round is a checkpoint, or has failed."""
        deadline = None
        while not self._stop_asked and self._failure is None:
            try:
                task, message = self._inbox.get(timeout=_IDLE_EVERY)
            except queue.Empty:
                self.ledger.look_at_clock(time.monotonic())
                self.job.listener.idle()
                if deadline is not None and time.monotonic() > deadline:
                    raise JobFailed("tasks of the job have ended without a word") from None
                continue
            if isinstance(message, _Done):
                if message.error is not None:
                    self._failure = explain_loss(message.error)
                else:
                    self._be_sure_of_input()
                deadline = time.monotonic() + _LAST_WORDS
            else:
                self._take_in(task, message)
            if deadline is not None and self.ledger.is_complete:
                return

    def _take_in(self, task: TaskId, message: Any) -> None:
        self.ledger.look_at_clock(time.monotonic())
        is_unsure = not self._input_is_read and self._is_fed(task)
        if is_unsure and isinstance(message, Acknowledged | Ended):
            self._unsure[task] = message
            return
        if isinstance(message, Hello) and task.level > 0:
            self._be_sure_of_input()
        items = getattr(getattr(message, "part", None), "items", ())
        self._aligner.take_in(items)
        super()._take_in(task, message)

    def _is_fed(self, task: TaskId) -> bool:
        return any(source.is_fed and task in source.tasks for source in self.ledger.sources)

    def _be_sure_of_input(self) -> None:
        """Spark has read what it was to read. If it fails in the middle, its tasks may see an end
        like any other, and what they then say must not count."""
        self._input_is_read = True
        while self._unsure:
            task, message = self._unsure.popitem()
            self._aligner.take_in(message.part.items)
            super()._take_in(task, message)

    def _why_lost(self, lost: TaskId) -> HeadraceError | None:
        """Tasks leave when their part is done."""
        return None if self.ledger.has_heard_all_of(lost) else explain_loss(None, lost)

    def _start_job(self) -> None:
        """Have Spark run the tasks of a round; says so in the inbox when it has."""
        frame = self._frame_of_round()

        def run() -> None:
            context = self.job.spark.sparkContext
            context.setJobGroup(self._group, "headrace", interruptOnCancel=True)
            error: BaseException | None = None
            try:
                frame.write.format("noop").mode("append").save()
            except BaseException as failure:
                error = failure
            self._inbox.put((NOBODY, _Done(error)))

        threading.Thread(target=run, daemon=True, name="headrace-round").start()

    def _frame_of_round(self) -> DataFrame:
        """The DataFrame of a round, planned once more: else Spark would take what it has shuffled
        before."""
        rows = [
            (source, rows)
            for source in self.ledger.sources
            if isinstance(source, FrameRounds) and (rows := source.chosen_rows()) is not None
        ]
        if rows:
            return self._lower(rows)
        reading = self.ledger.reading
        if self._lowered is None or self._lowered[0] != reading:
            self._lowered = reading, self._lower([])
        return self._lowered[1].select("slot")

    def _lower(self, rows: list[tuple[FrameRounds, DataFrame]]) -> DataFrame:
        """`rows`: what Spark reads itself, by source."""
        read = reduce(DataFrame.unionAll, self._inputs(rows))
        return lower_levels(
            read, self.job.plan, at_slots, lambda level: work_in_round(self._flow, level)
        )

    def _inputs(self, rows: list[tuple[FrameRounds, DataFrame]]) -> list[DataFrame]:
        """Level 0: a partition for each source task, in some of them rows of Spark's."""
        parts: list[tuple[tuple[int, ...], DataFrame, bool]] = []
        fed: set[int] = set()
        for source, frame in rows:
            count = frame._jdf.rdd().getNumPartitions()
            numbers = tuple(task.number for task in source.tasks[:count])
            parts.append((numbers, frame, True))
            fed.update(numbers)
        others = tuple(task.number for task in self.ledger.reading if task.number not in fed)
        clock = self.job.spark.range(0, len(others), 1, max(1, len(others)))
        parts.append((others, clock.toDF("id"), False))
        found, first = [], 0
        for numbers, frame, is_fed in parts:
            if numbers:
                read = read_in_round(self._flow, numbers, first, fed=is_fed)
                found.append(frame.mapInArrow(read, SCHEMA))
                first += len(numbers)
        return found

    def drain(self) -> None:
        self._drains = True
        self._inbox.put((NOBODY, None))


@contextmanager
def _blamed(source: RoundSource) -> Iterator[None]:
    """What goes wrong inside is the matter of a source, and told with the line that made it."""
    try:
        yield
    except HeadraceError as error:
        error.came_from(source.vertex.origin)
        raise
