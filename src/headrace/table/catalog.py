"""Catalogs as programs see them, over `headrace.sql.catalog`."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.core.config import Configuration
from headrace.errors import InvalidArgument, Unsupported
from headrace.origin import calling_origin
from headrace.sql import catalog as sc
from headrace.sql.catalog_manager import CATALOG_TYPES
from headrace.table.catalog_objects import (
    CatalogBaseTable,
    CatalogColumnStatistics,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTableStatistics,
    Procedure,
)
from headrace.table.object_names import ObjectIdentifier, ObjectPath
from headrace.table.resolved_schema import (
    Column,
    ComputedColumn,
    Constraint,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)

__all__ = [
    "Catalog",
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTableStatistics",
    "Column",
    "ComputedColumn",
    "Constraint",
    "HiveCatalog",
    "JdbcCatalog",
    "MetadataColumn",
    "ObjectIdentifier",
    "ObjectPath",
    "PhysicalColumn",
    "Procedure",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]


class CatalogDescriptor:
    """A catalog's name, options and comment."""

    def __init__(self, name: str, options: Mapping[str, str], comment: str | None = None) -> None:
        self.name = name
        self.options = dict(options)
        self.comment = comment

    @staticmethod
    def of(
        catalog_name: str, configuration: Configuration, comment: str | None = None
    ) -> CatalogDescriptor:
        return CatalogDescriptor(catalog_name, configuration.to_dict(), comment)


def _missing(what: str, name: object) -> InvalidArgument:
    return InvalidArgument(f"there is no {what} {name}", origin=calling_origin())


def _exists(what: str, name: object) -> InvalidArgument:
    return InvalidArgument(f"there is a {what} {name} already", origin=calling_origin())


