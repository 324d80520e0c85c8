"""Tables that Spark's catalogs know, under a catalog of the session: Hive's and JDBC's, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.logical_types import RowType
from headrace.core.table_connector import (
    CatalogTable,
    TableColumn,
    TableConnector,
    TableSchema,
    TableSink,
    TableSource,
)
from headrace.errors import InvalidArgument, Unsupported
from headrace.spark.catalogs import SparkCatalogs
from headrace.sql.catalog import (
    Catalog,
    CatalogDatabase,
    CatalogFunction,
    CatalogObject,
    CatalogView,
)
from headrace.table.jdbc_catalog import SERVED, JdbcServerCatalog

_JDBC = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"


@dataclass(frozen=True)
class SparkTable(TableConnector):
    """A table by its path in one of Spark's catalogs."""

    identifier: str
    catalogs: SparkCatalogs
    database: str
    table: str

    def source(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSource:
        return SparkTableSource(self, row.names)

    def sink(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSink:
        return SparkTableSink(self)


@dataclass(frozen=True)
class SparkTableSource(TableSource):
    """Read by Spark itself."""

    table: SparkTable
    wanted: tuple[str, ...]

    def native(self, session: Any, files: list[str] | None = None) -> Any:
        it = self.table
        frame = it.catalogs.read(session, it.database, it.table)
        return frame.select(*(f"`{name}`" for name in self.wanted))

    def with_projection(self, columns: tuple[int, ...]) -> TableSource:
        return SparkTableSource(self.table, tuple(self.wanted[at] for at in columns))


@dataclass(frozen=True)
class SparkTableSink(TableSink):
    """Written by Spark itself, by queries over tables that end."""

    table: SparkTable
    overwrite: bool = False

    def overwriting(self) -> TableSink:
        return SparkTableSink(self.table, True)

    def native(self, frame: Any) -> Callable[[], None]:
        it = self.table
        return lambda: it.catalogs.write(frame, it.database, it.table, self.overwrite)

    def operator(self) -> Any:
        raise Unsupported(
            "a table of Spark's catalogs can only be written by a query over tables that end",
            hint="Write a stream to files, or to a connector with an exactly-once sink.",
        )


class SparkCatalog(Catalog):
    """A view on one of Spark's catalogs. Functions are kept in memory."""

    def __init__(
        self, name: str, settings: Mapping[str, str], default_database: str,
        options: Mapping[str, str],
    ):  # fmt: skip
        super().__init__(default_database, options)
        self._catalogs = SparkCatalogs(name, settings)
        self._functions: dict[tuple[str, str], CatalogFunction] = {}

    def databases(self) -> Sequence[str]:
        return self._catalogs.databases()

    def database(self, name: str) -> CatalogDatabase | None:
        return CatalogDatabase() if name in self.databases() else None

    def put_database(self, name: str, database: CatalogDatabase) -> None:
        self._catalogs.run(f"CREATE NAMESPACE {self._catalogs.path(name)}")

    def drop_database(self, name: str) -> None:
        self._catalogs.run(f"DROP NAMESPACE {self._catalogs.path(name)} CASCADE")

    def tables(self, database: str) -> Sequence[str]:
        return self._catalogs.tables(database)

    def table(self, database: str, name: str) -> CatalogObject | None:
        fields = self._catalogs.columns(database, name)
        if fields is None:
            return None
        schema = TableSchema(tuple(TableColumn(field) for field in fields))
        connector = SparkTable("spark", self._catalogs, database, name)
        return CatalogTable(schema, {"connector": "spark"}, connector=connector)

    def put_table(self, database: str, name: str, table: CatalogObject) -> None:
        if isinstance(table, CatalogView) or table.options.get("connector", "spark") != "spark":
            raise Unsupported(
                f"{database}.{name} cannot be kept in one of Spark's catalogs",
                hint="Create it in another catalog, or leave out 'connector'.",
            )
        if any(not column.physical for column in table.schema.columns):
            raise Unsupported(f"{database}.{name}: Spark's tables have no computed columns")
        fields = [column.field for column in table.schema.columns]
        self._catalogs.create_table(database, name, fields, table.options.get("using", ""))

    def drop_table(self, database: str, name: str) -> None:
        self._catalogs.run(f"DROP TABLE {self._catalogs.path(database, name)}")

    def functions(self, database: str) -> Sequence[str]:
        return sorted(name for place, name in self._functions if place == database)

    def function(self, database: str, name: str) -> CatalogFunction | None:
        return self._functions.get((database, name))

    def put_function(self, database: str, name: str, function: CatalogFunction) -> None:
        self._functions[database, name] = function

    def drop_function(self, database: str, name: str) -> None:
        del self._functions[database, name]


def spark_catalog(options: Mapping[str, str]) -> Catalog:
    """CREATE CATALOG … WITH ('type' = 'spark' or 'hive', 'name' = 'spark_catalog')."""
    settings = {
        key: value for key, value in options.items() if key.startswith("spark.sql.catalog.")
    }
    name = options.get("name", "spark_catalog")
    return SparkCatalog(name, settings, options.get("default-database", "default"), options)


def jdbc_catalog(options: Mapping[str, str]) -> Catalog:
    """CREATE CATALOG … WITH ('type' = 'jdbc', 'base-url' = 'jdbc:…', …); of databases that have no
    driver here, through Spark's."""
    url = options.get("base-url")
    if url is None:
        raise InvalidArgument(
            "a catalog of type jdbc needs 'base-url'", hint="Add 'base-url' = 'jdbc:…'."
        )
    if url.startswith(SERVED):
        user, password = options.get("username", ""), options.get("password", "")
        return JdbcServerCatalog(url, user, password, options)
    name = options.get("name", "headrace_jdbc")
    prefix = f"spark.sql.catalog.{name}"
    settings = {prefix: _JDBC, f"{prefix}.url": url}
    for given, wanted in (("username", "user"), ("password", "password"), ("driver", "driver")):
        if given in options:
            settings[f"{prefix}.{wanted}"] = options[given]
    return SparkCatalog(name, settings, options.get("default-database", "public"), options)
