"""Catalogs as programs see them, over `headrace.sql.catalog`."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.core.config import Configuration
from headrace.errors import (
    CatalogException,
    DatabaseAlreadyExistException,
    DatabaseNotEmptyException,
    DatabaseNotExistException,
    FunctionAlreadyExistException,
    FunctionNotExistException,
    InvalidArgument,
    TableAlreadyExistException,
    TableNotExistException,
    Unsupported,
)
from headrace.origin import calling_origin
from headrace.sql import catalog as sc
from headrace.sql.catalog_manager import CATALOG_TYPES
from headrace.table.catalog_models import ModelMethods
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
from headrace.table.catalog_partitions import PartitionMethods, missing, present
from headrace.table.catalog_statistics import StatisticsMethods
from headrace.table.object_names import ObjectIdentifier, ObjectPath, require_name
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
from headrace.table.spark_catalog import jdbc_catalog

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


class Catalog(PartitionMethods, StatisticsMethods, ModelMethods):
    """Databases with tables, views, partitions and functions."""

    def __init__(self, catalog: sc.Catalog) -> None:
        self.catalog = catalog

    @staticmethod
    def of_type(kind: str, **options: str) -> Catalog:
        """A catalog of a kind: `generic_in_memory` or `filesystem`."""
        made = CATALOG_TYPES.get(kind)
        if made is None:
            raise missing(InvalidArgument, "type of catalogs", kind)
        return Catalog(made(options))

    def get_default_database(self) -> str:
        return self.catalog.default_database

    # Databases.

    def list_databases(self) -> list[str]:
        return list(self.catalog.databases())

    def get_database(self, database_name: str) -> CatalogDatabase:
        found = self.catalog.database(database_name)
        if found is None:
            raise missing(DatabaseNotExistException, "database", database_name)
        return CatalogDatabase(found)

    def database_exists(self, database_name: str) -> bool:
        return self.catalog.database(database_name) is not None

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        if not self.database_exists(require_name(name, "database")):
            self.catalog.put_database(name, database.database)
        elif not ignore_if_exists:
            raise present(DatabaseAlreadyExistException, "database", name)

    def drop_database(self, name: str, ignore_if_exists: bool) -> None:
        """Drop an empty database; of one that is not there nothing is said if it may be missing."""
        if self.database_exists(name):
            held = (*self.catalog.tables(name), *self.catalog.functions(name))
            if held or self.list_models(name):
                raise DatabaseNotEmptyException(
                    f"database {name} is not empty", origin=calling_origin()
                )
            self.catalog.drop_database(name)
        elif not ignore_if_exists:
            raise missing(DatabaseNotExistException, "database", name)

    def alter_database(
        self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool
    ) -> None:
        if self.database_exists(name):
            self.catalog.put_database(name, new_database.database)
        elif not ignore_if_not_exists:
            raise missing(DatabaseNotExistException, "database", name)

    # Tables and views.

    def list_tables(self, database_name: str) -> list[str]:
        self.get_database(database_name)
        return list(self.catalog.tables(database_name))

    def list_views(self, database_name: str) -> list[str]:
        self.get_database(database_name)
        return list(self.catalog.views(database_name))

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """There are none."""
        self.get_database(database_name)
        return []

    def _table(self, path: ObjectPath) -> sc.CatalogObject | None:
        return self.catalog.table(path.get_database_name(), path.get_object_name())

    def _put(self, path: ObjectPath, table: sc.CatalogObject) -> None:
        self.catalog.put_table(path.get_database_name(), path.get_object_name(), table)

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        found = self._table(table_path)
        if found is None:
            raise missing(TableNotExistException, "table", table_path)
        return CatalogBaseTable(found)

    def table_exists(self, table_path: ObjectPath) -> bool:
        return self._table(table_path) is not None

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if self.table_exists(table_path):
            self.catalog.drop_table(table_path.get_database_name(), table_path.get_object_name())
        elif not ignore_if_not_exists:
            raise missing(TableNotExistException, "table", table_path)

    def rename_table(
        self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool
    ) -> None:
        database, name = table_path.get_database_name(), table_path.get_object_name()
        if not self.table_exists(table_path):
            if ignore_if_not_exists:
                return
            raise missing(TableNotExistException, "table", table_path)
        if self.table_exists(ObjectPath(database, new_table_name)):
            raise present(TableAlreadyExistException, "table", new_table_name)
        self.catalog.rename_table(database, name, new_table_name)

    def create_table(
        self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool
    ) -> None:
        self.get_database(table_path.get_database_name())
        if not self.table_exists(table_path):
            self._put(table_path, table.table)
        elif not ignore_if_exists:
            raise present(TableAlreadyExistException, "table", table_path)

    def alter_table(
        self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool
    ) -> None:
        found = self._table(table_path)
        if found is not None:
            if isinstance(found, sc.CatalogView) != isinstance(new_table.table, sc.CatalogView):
                raise CatalogException(
                    f"{table_path} cannot be changed from a table to a view or back",
                    origin=calling_origin(),
                    hint="Drop it and create it anew.",
                )
            self._put(table_path, new_table.table)
        elif not ignore_if_not_exists:
            raise missing(TableNotExistException, "table", table_path)

    # Functions and procedures.

    def list_functions(self, database_name: str) -> list[str]:
        self.get_database(database_name)
        return list(self.catalog.functions(database_name))

    def _function(self, path: ObjectPath) -> sc.CatalogFunction | None:
        return self.catalog.function(path.get_database_name(), path.get_object_name().lower())

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        found = self._function(function_path)
        if found is None:
            raise missing(FunctionNotExistException, "function", function_path)
        return CatalogFunction(found)

    def function_exists(self, function_path: ObjectPath) -> bool:
        return self._function(function_path) is not None

    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        self.get_database(function_path.get_database_name())
        if not self.function_exists(function_path):
            self._put_function(function_path, function)
        elif not ignore_if_exists:
            raise present(FunctionAlreadyExistException, "function", function_path)

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        if self.function_exists(function_path):
            self._put_function(function_path, new_function)
        elif not ignore_if_not_exists:
            raise missing(FunctionNotExistException, "function", function_path)

    def _put_function(self, path: ObjectPath, function: CatalogFunction) -> None:
        name = path.get_object_name().lower()
        self.catalog.put_function(path.get_database_name(), name, function.function)

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if self.function_exists(function_path):
            name = function_path.get_object_name().lower()
            self.catalog.drop_function(function_path.get_database_name(), name)
        elif not ignore_if_not_exists:
            raise missing(FunctionNotExistException, "function", function_path)

    def list_procedures(self, database_name: str) -> list[str]:
        self.get_database(database_name)
        return list(self.catalog.procedures(database_name))

    def get_procedure(self, procedure_path: ObjectPath) -> Procedure:
        found = self.catalog.procedure(
            procedure_path.get_database_name(), procedure_path.get_object_name()
        )
        if found is None:
            raise missing(InvalidArgument, "procedure", procedure_path)
        return Procedure(found)


class HiveCatalog(Catalog):
    """Hive's catalog, which is reached through Spark."""

    def __init__(
        self,
        catalog_name: str,
        default_database: str | None = None,
        hive_conf_dir: str | None = None,
        hadoop_conf_dir: str | None = None,
        hive_version: str | None = None,
    ) -> None:
        raise Unsupported(
            "Hive catalogs are those of the Spark session",
            origin=calling_origin(),
            hint="Start Spark with Hive, and CREATE CATALOG … WITH ('type' = 'hive').",
        )


class JdbcCatalog(Catalog):
    """The databases of a server and their tables, as of CREATE CATALOG with the type `jdbc`."""

    def __init__(
        self, catalog_name: str, default_database: str, username: str, pwd: str, base_url: str
    ) -> None:
        options = {
            "name": require_name(catalog_name, "catalog"),
            "default-database": require_name(default_database, "database"),
            "username": username,
            "password": pwd,
            "base-url": base_url,
        }
        super().__init__(jdbc_catalog(options))
