"""Committing what sinks prepared, once the checkpoint has the micro-batch it belongs to."""

from __future__ import annotations

import logging
import time

from headrace.core.crash_points import reach
from headrace.core.operator import TaskInfo
from headrace.core.sink import Committer, Sink
from headrace.jobs.journal import CommitJournal, Committables
from headrace.operators.sinks import WriteOperator
from headrace.plan.physical import PhysicalPlan

_LOG = logging.getLogger("headrace")


class SinkCommits:
    """The committers of a job's sinks, and the journal of what they have still to do."""

    def __init__(self, plan: PhysicalPlan, journal: CommitJournal):
        self._journal = journal
        self._committers: dict[str, Committer[object]] = {}
        output_id = str(plan.settings.get("output_id", ""))
        lineage = str(plan.settings.get("lineage", ""))
        for vertex in plan.vertices.values():
            if isinstance(vertex.operator, WriteOperator):
                sink: Sink[object] = vertex.operator.sink
                committer = sink.create_committer()
                if committer is not None:
                    task = TaskInfo(vertex.name, vertex.uid, output_id=output_id, lineage=lineage)
                    committer.open(task)
                    self._committers[vertex.uid] = committer

    def recover(self, last_committed: int | None, journal: CommitJournal | None = None) -> None:
        """Finish what an earlier attempt left: commit what was checkpointed, abort the rest."""
        own = journal is None
        journal = journal or self._journal
        journal.recall(last_committed, required=own and bool(self._committers))
        for batch_id in journal.pending():
            committed = last_committed is not None and batch_id <= last_committed
            if committed:
                reach("sink-commit.before", batch_id)
            for uid, prepared in journal.prepared(batch_id).items():
                committer = self._committers.get(uid)
                if committer is not None and prepared:
                    (committer.recover if committed else committer.abort)(prepared)
                elif prepared and committed:
                    _LOG.warning(
                        "micro-batch %d left output of a sink with uid %r, which the job no longer "
                        "has: it stays uncommitted", batch_id, uid,
                    )  # fmt: skip
            if committed:
                reach("sink-commit.after", batch_id)
                journal.settle(batch_id)
            else:
                journal.discard(batch_id)
        if own and self._committers:
            journal.begin()

    def note(self, batch_id: int, prepared: Committables) -> None:
        """Remember what a micro-batch prepared, before its end is noted anywhere."""
        if not self._committers:
            return
        if self._journal.is_settled(batch_id):  # the job has fallen back behind its own output
            for uid, unneeded in prepared.items():
                if unneeded and uid in self._committers:
                    self._committers[uid].abort(unneeded)
            return
        reach("journal.before", batch_id)
        self._journal.note(batch_id, prepared)
        reach("journal.after", batch_id)

    def commit_upto(self, last_committed: int) -> None:
        """Commit the output of all micro-batches that are checkpointed."""
        for batch_id in self._journal.pending():
            if batch_id > last_committed:
                return
            reach("sink-commit.before", batch_id)
            for uid, prepared in self._journal.prepared(batch_id).items():
                if prepared and uid in self._committers:
                    self._committers[uid].commit(prepared)
            reach("sink-commit.after", batch_id)
            self._journal.settle(batch_id)

    def tick(self, *, final: bool = False) -> None:
        """Let sinks do what is due with what is committed."""
        for committer in self._committers.values():
            committer.tick(time.time_ns() // 1_000_000, final)

    def close(self) -> None:
        for committer in self._committers.values():
            committer.close()
        self._committers.clear()
