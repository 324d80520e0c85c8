"""Which committed segments become a finished part, and when."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace.connectors.file_compaction import FileCompactor, FileCompactStrategy
from headrace.connectors.output_files import PartFileInfo, RollingPolicy
from headrace.connectors.part_merging import Merge
from headrace.connectors.part_names import Segment
from headrace.core.bulk_writing import concatenate

__all__ = ["CompactionRule", "PartRule", "Pending", "RollingRule"]


@dataclass(frozen=True, slots=True)
class Pending:
    """A committed segment that is not part of a finished file yet."""

    segment: Segment
    size: int
    written_ms: int

    @classmethod
    def at(cls, segment: Segment) -> Pending:
        known = segment.pending.stat()
        return cls(segment, known.st_size, known.st_mtime_ns // 1_000_000)


class PartRule(ABC):
    """Decides; the committer acts."""

    threads = 1
    """How many parts are made at a time."""
    merge: Merge

    @abstractmethod
    def group(self, segment: Segment) -> Hashable:
        """Segments of one group may become one part."""

    @abstractmethod
    def on_commit(self, pending: Sequence[Pending], batch: int) -> int:
        """How many segments of a group, from the first, are to be one part now."""

    def on_time(self, pending: Sequence[Pending], now_ms: int) -> bool:
        """Whether all segments of a group are to be one part because of the time."""
        return False


class RollingRule(PartRule):
    """A part is what one subtask writes to one bucket until the rolling policy says stop."""

    def __init__(self, policy: RollingPolicy):
        self._policy = policy
        self.merge = concatenate

    def group(self, segment: Segment) -> Hashable:
        return segment.folder, segment.partition

    def on_commit(self, pending: Sequence[Pending], batch: int) -> int:
        size = 0
        for number, each in enumerate(pending, 1):
            size += each.size
            part = PartFileInfo(size, pending[0].written_ms, each.written_ms)
            if self._policy.should_roll_on_checkpoint(part):
                return number
        return 0

    def on_time(self, pending: Sequence[Pending], now_ms: int) -> bool:
        size = sum(each.size for each in pending)
        part = PartFileInfo(size, pending[0].written_ms, pending[-1].written_ms)
        return self._policy.should_roll_on_processing_time(part, now_ms)


class CompactionRule(PartRule):
    """A part is made of what all subtasks wrote to one bucket, as the strategy says."""

    def __init__(self, strategy: FileCompactStrategy, compactor: FileCompactor):
        self._strategy = strategy
        self._one_by_one = compactor.one_by_one
        self._compacted: dict[Path, int] = {}
        """The checkpoint with which a folder was last compacted because of their number."""
        self.merge = compactor.compact
        self.threads = strategy.num_compact_threads

    def group(self, segment: Segment) -> Hashable:
        return segment.folder

    def on_commit(self, pending: Sequence[Pending], batch: int) -> int:
        if self._one_by_one:
            return 1
        size, threshold = 0, self._strategy.size_threshold
        for number, each in enumerate(pending, 1):
            size += each.size
            if 0 <= threshold <= size:
                return number
        return len(pending) if self._is_due(pending[0].segment.folder, batch) else 0

    def _is_due(self, folder: Path, batch: int) -> bool:
        every = self._strategy.num_checkpoints_before_compaction
        last = self._compacted.get(folder, batch)
        if last >= batch:  # the first, or the job was started anew and counts from 0 again
            last = self._compacted[folder] = batch - 1
        if every <= 0 or batch - last < every:
            return False
        self._compacted[folder] = batch
        return True