class Catalog:
    """Databases with tables, views, partitions and functions."""

    def __init__(self, catalog: sc.Catalog) -> None:
        self.catalog = catalog

    @staticmethod
    def of_type(kind: str, **options: str) -> Catalog:
        """A catalog of a kind: `generic_in_memory` or `filesystem`."""
        made = CATALOG_TYPES.get(kind)
        if made is None:
            raise _missing("type of catalogs", kind)
        return Catalog(made(options))

    def get_default_database(self) -> str:
        return self.catalog.default_database

    # Databases.

    def list_databases(self) -> list[str]:
        return list(self.catalog.databases())

    def get_database(self, database_name: str) -> CatalogDatabase:
        found = self.catalog.database(database_name)
        if found is None:
            raise _missing("database", database_name)
        return CatalogDatabase(found)

    def database_exists(self, database_name: str) -> bool:
        return self.catalog.database(database_name) is not None

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        if not self.database_exists(name):
            self.catalog.put_database(name, database.database)
        elif not ignore_if_exists:
            raise _exists("database", name)

    def drop_database(self, name: str, ignore_if_not_exists: bool) -> None:
        if self.database_exists(name):
            if self.catalog.tables(name):
                raise InvalidArgument(f"database {name} is not empty", origin=calling_origin())
            self.catalog.drop_database(name)
        elif not ignore_if_not_exists:
            raise _missing("database", name)

    def alter_database(
        self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool
    ) -> None:
        if self.database_exists(name):
            self.catalog.put_database(name, new_database.database)
        elif not ignore_if_not_exists:
            raise _missing("database", name)

    # Tables and views.

    def list_tables(self, database_name: str) -> list[str]:
        self.get_database(database_name)
        return list(self.catalog.tables(database_name))

    def list_views(self, database_name: str) -> list[str]:
        self.get_database(database_name)
        return list(self.catalog.views(database_name))

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """There are none."""
        return []

    def _table(self, path: ObjectPath) -> sc.CatalogObject | None:
        return self.catalog.table(path.get_database_name(), path.get_object_name())

    def _put(self, path: ObjectPath, table: sc.CatalogObject) -> None:
        self.catalog.put_table(path.get_database_name(), path.get_object_name(), table)

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        found = self._table(table_path)
        if found is None:
            raise _missing("table", table_path)
        return CatalogBaseTable(found)

    def table_exists(self, table_path: ObjectPath) -> bool:
        return self._table(table_path) is not None

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if self.table_exists(table_path):
            self.catalog.drop_table(table_path.get_database_name(), table_path.get_object_name())
        elif not ignore_if_not_exists:
            raise _missing("table", table_path)

    def rename_table(
        self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool
    ) -> None:
        database, name = table_path.get_database_name(), table_path.get_object_name()
        if not self.table_exists(table_path):
            if ignore_if_not_exists:
                return
            raise _missing("table", table_path)
        if self.table_exists(ObjectPath(database, new_table_name)):
            raise _exists("table", new_table_name)
        self.catalog.rename_table(database, name, new_table_name)

    def create_table(
        self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool
    ) -> None:
        self.get_database(table_path.get_database_name())
        if not self.table_exists(table_path):
            self._put(table_path, table.table)
        elif not ignore_if_exists:
            raise _exists("table", table_path)

    def alter_table(
        self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool
    ) -> None:
        if self.table_exists(table_path):
            self._put(table_path, new_table.table)
        elif not ignore_if_not_exists:
            raise _missing("table", table_path)

    # Partitions.

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        """The partitions that agree with a part of a specification."""
        wanted = {} if partition_spec is None else partition_spec.get_partition_spec()
        self._check_partition(table_path, wanted, partial=True)
        found = self.catalog.partitions(
            table_path.get_database_name(), table_path.get_object_name()
        )
        return [
            CatalogPartitionSpec(dict(each)) for each in found if wanted.items() <= each.items()
        ]

    def _check_partition(
        self, path: ObjectPath, spec: Mapping[str, str], *, partial: bool = False
    ) -> None:
        table = self._table(path)
        if table is None:
            raise _missing("table", path)
        fault = sc.find_partition_fault(table, spec, partial=partial)
        if fault is not None:
            raise InvalidArgument(
                f"table {path} has no partition {dict(spec)}: {fault}", origin=calling_origin()
            )

    def _partition(self, path: ObjectPath, spec: CatalogPartitionSpec) -> Mapping[str, str] | None:
        if not self.table_exists(path):
            return None
        return self.catalog.partition(
            path.get_database_name(), path.get_object_name(), spec.get_partition_spec()
        )

    def get_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogPartition:
        found = self._partition(table_path, partition_spec)
        if found is None:
            raise _missing("partition", partition_spec)
        return CatalogPartition(dict(found))

    def partition_exists(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> bool:
        return self._partition(table_path, partition_spec) is not None

    def create_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition, ignore_if_exists: bool,
    ) -> None:  # fmt: skip
        self._check_partition(table_path, partition_spec.get_partition_spec())
        if not self.partition_exists(table_path, partition_spec):
            self._put_partition(table_path, partition_spec, partition)
        elif not ignore_if_exists:
            raise _exists("partition", partition_spec)

    def alter_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition, ignore_if_not_exists: bool,
    ) -> None:  # fmt: skip
        if self.partition_exists(table_path, partition_spec):
            self._put_partition(table_path, partition_spec, new_partition)
        elif not ignore_if_not_exists:
            raise _missing("partition", partition_spec)

    def _put_partition(
        self, path: ObjectPath, spec: CatalogPartitionSpec, partition: CatalogPartition
    ) -> None:
        self.catalog.put_partition(
            path.get_database_name(), path.get_object_name(), spec.get_partition_spec(),
            partition.get_properties(),
        )  # fmt: skip

    def drop_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec,
        ignore_if_not_exists: bool,
    ) -> None:  # fmt: skip
        if self.partition_exists(table_path, partition_spec):
            self.catalog.drop_partition(
                table_path.get_database_name(), table_path.get_object_name(),
                partition_spec.get_partition_spec(),
            )  # fmt: skip
        elif not ignore_if_not_exists:
            raise _missing("partition", partition_spec)

    # Functions and procedures.

    def list_functions(self, database_name: str) -> list[str]:
        return list(self.catalog.functions(database_name))

    def _function(self, path: ObjectPath) -> sc.CatalogFunction | None:
        return self.catalog.function(path.get_database_name(), path.get_object_name().lower())

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        found = self._function(function_path)
        if found is None:
            raise _missing("function", function_path)
        return CatalogFunction(found)

    def function_exists(self, function_path: ObjectPath) -> bool:
        return self._function(function_path) is not None

    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        if not self.function_exists(function_path):
            self._put_function(function_path, function)
        elif not ignore_if_exists:
            raise _exists("function", function_path)

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        if self.function_exists(function_path):
            self._put_function(function_path, new_function)
        elif not ignore_if_not_exists:
            raise _missing("function", function_path)

    def _put_function(self, path: ObjectPath, function: CatalogFunction) -> None:
        name = path.get_object_name().lower()
        self.catalog.put_function(path.get_database_name(), name, function.function)

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if self.function_exists(function_path):
            name = function_path.get_object_name().lower()
            self.catalog.drop_function(function_path.get_database_name(), name)
        elif not ignore_if_not_exists:
            raise _missing("function", function_path)

    def list_procedures(self, database_name: str) -> list[str]:
        return list(self.catalog.procedures(database_name))

    def get_procedure(self, procedure_path: ObjectPath) -> Procedure:
        found = self.catalog.procedure(
            procedure_path.get_database_name(), procedure_path.get_object_name()
        )
        if found is None:
            raise _missing("procedure", procedure_path)
        return Procedure(found)

    # Statistics: Spark reads them itself where a plan depends on them.

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        """Nothing is known."""
        self.get_table(table_path)
        return CatalogTableStatistics()

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        """Nothing is known."""
        self.get_table(table_path)
        return CatalogColumnStatistics()


class HiveCatalog(Catalog):
    """Hive's catalog, which is reached through Spark."""

    def __init__(
        self, catalog_name: str, default_database: str | None = None,
        hive_conf_dir: str | None = None, hadoop_conf_dir: str | None = None,
        hive_version: str | None = None,
    ) -> None:  # fmt: skip
        raise Unsupported(
            "Hive catalogs are not there", origin=calling_origin(),
            hint="Use a catalog of type generic_in_memory or filesystem.",
        )  # fmt: skip


class JdbcCatalog(Catalog):
    """A database's catalog, which is not there."""

    def __init__(
        self, catalog_name: str, default_database: str, username: str, pwd: str, base_url: str
    ) -> None:
        raise Unsupported(
            "JDBC catalogs are not there", origin=calling_origin(),
            hint="Use a catalog of type generic_in_memory or filesystem.",
        )  # fmt: skip
