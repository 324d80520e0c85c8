"""Writing files that appear whole, once per committed micro-batch."""

from __future__ import annotations

import copy
import uuid
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, NoReturn, Self

from headrace.connectors.argument_checks import require_instance, require_path, require_positive
from headrace.connectors.local_paths import local_path
from headrace.connectors.output_files import BucketAssigner, OutputFileConfig, RollingPolicy
from headrace.connectors.part_files import PartFileCommitter, PartFileWriter, PartNames
from headrace.core.operator import TaskInfo
from headrace.core.serialization import Encoder, SerializationSchema
from headrace.core.sink import Committer, Sink, SinkWriter
from headrace.core.types import TypeInformation
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.origin import calling_origin

__all__ = ["FileSink"]


class FileSinkBuilder(ABC):
    """Settings that file sinks of every format have."""

    def __init__(self, base_path: str):
        self._base_path = local_path(require_path(base_path, "a file sink"), "the base path")
        if self._base_path.exists() and not self._base_path.is_dir():
            raise InvalidArgument(
                f"the base path {base_path!r} of the file sink is a file, not a folder",
                origin=calling_origin(),
                hint="Give a folder: the sink writes several part files into it.",
            )
        self._assigner = BucketAssigner.date_time_bucket_assigner()
        self._policy: RollingPolicy = RollingPolicy.default_rolling_policy()
        self._names = OutputFileConfig()

    def with_bucket_check_interval(self, interval: int) -> Self:
        """Checked, not needed: every micro-batch closes its files."""
        require_positive(interval, "the bucket check interval in milliseconds")
        return self

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Self:
        self._assigner = require_instance(bucket_assigner, BucketAssigner, "with_bucket_assigner")
        return self

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
        self._policy = require_instance(rolling_policy, RollingPolicy, "with_rolling_policy")
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
        self._names = require_instance(
            output_file_config, OutputFileConfig, "with_output_file_config"
        )
        return self

    def enable_compact(self, strategy: object, compactor: object) -> NoReturn:
        raise Unsupported(
            "file sinks cannot compact their files yet",
            origin=calling_origin(),
            hint="Leave enable_compact out; longer micro-batches make larger files.",
        )

    def disable_compact(self) -> Self:
        return self

    @abstractmethod
    def build(self) -> FileSink:
        """The sink with these settings."""


class RowFileSinkBuilder(FileSinkBuilder):
    """Settings of a file sink of lines."""

    def __init__(self, base_path: str, encoder: Encoder | SerializationSchema):
        if not isinstance(encoder, (Encoder, SerializationSchema)):
            raise TypeMismatch(
                f"for_row_format takes an Encoder or a SerializationSchema, not {encoder!r}",
                origin=calling_origin(),
                hint="Encoder.simple_string_encoder() writes each record as text.",
            )
        super().__init__(base_path)
        self._encoder = encoder

    def build(self) -> FileSink:
        return FileSink(self._base_path, self._encoder, self._assigner, self._policy, self._names)


class FileSink(Sink[Any]):
    """Writes each record as a line of a part file; built with `for_row_format(...)...build()`.

    Part files are hidden while they are written. They get their name when the micro-batch is
    committed, and a batch that runs twice writes the same names, so nothing appears twice.
    """

    BaseBuilder = FileSinkBuilder
    RowFormatBuilder = RowFileSinkBuilder

    def __init__(
        self,
        base_path: Path,
        encoder: Encoder | SerializationSchema,
        assigner: BucketAssigner,
        policy: RollingPolicy,
        names: OutputFileConfig,
    ):
        self.base_path = base_path
        self.encoder = encoder
        self.assigner = assigner
        self.policy = policy
        self.names = names
        self.type_info: TypeInformation | None = None
        # Another run into the same folder adds files; it must not replace those of this one.
        self.run_id = uuid.uuid4().hex

    @staticmethod
    def for_row_format(
        base_path: str, encoder: Encoder | SerializationSchema
    ) -> RowFileSinkBuilder:
        """Lines of text below `base_path`; a serialization schema writes its bytes as a line."""
        return RowFileSinkBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: object) -> NoReturn:
        raise Unsupported(
            "bulk formats (Parquet, ORC, Avro, CSV writers) cannot be written yet",
            origin=calling_origin(),
            hint="Use FileSink.for_row_format(path, encoder).",
        )

    def with_type(self, type_info: TypeInformation | None) -> FileSink:
        """This sink for a stream of that type: the encoder writes values as the type says."""
        typed = copy.copy(self)
        typed.type_info = type_info
        return typed

    def create_writer(self, task: TaskInfo) -> SinkWriter[Any]:
        run_id = task.output_id or self.run_id
        names = PartNames(
            self.names.part_prefix,
            # Only the engine knows that a restarted program goes on with an earlier run.
            uuid.uuid5(uuid.NAMESPACE_OID, f"{run_id}/{task.uid}/{task.partition}").hex,
            task.batch_id,
            self.names.part_suffix,
        )
        return PartFileWriter(
            self.base_path, self._line_encoder(), self.assigner, self.policy.part_size, names
        )

    def create_committer(self) -> Committer[Any]:
        return PartFileCommitter()

    def _line_encoder(self) -> Any:
        encoder, type_info = self.encoder, self.type_info
        if isinstance(encoder, Encoder):
            charset = encoder.charset_name
            return lambda value: f"{encoder.encode(value, type_info)}\n".encode(charset)
        serialize = encoder.serialize

        def line(value: Any) -> bytes:
            text = serialize(value)
            return text if text.endswith(b"\n") else text + b"\n"

        return line
