"""StreamingFileSink: FileSink under the name it had before, for `add_sink`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from headrace.connectors.file_sink import (
    BulkFileSinkBuilder,
    FileSink,
    FileSinkBuilder,
    RowFileSinkBuilder,
)
from headrace.connectors.output_files import OnCheckpointRollingPolicy, RollingPolicy
from headrace.core.bulk_writing import BulkWriterFactory
from headrace.core.serialization import Encoder

__all__ = ["StreamingFileSink"]


class _Builder(FileSinkBuilder):
    """Settings that sinks of every format have."""

    @abstractmethod
    def with_rolling_policy(self, policy: Any) -> Self:
        """When a part is finished."""

    def build(self) -> StreamingFileSink:
        return StreamingFileSink(*self._parts())


class _RowBuilder(_Builder, RowFileSinkBuilder):
    """Settings of a sink of lines."""

    def with_rolling_policy(self, policy: RollingPolicy) -> Self:
        return RowFileSinkBuilder.with_rolling_policy(self, policy)


class _BulkBuilder(_Builder, BulkFileSinkBuilder):
    """Settings of a sink of a bulk format."""

    def with_rolling_policy(self, policy: OnCheckpointRollingPolicy) -> Self:
        return BulkFileSinkBuilder.with_rolling_policy(self, policy)


class StreamingFileSink(FileSink):
    """Writes the files that FileSink writes."""

    BaseBuilder = _Builder
    DefaultRowFormatBuilder = _RowBuilder
    DefaultBulkFormatBuilder = _BulkBuilder

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> _RowBuilder:  # type: ignore[override]
        return _RowBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory[Any]) -> _BulkBuilder:
        return _BulkBuilder(base_path, writer_factory)
