"""StreamExecutionEnvironment: where a program begins and where it is executed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from headrace.connectors.file_source import FileSource
from headrace.core.config import Configuration
from headrace.core.execution_config import ExecutionConfig
from headrace.core.older_options import take_over
from headrace.core.source import CollectionSpec, SocketTextSpec, Source, SourceSpec, SplitSpec
from headrace.core.types import TypeInformation
from headrace.core.watermarks import WatermarkStrategy
from headrace.datastream.checkpoint_config import CheckpointConfig
from headrace.datastream.checkpointing_mode import CheckpointingMode
from headrace.datastream.checks import instance_of, type_info
from headrace.datastream.environment_settings import SettingsMixin
from headrace.datastream.execution_mode import RuntimeExecutionMode
from headrace.datastream.graph_builder import GraphBuilder
from headrace.datastream.source_stream import TimedSource
from headrace.datastream.state_backend import backend_choice
from headrace.datastream.stream import DataStream
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.formats.avro_records import AvroInputFormat
from headrace.graph.nodes import Graph, SourceNode
from headrace.jobs.client import JobClient
from headrace.jobs.execution_result import JobExecutionResult
from headrace.jobs.explain import execution_plan_json, explain
from headrace.jobs.launcher import JobSettings, launch
from headrace.jobs.recovery_settings import recovery_settings
from headrace.jobs.results import Collector
from headrace.origin import calling_origin
from headrace.plan.physical import PER_RECORD_WATERMARKS, WATERMARK_INTERVAL, PhysicalPlan
from headrace.plan.planner import logical_plan, plan
from headrace.runtime.backends import SETTING as STATE_BACKEND
from headrace.spark.dependencies import Dependencies
from headrace.spark.session import requested_options

_RUNTIME_MODE = "execution.runtime-mode"
_COMPACT_AT_BYTES = "headrace.state.compact-at-bytes"
"""How long a slot's log of changes grows before all its state is written anew."""
_DEFAULT_NAME = "Flink Streaming Job"


