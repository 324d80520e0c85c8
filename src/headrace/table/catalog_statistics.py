"""What programs say of the sizes and values of tables. Spark looks for itself; it is only kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from headrace.core.table_connector import CatalogTable
from headrace.errors import PartitionNotExistException, TableNotExistException
from headrace.sql import catalog as sc
from headrace.table.catalog_objects import (
    CatalogColumnStatistics,
    CatalogPartitionSpec,
    CatalogTableStatistics,
)
from headrace.table.catalog_partitions import missing, place_of
from headrace.table.object_names import ObjectPath

_UNKNOWN = CatalogTableStatistics(-1, -1, -1, -1)
_NO_COLUMNS = CatalogColumnStatistics({})
_SIZES, _COLUMNS = "sizes", "columns"
S = TypeVar("S", CatalogTableStatistics, CatalogColumnStatistics)


class StatisticsMethods(ABC):
    """What a catalog keeps of statistics, for tables and for partitions."""

    catalog: sc.Catalog

    @abstractmethod
    def partition_exists(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> bool:
        """Of the catalog itself."""

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        return self._of_table(_SIZES, table_path, _UNKNOWN)

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        return self._of_table(_COLUMNS, table_path, _NO_COLUMNS)

    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        return self._of_partition(_SIZES, table_path, partition_spec, _UNKNOWN)

    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        return self._of_partition(_COLUMNS, table_path, partition_spec, _NO_COLUMNS)

    def bulk_get_partition_statistics(
        self, table_path: ObjectPath, partition_specs: Sequence[CatalogPartitionSpec]
    ) -> list[CatalogTableStatistics]:
        return [self.get_partition_statistics(table_path, each) for each in partition_specs]

    def bulk_get_partition_column_statistics(
        self, table_path: ObjectPath, partition_specs: Sequence[CatalogPartitionSpec]
    ) -> list[CatalogColumnStatistics]:
        return [self.get_partition_column_statistics(table_path, each) for each in partition_specs]

    def alter_table_statistics(
        self,
        table_path: ObjectPath,
        table_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        if self._has_table(table_path, ignore_if_not_exists):
            self._notes(table_path)[_SIZES, None] = table_statistics

    def alter_table_column_statistics(
        self,
        table_path: ObjectPath,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        if self._has_table(table_path, ignore_if_not_exists):
            self._notes(table_path)[_COLUMNS, None] = column_statistics

    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        if self._has_partition(table_path, partition_spec, ignore_if_not_exists):
            self._notes(table_path)[_SIZES, partition_spec] = partition_statistics

    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        if self._has_partition(table_path, partition_spec, ignore_if_not_exists):
            self._notes(table_path)[_COLUMNS, partition_spec] = column_statistics

    def _notes(self, path: ObjectPath) -> dict[Any, Any]:
        return self.catalog.notes(*place_of(path))

    def _of_table(self, kind: str, path: ObjectPath, unknown: S) -> S:
        """Of a partitioned table nothing is known, but of its partitions: as in Flink."""
        self._has_table(path, False)
        table = self.catalog.table(*place_of(path))
        if isinstance(table, CatalogTable) and table.partition_keys:
            return unknown
        return cast(S, self._notes(path).get((kind, None), unknown))

    def _of_partition(
        self, kind: str, path: ObjectPath, spec: CatalogPartitionSpec, unknown: S
    ) -> S:
        self._has_partition(path, spec, False)
        return cast(S, self._notes(path).get((kind, spec), unknown))

    def _has_table(self, path: ObjectPath, may_miss: bool) -> bool:
        found = self.catalog.table(*place_of(path)) is not None
        if not found and not may_miss:
            raise missing(TableNotExistException, "table", path)
        return found

    def _has_partition(self, path: ObjectPath, spec: CatalogPartitionSpec, may_miss: bool) -> bool:
        found = self.partition_exists(path, spec)
        if not found and not may_miss:
            raise missing(PartitionNotExistException, "partition", spec)
        return found
