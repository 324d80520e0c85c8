"""Committing what sinks prepared, once the checkpoint it belongs to is complete."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headrace.core.crash_points import reach
from headrace.core.operator import TaskInfo
from headrace.core.sink import Committer, Sink
from headrace.errors import IncompatibleState
from headrace.jobs.journal import CommitJournal, Committables
from headrace.operators.sinks import WriteOperator
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.flow.checkpoint import CheckpointId
from headrace.runtime.flow.master import Superseded

_LOG = logging.getLogger("headrace")

HandOver = Callable[[list[Any]], None]


class SinkCommits:
    """The committers of a job's sinks, and the journal of what they have still to do.

    What goes to the driver itself, lines to print and records to collect, is output like any other:
    it is handed over once its checkpoint is complete.
    """

    def __init__(
        self, plan: PhysicalPlan, journal: CommitJournal,
        hand_over: Mapping[str, HandOver] | None = None, *, may_lose: bool = False,
        may_repeat: bool = False,
    ):  # fmt: skip
        """`hand_over`: who takes what operators send to the driver, by uid. `may_lose`: whether
        prepared output of a sink that is gone may stay uncommitted. `may_repeat`: whether output
        may be committed twice, after a checkpoint that was lost."""
        self._journal = journal
        self._may_lose = may_lose
        self._may_repeat = may_repeat
        self._committers: dict[str, Committer[Any]] = {}
        for vertex in plan.vertices.values():
            if isinstance(vertex.operator, WriteOperator):
                sink: Sink[object] = vertex.operator.sink
                committer = sink.create_committer()
                if committer is not None:
                    committer.open(_known_to_committers(plan, vertex))
                    self._committers[vertex.uid] = committer
        self._of_sinks = bool(self._committers)
        for uid, take in (hand_over or {}).items():
            self._committers[uid] = _Delivery(take)

    def recover(
        self, last: CheckpointId | None, attempt: int = 0, journal: CommitJournal | None = None,
        *, is_current: Callable[[], bool] = lambda: True,
    ) -> None:  # fmt: skip
        """Finish what an earlier attempt left: commit what was checkpointed, abort the rest.

        `last`: the checkpoint that this `attempt` goes on from; both in the run whose `journal` it
        is. `is_current`: whether no other attempt has begun since.
        """
        own = journal is None
        journal = journal or self._journal
        required = own and self._of_sinks
        journal.recall(last, attempt, required=required, may_repeat=self._may_repeat)
        reach("attempt.recovers", attempt)
        for entry in journal.pending():
            if journal.counts(entry):
                self._require_committers(entry, journal)
                reach("sink-commit.before", entry.number)
                for committer, prepared in self._left_by(journal, entry):
                    committer.recover(prepared)
                reach("sink-commit.after", entry.number)
                journal.settle(entry)
            else:
                for committer, prepared in self._left_by(journal, entry):
                    committer.abort(prepared)
                journal.discard(entry)
        if not own:
            return
        if self._of_sinks:
            journal.begin()
        if not is_current():  # what is not committed by now may be another's, at work
            raise Superseded
        for committer in self._committers.values():
            committer.recovered()
        reach("attempt.recovered", attempt)

    def _left_by(
        self, journal: CommitJournal, entry: CheckpointId
    ) -> Iterator[tuple[Committer[Any], list[Any]]]:
        """What a checkpoint left to be committed, and who commits it."""
        for uid, prepared in journal.prepared(entry).items():
            if prepared and uid in self._committers:
                yield self._committers[uid], prepared

    def _require_committers(self, entry: CheckpointId, journal: CommitJournal) -> None:
        """Refuse to leave output uncommitted that is checkpointed, unless it may be lost."""
        left = journal.prepared(entry)
        lost = [uid for uid, prepared in left.items() if prepared and uid not in self._committers]
        if not lost:
            return
        what = (
            f"checkpoint {entry.number} left prepared output of {', '.join(map(repr, lost))} "
            "(uid), and the job has no sink of that uid that could commit it"
        )
        if not self._may_lose:
            raise IncompatibleState(
                what,
                hint="Bring the sink back for one start, which commits its output; or say that it "
                "may be dropped: headrace run --allow-non-restored-state, or "
                "execution.state-recovery.ignore-unclaimed-state: true.",
            )
        _LOG.warning("%s: it stays uncommitted", what)

    def note(self, number: int, prepared: Committables) -> None:
        """Remember what a checkpoint prepared, before it is complete."""
        if not self._of_sinks and not any(prepared.values()):
            return
        reach("journal.before", number)
        self._journal.note(number, prepared)
        reach("journal.after", number)

    def commit_upto(self, last_committed: int) -> None:
        """Commit the output of all checkpoints up to one that is complete."""
        for entry in self._journal.pending():
            if entry.number > last_committed:
                return
            reach("sink-commit.before", entry.number)
            for committer, prepared in self._left_by(self._journal, entry):
                committer.commit(prepared)
            reach("sink-commit.after", entry.number)
            self._journal.settle(entry)

    def tick(self, *, final: bool = False) -> None:
        """Let sinks do what is due with what is committed."""
        for committer in self._committers.values():
            committer.tick(time.time_ns() // 1_000_000, final)

    def close(self) -> None:
        for committer in self._committers.values():
            committer.close()
        self._committers.clear()


def _known_to_committers(plan: PhysicalPlan, vertex: Vertex) -> TaskInfo:
    """What the committer of a sink may know: of subtasks, how many there may be at most."""
    settings = plan.settings
    sources = sum(source.parallelism for source in plan.sources)
    return TaskInfo(
        vertex.name,
        vertex.uid,
        parallelism=max(sources, plan.parallelism),
        output_id=str(settings.get("output_id", "")),
        lineage=str(settings.get("lineage", "")),
        kept_folder=str(settings.get("kept_folder", "")),
    )


class _Delivery(Committer[Any]):
    """Hands over what an operator sent to the driver."""

    def __init__(self, hand_over: HandOver):
        self._hand_over = hand_over

    def commit(self, committables: list[Any]) -> None:
        self._hand_over(committables)
