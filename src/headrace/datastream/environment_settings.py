"""The environment's settings: parallelism, checkpoints, dependencies, Flink's switches."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self

from headrace.core.config import Configuration
from headrace.core.execution_config import ExecutionConfig
from headrace.core.keys import DEFAULT_MAX_PARALLELISM
from headrace.core.older_options import take_over
from headrace.core.time import Duration
from headrace.datastream.built_in_jars import pass_over_jars
from headrace.datastream.checkpoint_config import RETENTION, CheckpointConfig
from headrace.datastream.checkpointing_mode import CheckpointingMode
from headrace.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from headrace.datastream.graph_builder import positive
from headrace.datastream.slot_sharing_group import SlotSharingGroup
from headrace.datastream.state_backend import StateBackend
from headrace.errors import InvalidArgument, Unsupported
from headrace.jobs.recovery_settings import NUM_RETAINED, retained_checkpoints
from headrace.jobs.retention import Retention
from headrace.origin import calling_origin
from headrace.runtime.flow.coordinator import CheckpointSettings
from headrace.runtime.flow.messages import Alignment
from headrace.spark.dependencies import add_archive, add_file, set_requirements
from headrace.spark.flow.attempt import AUTO, MICRO_BATCH, REAL_TIME, StreamSettings
from headrace.spark.session import default_parallelism, requested_parallelism

_CHAINING = "pipeline.operator-chaining.enabled"
_BUFFER_TIMEOUT = "execution.buffer-timeout.interval"
_CHANGELOG = "state.changelog.enabled"
_SAVEPOINTS = "execution.checkpointing.savepoint-dir"
_CHECKPOINTS = "execution.checkpointing.dir"
_FALL_BACK = "headrace.checkpointing.fall-back"
_FILES_PER_BATCH = "headrace.stream.files-per-batch"
_MOST_RECORDS = "headrace.stream.max-records-per-batch"
_TARGET_BATCH = "headrace.stream.target-batch-duration"
_MODE = "headrace.stream.mode"
_MODE_VARIABLE = "HEADRACE_STREAM_MODE"
_RETENTIONS = {
    ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION: Retention.KEEP,
    ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION: Retention.DROP_WHEN_CANCELLED,
    ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS: Retention.DROP,
}
_JAR_HINT = "Connectors are Python packages here; see the connectors page."


class SettingsMixin:
    """Getters and setters over the job's configuration."""

    _local_parallelism: ClassVar[int | None] = None
    """What a program set for all its environments."""

    configuration: Configuration
    config: ExecutionConfig
    checkpoints: CheckpointConfig
    _jobs: int
    _cached_files: dict[str, str]

    def configure(self, configuration: Configuration) -> None:
        """Take over settings."""
        take_over(self.configuration, configuration)

    def set_parallelism(self, parallelism: int) -> Self:
        """How many subtasks operators have unless they say otherwise."""
        self.config.set_parallelism(positive(parallelism, "parallelism"))
        return self

    def set_max_parallelism(self, max_parallelism: int) -> Self:
        """How many key groups state is divided into: the most subtasks it can ever have."""
        self.config.set_max_parallelism(positive(max_parallelism, "max parallelism"))
        return self

    def get_max_parallelism(self) -> int:
        return self.config.get_max_parallelism()

    def _max_parallelism_or_default(self) -> int:
        chosen = self.config.get_max_parallelism()
        return chosen if chosen > 0 else DEFAULT_MAX_PARALLELISM

    def get_default_local_parallelism(self) -> int:
        return SettingsMixin._local_parallelism or default_parallelism()

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """The parallelism of environments made from now on, where nothing else is said."""
        SettingsMixin._local_parallelism = positive(parallelism, "parallelism")

    def _usual_parallelism(self) -> int:
        return requested_parallelism() or self.get_default_local_parallelism()

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> Self:
        """Accepted: Spark's executors decide about resources, for all operators alike."""
        if not isinstance(slot_sharing_group, SlotSharingGroup):
            raise InvalidArgument(
                f"{slot_sharing_group!r} is no SlotSharingGroup", origin=calling_origin()
            )
        return self

    # Chaining and buffers.

    def disable_operator_chaining(self) -> Self:
        """Show every operator as a task of its own in plans."""
        self.configuration.set_boolean(_CHAINING, False)
        return self

    def is_chaining_enabled(self) -> bool:
        return self.configuration.get_boolean(_CHAINING, True)

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        return self.configuration.get_boolean(
            "pipeline.operator-chaining.chain-operators-with-different-max-parallelism", True
        )

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """How long a record may wait in real time for others to go with it: a smaller number makes
        it faster, a larger one the whole stream. -1 waits until there are many, 0 for none; if
        nothing is set, as long as suits the load, 5 ms at least. In micro-batches records leave an
        operator with their micro-batch."""
        if not isinstance(timeout_millis, int) or timeout_millis < -1:
            raise InvalidArgument(
                f"a buffer timeout is a number of milliseconds or -1, not {timeout_millis!r}",
                origin=calling_origin(),
            )
        self.configuration.set_integer(_BUFFER_TIMEOUT, timeout_millis)
        return self

    def get_buffer_timeout(self) -> int:
        """In milliseconds; -1 if there is none."""
        if self.configuration.get_string(_BUFFER_TIMEOUT, "") == "-1":
            return -1
        usual = Duration.of_millis(100)
        return self.configuration.get_duration(_BUFFER_TIMEOUT, usual).to_millis()

    # Checkpoints.

    def enable_checkpointing(self, interval: int, mode: CheckpointingMode | None = None) -> Self:
        """Make the job's state durable every `interval` milliseconds."""
        self.checkpoints.set_checkpoint_interval(interval)
        if mode is not None:
            self.checkpoints.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        return self.checkpoints.get_checkpoint_interval()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        return self.checkpoints.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        return self.checkpoints.is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        return self.checkpoints.is_force_unaligned_checkpoints()

    def enable_changelog_state_backend(self, enabled: bool) -> Self:
        """Accepted; state is always kept as a log of changes."""
        self.configuration.set_boolean(_CHANGELOG, enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        if not self.configuration.contains_key(_CHANGELOG):
            return None
        return self.configuration.get_boolean(_CHANGELOG, True)

    def set_state_backend(self, state_backend: StateBackend) -> Self:
        """Choose where working state lives; the same as setting `state.backend.type`."""
        if not isinstance(state_backend, StateBackend):
            raise InvalidArgument(
                f"{state_backend!r} is no state backend", origin=calling_origin(),
                hint="Use HashMapStateBackend() or EmbeddedRocksDBStateBackend().",
            )  # fmt: skip
        state_backend._configure(self.configuration)
        return self

    def set_default_savepoint_directory(self, directory: str) -> Self:
        self.configuration.set_string(_SAVEPOINTS, directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        return self.configuration.get_string(_SAVEPOINTS, "") or None

    def _stream_settings(self) -> StreamSettings:
        enabled = self.checkpoints.is_checkpointing_enabled()
        return StreamSettings(
            mode=self._stream_mode(),
            job_number=self._jobs,
            checkpoint_dir=self.configuration.get_string(_CHECKPOINTS, "") or None,
            interval_ms=self._batch_interval() if enabled else 0,
            checkpoints=self._checkpoint_settings(),
            buffer_timeout_ms=self._buffer_timeout(),
            retained=self._retained(),
            files_per_batch=self.configuration.get_integer(_FILES_PER_BATCH, 0) or None,
            target_batch_ms=self._target_batch(),
            max_records_per_batch=self.configuration.get_integer(_MOST_RECORDS, 0) or None,
            fall_back=self.configuration.get_boolean(_FALL_BACK, False),
        )

    def _checkpoint_settings(self) -> CheckpointSettings:
        asked = self.checkpoints
        exactly = asked.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
        overtakes = asked.is_unaligned_checkpoints_enabled()
        patience = asked.get_aligned_checkpoint_timeout().to_millis() if overtakes else None
        return CheckpointSettings(
            interval=self._batch_interval() if asked.is_checkpointing_enabled() else None,
            timeout=asked.get_checkpoint_timeout(),
            min_pause=asked.get_min_pause_between_checkpoints(),
            at_most=asked.get_max_concurrent_checkpoints() if exactly and not overtakes else 1,
            tolerable_failures=asked.get_tolerable_checkpoint_failure_number(),
            alignment=Alignment(holds=exactly, overtakes_after=patience),
        )

    def _buffer_timeout(self) -> int | None:
        is_set = self.configuration.contains_key(_BUFFER_TIMEOUT)
        return self.get_buffer_timeout() if is_set else None

    def _stream_mode(self) -> str:
        asked = os.environ.get(_MODE_VARIABLE) or AUTO
        mode = self.configuration.get_string(_MODE, asked)
        if mode not in (AUTO, REAL_TIME, MICRO_BATCH):
            raise InvalidArgument(
                f"{_MODE} is {AUTO}, {REAL_TIME} or {MICRO_BATCH}, not {mode!r}",
                origin=calling_origin(),
            )
        return mode

    def _target_batch(self) -> int | None:
        if not self.configuration.contains_key(_TARGET_BATCH):
            return None
        return self.configuration.get_duration(_TARGET_BATCH, Duration.of_millis(0)).to_millis()

    def _batch_interval(self) -> int:
        """From the begin of a micro-batch to the next: each one is a checkpoint."""
        pause = self.checkpoints.get_min_pause_between_checkpoints()
        return max(self.checkpoints.get_checkpoint_interval(), pause)

    def _retained(self) -> int | None:
        set_ = any(self.configuration.contains_key(key) for key in NUM_RETAINED)
        return retained_checkpoints(self.configuration) if set_ else None

    def _retention(self) -> Retention:
        """Unless something is said, checkpoints stay: a stream that is stopped can go on."""
        if not self.configuration.contains_key(RETENTION):
            return Retention.KEEP
        return _RETENTIONS[self.checkpoints.get_externalized_checkpoint_retention()]

    # What the job's functions need.

    def add_python_file(self, file_path: str) -> None:
        """Let functions import a Python file, folder, or archive of packages before all others."""
        add_file(self.configuration, file_path)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Install a requirements file for the functions."""
        set_requirements(self.configuration, requirements_file_path, requirements_cache_dir)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack an archive into the functions' working folder."""
        add_archive(self.configuration, archive_path, target_dir)

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Let functions open a file by name, through their runtime context."""
        self._cached_files[name] = file_path

    def set_python_executable(self, python_exec: str) -> None:
        """Run functions with another interpreter; takes effect when Spark starts."""
        self.configuration.set_string("headrace.spark.pyspark.python", python_exec)

    def add_jars(self, *jars_path: str) -> None:
        """Passed over where headrace has the connector itself; any other jar is refused."""
        pass_over_jars(*jars_path)

    def add_classpaths(self, *classpaths: str) -> None:
        raise Unsupported("class paths are not used", origin=calling_origin(), hint=_JAR_HINT)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_j_"):
            raise Unsupported(
                f"{name} is a handle on a JVM object, which there is none of here",
                origin=calling_origin(),
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