class StreamExecutionEnvironment(SettingsMixin):
    """Makes sources, holds a job's settings and executes it."""

    def __init__(self, configuration: Configuration | None = None):
        self.builder = GraphBuilder()
        self.configuration = Configuration()
        take_over(self.configuration, Configuration.from_dict(requested_options()))
        take_over(self.configuration, configuration or Configuration())
        self.config = ExecutionConfig(self.configuration)
        self.checkpoints = CheckpointConfig(self.configuration)
        self._usual = self._usual_parallelism()
        if self.config.get_parallelism() < 1:
            self.config.set_parallelism(self._usual)
        self._jobs = 0
        self._cached_files: dict[str, str] = {}

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None,
    ) -> StreamExecutionEnvironment:
        """An environment that runs jobs on Spark: the active session, or a local one."""
        return StreamExecutionEnvironment(configuration)

    # Sources.

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation | None = None
    ) -> DataStream:
        """A stream of values of this program; a list of one type, for instance."""
        if isinstance(collection, str | bytes) or not isinstance(collection, Iterable):
            raise TypeMismatch(
                f"from_collection() needs a list of records, not {type(collection).__name__}",
                origin=calling_origin(),
            )
        values = tuple(collection)
        declared = _checked_type(type_info, "from_collection")
        if declared is not None and (coerce := declared.coercer()) is not None:
            values = tuple(_coerced(values, coerce))
        return self._source("Source: Collection Source", CollectionSpec(values), declared)

    def from_source(
        self, source: Any, watermark_strategy: WatermarkStrategy, source_name: str,
        type_info: TypeInformation | None = None,
    ) -> DataStream:  # fmt: skip
        """A stream of what a source reads."""
        declared = _checked_type(type_info, "from_source")
        if isinstance(source, Source):
            spec: SourceSpec = SplitSpec(source)
        elif callable(getattr(source, "spec", None)):
            spec = source.spec()
        else:
            raise TypeMismatch(
                f"from_source() needs a source, not {source!r}", origin=calling_origin(),
                hint="Use FileSource, NumberSequenceSource, … or a subclass of "
                "headrace.datastream.connectors.Source.",
            )  # fmt: skip
        instance_of(watermark_strategy, WatermarkStrategy, "from_source")
        if declared is None and callable(getattr(source, "produced_type", None)):
            declared = source.produced_type()
        stream = self._source(f"Source: {source_name}", spec, declared)
        if watermark_strategy.alignment is not None and not isinstance(spec, SplitSpec):
            raise Unsupported(
                f"{source_name!r} cannot be aligned with other sources: it cannot be paused",
                origin=calling_origin(),
                hint="Alignment works for sources with splits; results do not depend on it.",
            )
        if watermark_strategy.kind == "none" and watermark_strategy.assigner is None:
            return stream
        return TimedSource(stream, stream.assign_timestamps_and_watermarks(watermark_strategy))

    def socket_text_stream(self, hostname: str, port: int) -> DataStream:
        """The lines a TCP server sends; what was read before a failure cannot be read again."""
        if not isinstance(port, int) or not 0 < port < 65536:
            raise InvalidArgument(f"{port!r} is no TCP port", origin=calling_origin())
        return self._source("Source: Socket Stream", SocketTextSpec(hostname, port), None)

    def _source(self, name: str, spec: SourceSpec, declared: TypeInformation | None) -> DataStream:
        return DataStream(self, self.builder.add(SourceNode, name, spec=spec, type=declared))

    def add_source(
        self, source_func: Any, source_name: str = "Custom Source",
        type_info: TypeInformation | None = None,
    ) -> DataStream:  # fmt: skip
        """A stream of a user-written source; SourceFunctions of the JVM cannot run here."""
        if isinstance(source_func, Source):
            no_time = WatermarkStrategy.no_watermarks()
            return self.from_source(source_func, no_time, source_name, type_info)
        raise Unsupported(
            f"{source_func!r} wraps a JVM source function", origin=calling_origin(),
            hint="Subclass headrace.datastream.connectors.Source and use from_source(...).",
        )  # fmt: skip

    def create_input(self, input_format: Any, type_info: TypeInformation | None = None) -> Any:
        """A stream of the records of AvroInputFormat; other input formats cannot run here."""
        if isinstance(input_format, AvroInputFormat):
            source = FileSource.for_bulk_file_format(input_format, input_format.path).build()
            no_time = WatermarkStrategy.no_watermarks()
            return self.from_source(source, no_time, "Avro files", type_info)
        raise Unsupported(
            "input formats wrap JVM classes", origin=calling_origin(),
            hint="Use FileSource or a subclass of headrace.datastream.connectors.Source.",
        )  # fmt: skip

    # Running.

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the job and wait for its end."""
        return self.launch(job_name).get_job_execution_result().result()

    def execute_async(self, job_name: str = _DEFAULT_NAME) -> JobClient:
        """Start the job and go on."""
        return self.launch(job_name)

    def launch(
        self, job_name: str | None = None, collectors: Mapping[int, Collector] | None = None,
        roots: Iterable[int] | None = None,
    ) -> JobClient:  # fmt: skip
        """Start a job of all that is pending, or only of the nodes `roots` and what they read."""
        graph = self.builder.take(job_name or _DEFAULT_NAME, roots, **self._graph_settings())
        self._jobs += 1
        physical = self._plan(graph)
        listeners = {_moved(graph, physical, id): each
                     for id, each in (collectors or {}).items()}  # fmt: skip
        return launch(physical, self._job_settings(), listeners)

    def _plan(self, graph: Graph) -> PhysicalPlan:
        return plan(graph)

    def _graph_settings(self) -> dict[str, Any]:
        return {
            "parallelism": self.get_parallelism(),
            "max_parallelism": self._max_parallelism_or_default(),
            "batch": self._runs_as_batch(),
            "chaining": self.is_chaining_enabled(),
            "settings": self._task_settings(),
        }

    def _task_settings(self) -> dict[str, Any]:
        """What tasks want to know of the configuration."""
        settings: dict[str, Any] = {
            "job_parameters": self.config.get_global_job_parameters(),
            PER_RECORD_WATERMARKS: self.config.get_auto_watermark_interval() == 0,
            WATERMARK_INTERVAL: self.config.get_auto_watermark_interval(),
            STATE_BACKEND: backend_choice(self.configuration),
        }
        if self.configuration.contains_key(_COMPACT_AT_BYTES):
            settings["compact_at_bytes"] = self.configuration.get_integer(_COMPACT_AT_BYTES, 0)
        return settings

    def _runs_as_batch(self) -> bool:
        mode = self.configuration.get_string(_RUNTIME_MODE, RuntimeExecutionMode.STREAMING.name)
        if mode.upper() == RuntimeExecutionMode.AUTOMATIC.name:
            return self.builder.is_bounded()
        if mode.upper() == RuntimeExecutionMode.BATCH.name and not self.builder.is_bounded():
            raise InvalidArgument(
                "BATCH mode needs sources that end, and one of this job's does not",
                origin=calling_origin(), hint="Use RuntimeExecutionMode.STREAMING.",
            )  # fmt: skip
        return mode.upper() == RuntimeExecutionMode.BATCH.name

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """STREAMING: every update is a result. BATCH: only final ones, for bounded input."""
        mode = instance_of(execution_mode, RuntimeExecutionMode, "set_runtime_mode")
        self.configuration.set_string(_RUNTIME_MODE, mode.name)
        return self

    def _job_settings(self) -> JobSettings:
        spark = {key.removeprefix("headrace."): value
                 for key, value in self.configuration.to_dict().items()
                 if key.startswith("headrace.spark.")}  # fmt: skip
        return JobSettings(
            spark=spark,
            dependencies=Dependencies.configured(self.configuration, self._cached_files),
            stream=self._stream_settings(),
            as_stream=os.environ.get("HEADRACE_MODE") == "stream"
            or self.checkpoints.is_checkpointing_enabled()
            or recovery_settings(self.configuration).path is not None,
            checkpointing=self.checkpoints.is_checkpointing_enabled(),
            retention=self._retention(),
            configuration=self.configuration,
        )

    def get_execution_plan(self) -> str:
        """The stream graph as JSON, in the form Flink's plan viewer reads."""
        graph = self.builder.peek(_DEFAULT_NAME, **self._graph_settings())
        return execution_plan_json(logical_plan(graph))

    def explain(self) -> str:
        """Stream graph, job graph and Spark plan as text."""
        graph = self.builder.peek(_DEFAULT_NAME, **self._graph_settings())
        return explain(logical_plan(graph), self._plan(graph), self._job_settings())

    def get_config(self) -> ExecutionConfig:
        return self.config

    def get_checkpoint_config(self) -> CheckpointConfig:
        return self.checkpoints

    def get_checkpointing_mode(self) -> CheckpointingMode:
        return self.checkpoints.get_checkpointing_mode()

    def get_parallelism(self) -> int:
        """How many subtasks operators have: what was set last, in whatever way."""
        return max(self.config.get_parallelism(), 0) or self._usual

    def close(self) -> None:
        """Forget what was not executed."""
        self.builder = GraphBuilder()


def _checked_type(declared: Any, method: str) -> TypeInformation | None:
    return type_info(declared, method)


def _coerced(values: tuple[Any, ...], coerce: Any) -> Iterable[Any]:
    for position, value in enumerate(values):
        try:
            yield coerce(value)
        except TypeMismatch as error:
            raise TypeMismatch(
                f"record {position} of the collection: {error.message}",
                origin=calling_origin(), hint=error.hint,
            ) from None  # fmt: skip


def _moved(graph: Graph, physical: PhysicalPlan, node_id: int) -> int:
    """The vertex a sink node became: planning renumbers nodes but keeps their order."""
    real = [node.id for node in graph if not node.virtual]
    return sorted(physical.vertices)[real.index(node_id)]
