"""What a driver does while a job works in rounds: each begins where the last checkpoint ended, and
is one itself.

The tasks of a round are begun one level after the other. They live on between rounds only as far
as their workers like, so all they need is told them when they begin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from headrace.core.crash_points import reach
from headrace.errors import JobFailed
from headrace.runtime.driver_items import PROGRESS
from headrace.runtime.event_time import Watermarks
from headrace.runtime.flow.coordinator import CheckpointSettings, Complete
from headrace.runtime.flow.master import Beginning, Ledger, Surroundings
from headrace.runtime.flow.messages import Acknowledged, Begin, Ended, Hello, Round, TaskId
from headrace.runtime.flow.round_sources import Portion, RoundSource

MakeSources = Callable[[Mapping[str, dict[str, Any]]], list[RoundSource]]
"""Makes a job's sources, given their positions by uid and split."""
_NOTHING = Portion()


class Rounds(Ledger):
    """One attempt at running a job in rounds."""

    def __init__(
        self, begins: Beginning, around: Surroundings, settings: CheckpointSettings,
        make_sources: MakeSources,
    ):  # fmt: skip
        super().__init__(begins, around, settings)
        self.sources = make_sources(self._saved_positions())
        self.wake_at: int | None = None
        """When a round is due even if no source has anything new."""
        self._times: dict[TaskId, Watermarks] = {}
        self._portions: dict[TaskId, Portion] = {}
        self._ending: set[TaskId] = set()
        self._begun: set[TaskId] = set()
        self._through: set[TaskId] = set()
        """Of those that were begun in this round, who has done its part."""
        self._over: set[TaskId] = set()
        """Tasks that have come to their end in an earlier round."""
        self._number = 0

    @property
    def reading(self) -> list[TaskId]:
        """The source tasks that have not come to their end."""
        return [task for source in self.sources for task in source.tasks if task not in self._over]

    @property
    def is_complete(self) -> bool:
        """Whether the round that was begun last has become a checkpoint."""
        return self.last is not None and self.last >= self._number

    def has_heard_all_of(self, task: TaskId) -> bool:
        """Whether a task has said all it had to say in this round."""
        return task in self._through or task not in self._begun or self.may_begin_again(task)

    def may_begin_again(self, task: TaskId) -> bool:
        """Whether Spark may try a task once more: one that Spark itself feeds, while nobody has
        seen what it sends. Only Spark knows why it failed."""
        source = next((each for each in self.sources if task in each.tasks), None)
        return source is not None and source.is_fed and task not in self._through

    def begin_round(self, now: float, portions: Mapping[TaskId, Portion]) -> int:
        """Begin a round with what the sources hand over; its number."""
        self._over = set(self.coordinator.ended)
        self._portions = dict(portions)
        self._ending = {task for source in self.sources if source.over for task in source.tasks}
        self._begun.clear()
        self._through.clear()
        self._number = self.coordinator.trigger(now)
        self._listener.begun(self._number)
        reach("checkpoint-triggered", self._number)
        return self._number

    def look_at_clock(self, now: float) -> None:
        """A round that takes too long goes on, and what it commits counts; its checkpoint has
        failed all the same, so that a job which is always too slow fails in the end."""
        if self._settings.interval is not None:
            for number in self.coordinator.overdue(now):
                if number not in self._failed:
                    self._fail(number, self._too_long)

    def take_in(self, task: TaskId, message: Any, now: float) -> None:
        """What a task says."""
        match message:
            case Hello():
                self._begin(task)
                return
            case Acknowledged(part=part) | Ended(part=part):
                self._through.add(task)
                for vertex, _, kind, splits in part.items:
                    if kind == PROGRESS and task.level == 0:
                        self._times.setdefault(task, {})[vertex] = splits
        super().take_in(task, message, now)

    def _begin(self, task: TaskId) -> None:
        if task in self._begun and not self.may_begin_again(task):
            # Spark has lost what it had made and begins it once more, perhaps with other records.
            raise JobFailed(
                f"task {task} was begun a second time",
                hint="An executor was lost; with checkpoints enabled the job goes on from the last "
                "one.",
            )
        self._begun.add(task)
        portion = self._portions.get(task, _NOTHING)
        over = {other.number for other in self._over if other.level == task.level - 1}
        resting = {
            other.number
            for source in self.sources
            for other in source.resting(self._portions)
            if task.level == 1 and source.has_begun
        }
        round = Round(
            over=frozenset(over),
            resting=frozenset(resting),
            times=self._times.get(task, {}),
            ranges=portion.ranges,
            records=portion.records,
            ends=task in self._ending,
            awaits_splits=any(
                task in source.tasks and not (source.has_begun or source.over)
                for source in self.sources
            ),
        )
        begin = Begin(self._attempt, self._number, round=round)
        self._send(task, self._begin_with_state(task, begin))

    def _complete(self, complete: Complete) -> None:
        times = (part.wake_at for part in complete.parts.values())
        self.wake_at = min((time for time in times if time is not None), default=None)
        super()._complete(complete)

    def _positions(self, complete: Complete) -> dict[str, dict[str, Any]]:
        return {source.vertex.uid: source.positions() for source in self.sources}

    def _tell_sources(self, positions: dict[str, dict[str, Any]]) -> None:
        for source in self.sources:
            source.checkpoint_completed(positions.get(source.vertex.uid, {}))

    def close(self) -> None:
        with ExitStack() as all_of_them:
            for source in reversed(self.sources):
                all_of_them.callback(source.close)
