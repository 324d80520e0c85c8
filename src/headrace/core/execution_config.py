"""How a program is to be run, kept as settings in a `Configuration`."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.core.config import Configuration, as_text
from headrace.core.time import Duration
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.origin import calling_origin

__all__ = ["ExecutionConfig"]

PARALLELISM = "parallelism.default"
MAX_PARALLELISM = "pipeline.max-parallelism"
AUTO_WATERMARK_INTERVAL = "pipeline.auto-watermark-interval"
OBJECT_REUSE = "pipeline.object-reuse"
GENERIC_TYPES = "pipeline.generic-types"
AUTO_GENERATE_UIDS = "pipeline.auto-generate-uids"
CLOSURE_CLEANER = "pipeline.closure-cleaner-level"
JOB_PARAMETERS = "pipeline.global-job-parameters"
LATENCY_INTERVAL = "metrics.latency.interval"
CANCELLATION_INTERVAL = "task.cancellation.interval"
CANCELLATION_TIMEOUT = "task.cancellation.timeout"
SNAPSHOT_COMPRESSION = "execution.checkpointing.snapshot-compression"

# The most key groups Flink allows, and so the highest parallelism.
HIGHEST_PARALLELISM = 1 << 15


class ExecutionConfig:
    """Reads and writes the settings of one environment, which shares its configuration."""

    PARALLELISM_DEFAULT = -1
    PARALLELISM_UNKNOWN = -2

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration
        self._job_parameters: dict[str, str] = {}

    def get_parallelism(self) -> int:
        """The parallelism of operators that set none; -1 leaves it to the engine."""
        return self._configuration.get_integer(PARALLELISM, self.PARALLELISM_DEFAULT)

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        if parallelism != self.PARALLELISM_DEFAULT:
            _require_between("the parallelism", parallelism, 1, HIGHEST_PARALLELISM)
        self._configuration.set_integer(PARALLELISM, parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """The number of key groups; -1 if it was not set."""
        return self._configuration.get_integer(MAX_PARALLELISM, -1)

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        _require_between("the max parallelism", max_parallelism, 1, HIGHEST_PARALLELISM)
        self._configuration.set_integer(MAX_PARALLELISM, max_parallelism)
        return self

    def get_auto_watermark_interval(self) -> int:
        """Milliseconds between watermarks; 0 stands for one after every record."""
        return self._millis(AUTO_WATERMARK_INTERVAL, 200)

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        return self._set_millis(AUTO_WATERMARK_INTERVAL, "the watermark interval", interval)

    def get_latency_tracking_interval(self) -> int:
        return self._millis(LATENCY_INTERVAL, 0)

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Kept but without effect: a micro-batch reports its own duration."""
        return self._set_millis(LATENCY_INTERVAL, "the latency interval", interval)

    def get_task_cancellation_interval(self) -> int:
        return self._millis(CANCELLATION_INTERVAL, 30_000)

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Kept but without effect: Spark ends the tasks of a cancelled job by itself."""
        return self._set_millis(CANCELLATION_INTERVAL, "the cancellation interval", interval)

    def get_task_cancellation_timeout(self) -> int:
        return self._millis(CANCELLATION_TIMEOUT, 180_000)

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Kept but without effect: Spark ends the tasks of a cancelled job by itself."""
        return self._set_millis(CANCELLATION_TIMEOUT, "the cancellation timeout", timeout)

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        return self._switch(AUTO_GENERATE_UIDS, True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Require a uid on every operator, so that none loses its state by a change."""
        return self._switch(AUTO_GENERATE_UIDS, False)

    def has_auto_generated_uids_enabled(self) -> bool:
        return self._configuration.get_boolean(AUTO_GENERATE_UIDS, True)

    def enable_generic_types(self) -> ExecutionConfig:
        return self._switch(GENERIC_TYPES, True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Require a declared type on every stream; none may be pickled."""
        return self._switch(GENERIC_TYPES, False)

    def has_generic_types_disabled(self) -> bool:
        return not self._configuration.get_boolean(GENERIC_TYPES, True)

    def enable_object_reuse(self) -> ExecutionConfig:
        return self._switch(OBJECT_REUSE, True)

    def disable_object_reuse(self) -> ExecutionConfig:
        return self._switch(OBJECT_REUSE, False)

    def is_object_reuse_enabled(self) -> bool:
        return self._configuration.get_boolean(OBJECT_REUSE, False)

    def is_use_snapshot_compression(self) -> bool:
        return self._configuration.get_boolean(SNAPSHOT_COMPRESSION, False)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        return self._switch(SNAPSHOT_COMPRESSION, use_snapshot_compression)

    def get_global_job_parameters(self) -> dict[str, str]:
        """What every function can read through `RuntimeContext.get_job_parameter`."""
        text = self._configuration.get_string(JOB_PARAMETERS, "")
        pairs = (pair.partition(":") for pair in text.split(",") if ":" in pair)
        return {key.strip(): value.strip() for key, _, value in pairs} | self._job_parameters

    def set_global_job_parameters(
        self, global_job_parameters_dict: Mapping[str, object]
    ) -> ExecutionConfig:
        if not isinstance(global_job_parameters_dict, Mapping):
            raise TypeMismatch(
                f"the job parameters are {global_job_parameters_dict!r}, which is not a dict",
                origin=calling_origin(),
            )
        self._job_parameters = {
            str(key): as_text(value) for key, value in global_job_parameters_dict.items()
        }
        return self

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Kept but without effect: Python functions travel with what they refer to."""
        self._configuration.set_string(CLOSURE_CLEANER, "RECURSIVE")
        return self

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Kept but without effect: Python functions travel with what they refer to."""
        self._configuration.set_string(CLOSURE_CLEANER, "NONE")
        return self

    def is_closure_cleaner_enabled(self) -> bool:
        return self._configuration.get_string(CLOSURE_CLEANER, "RECURSIVE") != "NONE"

    def enable_force_kryo(self) -> ExecutionConfig:
        raise _no_jvm_serializers("enable_force_kryo")

    def disable_force_kryo(self) -> ExecutionConfig:
        """Does nothing: Kryo is never used."""
        return self

    def is_force_kryo_enabled(self) -> bool:
        return False

    def enable_force_avro(self) -> ExecutionConfig:
        raise _no_jvm_serializers("enable_force_avro")

    def disable_force_avro(self) -> ExecutionConfig:
        """Does nothing: records are never Avro inside a job."""
        return self

    def is_force_avro_enabled(self) -> bool:
        return False

    def get_default_kryo_serializer_classes(self) -> dict[str, str]:
        """Always empty: there are no Java classes to serialize."""
        return {}

    def get_registered_kryo_types(self) -> list[str]:
        """Always empty: there are no Java classes to serialize."""
        return []

    def get_registered_pojo_types(self) -> list[str]:
        """Always empty: there are no Java classes to serialize."""
        return []

    def _millis(self, key: str, default: int) -> int:
        return self._configuration.get_duration(key, Duration.of_millis(default)).to_millis()

    def _set_millis(self, key: str, what: str, millis: int) -> ExecutionConfig:
        _require_between(what, millis, 0, None)
        self._configuration.set_duration(key, Duration.of_millis(millis))
        return self

    def _switch(self, key: str, on: bool) -> ExecutionConfig:
        self._configuration.set_boolean(key, on)
        return self

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ExecutionConfig)
            and self._configuration == other._configuration
            and self._job_parameters == other._job_parameters
        )

    def __hash__(self) -> int:
        return hash(self._configuration)


def _require_between(what: str, value: int, least: int, most: int | None) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeMismatch(f"{what} is {value!r}, which is not an int", origin=calling_origin())
    if value < least or (most is not None and value > most):
        limit = f"at least {least}" if most is None else f"between {least} and {most}"
        raise InvalidArgument(f"{what} must be {limit}, not {value}", origin=calling_origin())


def _no_jvm_serializers(method: str) -> Unsupported:
    return Unsupported(
        f"{method}() chooses a serializer for Java objects, and headrace's records are Python's",
        origin=calling_origin(),
        hint="Declare types with Types.…; values without one are pickled.",
    )
