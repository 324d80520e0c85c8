"""When and how a job makes checkpoints, kept as settings in a `Configuration`."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from headrace.core.config import Configuration
from headrace.core.time import Duration
from headrace.datastream.checkpointing_mode import CheckpointingMode
from headrace.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin

__all__ = ["CheckpointConfig"]

INTERVAL = "execution.checkpointing.interval"
MODE = "execution.checkpointing.mode"
TIMEOUT = "execution.checkpointing.timeout"
MIN_PAUSE = "execution.checkpointing.min-pause"
MAX_CONCURRENT = "execution.checkpointing.max-concurrent-checkpoints"
TOLERABLE_FAILURES = "execution.checkpointing.tolerable-failed-checkpoints"
RETENTION = "execution.checkpointing.externalized-checkpoint-retention"
UNALIGNED = "execution.checkpointing.unaligned.enabled"
UNALIGNED_FORCED = "execution.checkpointing.unaligned.forced"
ALIGNED_TIMEOUT = "execution.checkpointing.aligned-checkpoint-timeout"
_OLDER_UNALIGNED = "execution.checkpointing.unaligned"
_OLDER_ALIGNED_TIMEOUT = "execution.checkpointing.alignment-timeout"

_ANY_NUMBER_OF_FAILURES = 2**31 - 1
_SHORTEST_MILLIS = 10

E = TypeVar("E", bound=Enum)


class CheckpointConfig:
    """Reads and writes the checkpoint settings of one environment.

    In real time they mean what they mean in Flink. Micro-batches follow one another and each is a
    checkpoint of its own, so there is never more than one at a time. At its end no record is on its
    way between operators: there are no barriers to wait for and nothing in flight to store, which
    is all that unaligned checkpoints and AT_LEAST_ONCE are about, so there these change nothing.

    How many checkpoints are kept (`execution.checkpointing.num-retained`), where savepoints go and
    what a job starts from are read in `headrace.jobs.recovery_settings`.
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def is_checkpointing_enabled(self) -> bool:
        return self.get_checkpoint_interval() > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """The promise; without checkpoints Flink calls it AT_LEAST_ONCE whatever was set."""
        if not self.is_checkpointing_enabled():
            return CheckpointingMode.AT_LEAST_ONCE
        return self._get_member(MODE, CheckpointingMode.EXACTLY_ONCE)

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Either is accepted; state and results are exactly-once with both."""
        return self._set_member(MODE, CheckpointingMode, checkpointing_mode)

    def get_checkpoint_interval(self) -> int:
        """Milliseconds from one checkpoint to the next; -1 if there are none."""
        return self._get_millis(INTERVAL, -1)

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        return self._set_millis(
            INTERVAL, "the checkpoint interval", checkpoint_interval, _SHORTEST_MILLIS
        )

    def get_checkpoint_timeout(self) -> int:
        """Milliseconds a checkpoint may take before it is given up."""
        return self._get_millis(TIMEOUT, 600_000)

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        return self._set_millis(
            TIMEOUT, "the checkpoint timeout", checkpoint_timeout, _SHORTEST_MILLIS
        )

    def get_min_pause_between_checkpoints(self) -> int:
        """Milliseconds without a checkpoint after each one."""
        return self._get_millis(MIN_PAUSE, 0)

    def set_min_pause_between_checkpoints(
        self, min_pause_between_checkpoints: int
    ) -> CheckpointConfig:
        return self._set_millis(
            MIN_PAUSE, "the pause between checkpoints", min_pause_between_checkpoints, 0
        )

    def get_max_concurrent_checkpoints(self) -> int:
        return self._configuration.get_integer(MAX_CONCURRENT, 1)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """How many may be under way at once in real time; with unaligned checkpoints, or
        AT_LEAST_ONCE, and in micro-batches, there is one at a time."""
        _at_least("the number of concurrent checkpoints", max_concurrent_checkpoints, 1)
        self._configuration.set_integer(MAX_CONCURRENT, max_concurrent_checkpoints)
        return self

    def is_fail_on_checkpointing_errors(self) -> bool:
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(
        self, fail_on_checkpointing_errors: bool
    ) -> CheckpointConfig:
        """Tolerate no failed checkpoint, or any number of them."""
        return self.set_tolerable_checkpoint_failure_number(
            0 if fail_on_checkpointing_errors else _ANY_NUMBER_OF_FAILURES
        )

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """How many checkpoints in a row may fail before the job does."""
        return self._configuration.get_integer(TOLERABLE_FAILURES, 0)

    def set_tolerable_checkpoint_failure_number(
        self, tolerable_checkpoint_failure_number: int
    ) -> CheckpointConfig:
        _at_least("the tolerable checkpoint failures", tolerable_checkpoint_failure_number, 0)
        self._configuration.set_integer(TOLERABLE_FAILURES, tolerable_checkpoint_failure_number)
        return self

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Whether the last checkpoint is kept when the job is cancelled."""
        return self._set_member(RETENTION, ExternalizedCheckpointRetention, retention_mode)

    def is_externalized_checkpoints_enabled(self) -> bool:
        retention = self.get_externalized_checkpoint_retention()
        return retention is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        default = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        return self._get_member(RETENTION, default)

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Whether they were asked for; only EXACTLY_ONCE has them."""
        exact = self.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
        older = self._configuration.get_boolean(_OLDER_UNALIGNED, False)
        return exact and self._configuration.get_boolean(UNALIGNED, older)

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Let barriers overtake records, which become part of the checkpoint; a micro-batch leaves
        none on their way."""
        self._configuration.set_boolean(UNALIGNED, enabled)
        return self

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        return self.enable_unaligned_checkpoints(False)

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """How old a checkpoint becomes before its barriers overtake, if they may."""
        self._configuration.set_duration(ALIGNED_TIMEOUT, alignment_timeout)
        return self

    def get_aligned_checkpoint_timeout(self) -> Duration:
        older = self._configuration.get_duration(_OLDER_ALIGNED_TIMEOUT, Duration.of_millis(0))
        return self._configuration.get_duration(ALIGNED_TIMEOUT, older)

    def set_alignment_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """The older name of `set_aligned_checkpoint_timeout`."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """The older name of `get_aligned_checkpoint_timeout`."""
        return self.get_aligned_checkpoint_timeout()

    def set_force_unaligned_checkpoints(
        self, force_unaligned_checkpoints: bool = True
    ) -> CheckpointConfig:
        """Kept but without effect: there are no iterations that would forbid them."""
        self._configuration.set_boolean(UNALIGNED_FORCED, force_unaligned_checkpoints)
        return self

    def is_force_unaligned_checkpoints(self) -> bool:
        return self._configuration.get_boolean(UNALIGNED_FORCED, False)

    def _get_millis(self, key: str, default: int) -> int:
        return self._configuration.get_duration(key, Duration.of_millis(default)).to_millis()

    def _set_millis(self, key: str, what: str, millis: int, least: int) -> CheckpointConfig:
        _at_least(f"{what} in milliseconds", millis, least)
        self._configuration.set_duration(key, Duration.of_millis(millis))
        return self

    def _get_member(self, key: str, default: E) -> E:
        # A configuration file may write a member as `exactly-once`.
        text = self._configuration.get_string(key, default.name)
        found = type(default).__members__.get(text.upper().replace("-", "_"))
        if found is None:
            raise InvalidArgument(
                f"setting {key!r} is {text!r}, which is none of "
                f"{', '.join(type(default).__members__)}",
                origin=calling_origin(),
            )
        return found

    def _set_member(self, key: str, kind: type[Enum], member: Enum) -> CheckpointConfig:
        if not isinstance(member, kind):
            raise TypeMismatch(
                f"a {kind.__name__} was expected, not {member!r}",
                origin=calling_origin(),
                hint=f"Write {kind.__name__}.{next(iter(kind)).name}, for example.",
            )
        self._configuration.set_string(key, member.name)
        return self


def _at_least(what: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeMismatch(f"{what}: {value!r} is not an int", origin=calling_origin())
    if value < least:
        raise InvalidArgument(
            f"{what} must be at least {least}, not {value}", origin=calling_origin()
        )
