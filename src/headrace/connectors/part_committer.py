"""Makes parts of what the writers left for complete checkpoints.

The folder itself says what is committed and what is finished; what is kept in memory is a copy
that is made anew after a failure. The steps are generators, so that a test can stop between two.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from headrace.connectors.durable import sync_folders
from headrace.connectors.part_files import Committable
from headrace.connectors.part_merging import finish, resume
from headrace.connectors.part_names import (
    IN_PROGRESS,
    PENDING,
    Segment,
    files_below,
    files_in,
    owner_of,
    segment_of,
)
from headrace.connectors.part_rules import PartRule, Pending
from headrace.core.operator import TaskInfo
from headrace.core.sink import Committer
from headrace.errors import JobFailed

__all__ = ["PartFileCommitter"]

Part = Sequence[Pending]
"""Segments that become one finished file."""


def take(steps: Iterable[str]) -> None:
    """Take all steps."""
    deque(steps, maxlen=0)


class PartFileCommitter(Committer[Committable]):
    """Gives segments their names, and finishes parts when a rule says so."""

    def __init__(self, base_path: Path, run_id: str, rule: PartRule, check_interval_ms: int):
        self._base_path = base_path
        self._run_id = run_id
        self._rule = rule
        self._check_interval_ms = check_interval_ms
        self._checked_ms: int | None = None
        self._owner: str | None = None
        self._groups: dict[Hashable, dict[Segment, Pending]] = {}
        self._touched: set[Path] = set()
        """Folders that may hold what killed workers left."""
        self._current = False
        """Whether what is in memory is what is in the folder."""
        self._batch = -1
        """The last checkpoint that was committed here, and what it prepared."""
        self._done: set[str] = set()

    def open(self, task: TaskInfo) -> None:
        self._owner = owner_of(task, self._run_id)
        self._do(())

    def commit(self, committables: list[Committable]) -> None:
        self._adopt(committables)
        self._do(self.commit_steps(committables))

    def recover(self, committables: list[Committable]) -> None:
        self._adopt(committables)
        self._do(self.recover_steps(committables))

    def recovered(self) -> None:
        self._do(self.clear_steps())

    def abort(self, committables: list[Committable]) -> None:
        for hidden, _ in committables:
            Path(hidden).unlink(missing_ok=True)

    def tick(self, now_ms: int, final: bool) -> None:
        if final:
            self._do(self.final_steps())
        elif self._checked_ms is None:
            self._checked_ms = now_ms
        elif now_ms - self._checked_ms >= self._check_interval_ms:
            self._checked_ms = now_ms
            self._do(self.time_steps(now_ms))

    # What happens, step by step.

    def load_steps(self) -> Iterator[str]:
        """Find out what is there, and bring to its end what a crash interrupted."""
        self._groups.clear()
        if self._owner is None or not self._base_path.is_dir():
            return
        hidden = files_below(self._owner, self._base_path)
        self._touched = {path.parent for path in hidden}
        yield from resume(hidden)
        waiting = (path for path in hidden if path.name.endswith(PENDING) and path.exists())
        self._add(segment for path in waiting if (segment := segment_of(path)))

    def commit_steps(self, committables: list[Committable]) -> Iterator[str]:
        """For a checkpoint that has just become complete: all it prepared must be there."""
        self._require_all(committables)
        segments = (segment_of(Path(hidden)) for hidden, _ in committables)
        batch = max((segment.batch for segment in segments if segment), default=-1)
        if batch != self._batch:
            self._batch, self._done = batch, set()
        self._done.update(hidden for hidden, _ in committables)
        yield from self.recover_steps(committables)

    def recover_steps(self, committables: list[Committable]) -> Iterator[str]:
        """What is missing was committed before a restart; its readers may have taken it away."""
        for hidden, target in committables:
            if Path(hidden).exists():
                Path(hidden).replace(target)
                yield f"committed {hidden}"
        targets = [Path(target) for _, target in committables]
        self._touched.update(target.parent for target in targets)
        sync_folders(target.parent for target in targets if target.parent.is_dir())
        segments = [segment for target in targets if (segment := segment_of(target))]
        self._add(segment for segment in segments if segment.pending.exists())
        batch = max((segment.batch for segment in segments), default=-1)
        groups = list(self._groups.values())
        yield from self._finish([part for group in groups for part in self._ripe(group, batch)])

    def clear_steps(self) -> Iterator[str]:
        """Nobody writes now, and what counts is committed: the rest was left by killed workers."""
        if self._owner is None or not self._base_path.is_dir():
            return
        for path in files_below(self._owner, self._base_path):
            if path.name.endswith(IN_PROGRESS):
                path.unlink(missing_ok=True)
                yield f"cleared {path.name}"

    def time_steps(self, now_ms: int) -> Iterator[str]:
        """Finish what is old enough."""
        parts = self._waiting()
        yield from self._finish([part for part in parts if self._rule.on_time(part, now_ms)])
        yield from self._sweep()

    def final_steps(self) -> Iterator[str]:
        """Finish everything."""
        yield from self._finish(self._waiting())
        yield from self._sweep()

    def _finish(self, parts: Sequence[Part]) -> Iterator[str]:
        work = [finish([each.segment for each in part], self._rule.merge) for part in parts]
        if self._rule.threads > 1 and len(work) > 1:
            with ThreadPoolExecutor(self._rule.threads) as pool:
                list(pool.map(take, work))
        for part, steps in zip(parts, work, strict=True):
            yield from steps
            for each in part:
                self._forget(each.segment)

    def _sweep(self) -> Iterator[str]:
        """Remove what killed workers left: nobody writes for checkpoints of the past any more."""
        if self._owner is None or self._batch < 0:
            return
        touched, self._touched = self._touched, set()
        for path in (path for folder in touched for path in files_in(self._owner, folder)):
            segment = segment_of(path)
            if segment is None or not path.name.endswith(IN_PROGRESS):
                continue
            if segment.batch > self._batch or str(path) in self._done:
                self._touched.add(path.parent)  # it is looked at again
                continue
            path.unlink(missing_ok=True)
            yield f"swept {path.name}"

    # What is known of the folder.

    def _do(self, steps: Iterable[str]) -> None:
        if not self._current:
            take(self.load_steps())
        self._current = False
        take(steps)
        self._current = True

    def _adopt(self, committables: list[Committable]) -> None:
        """Without open(), files say themselves whose they are."""
        if self._owner is None and committables:
            segment = segment_of(Path(committables[0][0]))
            self._owner = None if segment is None else segment.owner

    def _require_all(self, committables: list[Committable]) -> None:
        for hidden, target in committables:
            if hidden not in self._done and not Path(hidden).exists() and not Path(target).exists():
                raise JobFailed(
                    f"the part file {target} is lost: neither it nor {hidden} exists",
                    hint="Was the output folder changed, or is it not shared by all machines?",
                )

    def _add(self, segments: Iterable[Segment]) -> None:
        for segment in segments:
            group = self._groups.setdefault(self._rule.group(segment), {})
            group[segment] = Pending.at(segment)

    def _forget(self, segment: Segment) -> None:
        key = self._rule.group(segment)
        self._groups[key].pop(segment)
        if not self._groups[key]:
            del self._groups[key]

    def _waiting(self) -> list[Part]:
        return [_in_order(group) for group in self._groups.values()]

    def _ripe(self, group: dict[Segment, Pending], batch: int) -> Iterator[Part]:
        waiting = _in_order(group)
        while waiting and (count := self._rule.on_commit(waiting, batch)):
            yield waiting[:count]
            waiting = waiting[count:]


def _in_order(group: dict[Segment, Pending]) -> Part:
    return sorted(group.values(), key=lambda each: each.segment.order)
