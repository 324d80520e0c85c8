"""One checkpoint of a job, and how Flink's REST API shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class CheckpointStatus(Enum):
    """Where a checkpoint stands."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True)
class OperatorFigures:
    """What a checkpoint holds of one operator."""

    bytes_written: int = 0
    entries_changed: int = 0
    entries: int = 0
    """All entries of its state, changed or not."""
    state_size: int = 0
    """Bytes of all of them; 0 if they are only known for the whole job."""
    start_delay_ms: int = 0
    """In real time, of the slowest subtask: from the trigger until the first barrier was there."""
    alignment_ms: int = 0
    """From then on until the last one was."""
    sync_ms: int = 0
    """While records waited for the snapshot."""
    async_ms: int = 0
    """While the snapshot was written, and records went on."""
    in_flight_bytes: int = 0
    """Records on their way that are part of the checkpoint, as barriers overtook them."""


@dataclass(frozen=True)
class CheckpointFigures:
    """What is known of a checkpoint when it is done."""

    state_size: int = 0
    """Bytes of all the job's state."""
    bytes_written: int = 0
    """Bytes this checkpoint had to write."""
    operators: Mapping[str, OperatorFigures] = field(default_factory=dict)
    """By uid."""
    in_flight_bytes: int = 0
    """Of records on their way that are part of it."""


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint, or one savepoint."""

    id: int
    trigger_ms: int
    status: CheckpointStatus = CheckpointStatus.IN_PROGRESS
    end_to_end_ms: int = 0
    """From its begin until nothing can undo it."""
    state_size: int = 0
    bytes_written: int = 0
    in_flight_bytes: int = 0
    operators: Mapping[str, OperatorFigures] = field(default_factory=dict)
    is_savepoint: bool = False
    external_path: str | None = None
    failure: str | None = None

    def to_json(self, parallelism: Mapping[str, int]) -> dict[str, Any]:
        """In the form of Flink's `/jobs/:jobid/checkpoints/details/:checkpointid`."""
        found = {
            "className": self.status.value,
            "is_savepoint": self.is_savepoint,
            "savepointFormat": "CANONICAL" if self.is_savepoint else None,
            "trigger_timestamp": self.trigger_ms,
            "checkpoint_type": "SAVEPOINT" if self.is_savepoint else "CHECKPOINT",
            **self._progress(
                sum(parallelism.values()),
                self.bytes_written,
                self.state_size,
                self.in_flight_bytes,
            ),
            "tasks": {uid: self._task(uid, subtasks) for uid, subtasks in parallelism.items()},
        }
        if self.status is CheckpointStatus.COMPLETED:
            found |= {"external_path": self.external_path, "discarded": False}
        if self.status is CheckpointStatus.FAILED:
            found |= {"failure_timestamp": self._end_ms(), "failure_message": self.failure}
        return found

    def _task(self, uid: str, subtasks: int) -> dict[str, Any]:
        figures = self.operators.get(uid, OperatorFigures())
        return {
            **self._progress(
                subtasks, figures.bytes_written, figures.state_size, figures.in_flight_bytes
            ),
            "entries": figures.entries,
            "entries_changed": figures.entries_changed,
            "start_delay": figures.start_delay_ms,
            "alignment": {"duration": figures.alignment_ms},
            "checkpoint_duration": {"sync": figures.sync_ms, "async": figures.async_ms},
        }

    def _progress(self, subtasks: int, written: int, size: int, in_flight: int) -> dict[str, Any]:
        """What Flink says alike of a checkpoint and of an operator's part in it."""
        is_complete = self.status is CheckpointStatus.COMPLETED
        return {
            "id": self.id,
            "status": self.status.name,
            "latest_ack_timestamp": self._end_ms() if is_complete else -1,
            "checkpointed_size": written,
            "state_size": size,
            "end_to_end_duration": self.end_to_end_ms,
            "num_subtasks": subtasks,
            "num_acknowledged_subtasks": subtasks if is_complete else 0,
            "alignment_buffered": 0,
            "processed_data": 0,
            "persisted_data": in_flight,
        }

    def _end_ms(self) -> int:
        return self.trigger_ms + self.end_to_end_ms


@dataclass(frozen=True)
class Restored:
    """What a job began from when it was started again."""

    id: int
    restore_ms: int
    is_savepoint: bool
    external_path: str | None

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "restore_timestamp": self.restore_ms,
            "is_savepoint": self.is_savepoint,
            "external_path": self.external_path,
        }


@dataclass(frozen=True)
class CheckpointCounts:
    """How many checkpoints there were, remembered or not."""

    restored: int = 0
    total: int = 0
    completed: int = 0
    failed: int = 0

    @property
    def in_progress(self) -> int:
        return self.total - self.completed - self.failed

    def to_json(self) -> dict[str, int]:
        return {
            "restored": self.restored,
            "total": self.total,
            "in_progress": self.in_progress,
            "completed": self.completed,
            "failed": self.failed,
        }
