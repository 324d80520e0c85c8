"""Writing files that appear whole, each record once."""

from __future__ import annotations

import copy
import uuid
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

from headrace.connectors.argument_checks import require_instance, require_path, require_positive
from headrace.connectors.file_compaction import FileCompactor, FileCompactStrategy
from headrace.connectors.local_paths import local_path
from headrace.connectors.output_files import (
    BucketAssigner,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from headrace.connectors.part_committer import PartFileCommitter
from headrace.connectors.part_files import PartFileWriter, SegmentNames
from headrace.connectors.part_names import new_attempt, owner_of
from headrace.connectors.part_rules import CompactionRule, PartRule, RollingRule
from headrace.core.bulk_writing import BulkWriterFactory
from headrace.core.operator import TaskInfo
from headrace.core.serialization import Encoder, SerializationSchema
from headrace.core.sink import Committer, Sink, SinkWriter
from headrace.core.types import TypeInformation
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.formats.bulk_lines import EncodedLines
from headrace.origin import calling_origin

__all__ = ["FileSink"]

_CHECK_INTERVAL_MS = 60_000

Compaction = tuple[FileCompactStrategy, FileCompactor]


class FileSinkBuilder(ABC):
    """Settings that file sinks of every format have."""

    def __init__(self, base_path: str, factory: BulkWriterFactory[Any]):
        self._base_path = local_path(require_path(base_path, "a file sink"), "the base path")
        if self._base_path.exists() and not self._base_path.is_dir():
            raise InvalidArgument(
                f"the base path {base_path!r} of the file sink is a file, not a folder",
                origin=calling_origin(),
                hint="Give a folder: the sink writes several part files into it.",
            )
        self._factory = factory
        self._assigner = BucketAssigner.date_time_bucket_assigner()
        self._policy: RollingPolicy = RollingPolicy.default_rolling_policy()
        self._names = OutputFileConfig()
        self._check_interval_ms = _CHECK_INTERVAL_MS
        self._compaction: Compaction | None = None

    def with_bucket_check_interval(self, interval: int) -> Self:
        """How often, in milliseconds, the rolling policy is asked because of the time."""
        self._check_interval_ms = require_positive(
            interval, "the bucket check interval in milliseconds"
        )
        return self

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Self:
        self._assigner = require_instance(bucket_assigner, BucketAssigner, "with_bucket_assigner")
        return self

    @abstractmethod
    def with_rolling_policy(self, rolling_policy: Any) -> Self:
        """When a part is finished."""

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
        self._names = require_instance(
            output_file_config, OutputFileConfig, "with_output_file_config"
        )
        return self

    def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Self:
        """Make large files of small ones before they become visible."""
        self._compaction = (
            require_instance(
                strategy, FileCompactStrategy, "enable_compact",
                hint="FileCompactStrategy.builder().set_size_threshold(bytes).build()",
            ),
            require_instance(compactor, FileCompactor, "enable_compact").for_format(self._factory),
        )  # fmt: skip
        return self

    def disable_compact(self) -> Self:
        self._compaction = None
        return self

    def build(self) -> FileSink:
        return FileSink(*self._parts())

    def _parts(self) -> tuple[Any, ...]:
        """What a sink is made of."""
        return (
            self._base_path,
            self._factory,
            self._assigner,
            self._policy,
            self._names,
            self._check_interval_ms,
            self._compaction,
        )


class RowFileSinkBuilder(FileSinkBuilder):
    """Settings of a file sink of lines."""

    def __init__(self, base_path: str, encoder: Encoder | SerializationSchema):
        if not isinstance(encoder, (Encoder, SerializationSchema)):
            raise TypeMismatch(
                f"for_row_format takes an Encoder or a SerializationSchema, not {encoder!r}",
                origin=calling_origin(),
                hint="Encoder.simple_string_encoder() writes each record as text.",
            )
        super().__init__(base_path, EncodedLines(encoder))

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
        self._policy = require_instance(
            rolling_policy,
            RollingPolicy,  # type: ignore[type-abstract]
            "with_rolling_policy",
        )
        return self


class BulkFileSinkBuilder(FileSinkBuilder):
    """Settings of a file sink of a bulk format, whose files end with each checkpoint."""

    def __init__(self, base_path: str, writer_factory: BulkWriterFactory[Any]):
        factory: BulkWriterFactory[Any] = require_instance(
            writer_factory,
            BulkWriterFactory,  # type: ignore[type-abstract]
            "for_bulk_format",
            hint="For instance ParquetBulkWriters.for_row_type(...).",
        )
        super().__init__(base_path, factory)
        self._policy = RollingPolicy.on_checkpoint_rolling_policy()

    def with_rolling_policy(self, rolling_policy: OnCheckpointRollingPolicy) -> Self:
        self._policy = require_instance(
            rolling_policy, OnCheckpointRollingPolicy, "with_rolling_policy of a bulk format",
            hint="Use enable_compact(...) to make larger files.",
        )  # fmt: skip
        return self


class FileSink(Sink[Any]):
    """Writes records to part files; built with `for_row_format` or `for_bulk_format`.

    Files are hidden while they are written and until their checkpoint is complete. A part may
    gather the records of many checkpoints; it is visible once it is finished, and it never
    changes then.
    """

    BaseBuilder = FileSinkBuilder
    RowFormatBuilder = RowFileSinkBuilder
    BulkFormatBuilder = BulkFileSinkBuilder

    def __init__(
        self, base_path: Path, factory: BulkWriterFactory[Any], assigner: BucketAssigner,
        policy: RollingPolicy, names: OutputFileConfig, check_interval_ms: int,
        compaction: Compaction | None,
    ):  # fmt: skip
        self.base_path = base_path
        self.factory = factory
        self.assigner = assigner
        self.policy = policy
        self.names = names
        self.check_interval_ms = check_interval_ms
        self.compaction = compaction
        # Another run into the same folder adds files; it must let those of this one alone.
        self.run_id = uuid.uuid4().hex

    @staticmethod
    def for_row_format(
        base_path: str, encoder: Encoder | SerializationSchema
    ) -> RowFileSinkBuilder:
        """Lines of text below `base_path`; a serialization schema writes its bytes as a line."""
        return RowFileSinkBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(
        base_path: str, writer_factory: BulkWriterFactory[Any]
    ) -> BulkFileSinkBuilder:
        """Files of the factory's format below `base_path`."""
        return BulkFileSinkBuilder(base_path, writer_factory)

    def get_transformer(self) -> None:
        """Nothing is done to a stream before this sink."""

    def with_type(self, type_info: TypeInformation | None) -> FileSink:
        """This sink for a stream of that type, whose values are written as the type says."""
        typed = copy.copy(self)
        typed.factory = self.factory.with_type(type_info)
        return typed

    def create_writer(self, task: TaskInfo) -> SinkWriter[Any]:
        names = SegmentNames(
            self.names.part_prefix,
            # Only the engine knows that a restarted program goes on with an earlier run.
            owner_of(task, self.run_id),
            task.partition,
            task.batch_id,
            new_attempt(),
            self.names.part_suffix,
            isinstance(self.policy, OnCheckpointRollingPolicy) and self.compaction is None,
        )
        return PartFileWriter(
            self.base_path, self.factory, self.assigner, self.policy.part_size, names
        )

    def create_committer(self) -> Committer[Any]:
        rule: PartRule = RollingRule(self.policy)
        if self.compaction is not None:
            rule = CompactionRule(*self.compaction)
        return PartFileCommitter(self.base_path, self.run_id, rule, self.check_interval_ms)
