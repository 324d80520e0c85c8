"""Tables of databases: 'connector' = 'jdbc'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.connectors.jdbc.addresses import parse_address
from headrace.connectors.jdbc.conditions import write_condition
from headrace.connectors.jdbc.databases import Database, open_database
from headrace.connectors.jdbc.exactly_once import ExactlyOnceSink
from headrace.connectors.jdbc.looking_up import JdbcLookup
from headrace.connectors.jdbc.options import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
)
from headrace.connectors.jdbc.scanning import JdbcScan, Partitions, TableQuery
from headrace.connectors.jdbc.sink import JdbcSink
from headrace.connectors.jdbc.statements import parse_statement
from headrace.connectors.jdbc.table_values import check_types, outward
from headrace.connectors.jdbc.work import ChangesWork
from headrace.connectors.tables.lookup_options import lookup_cache
from headrace.connectors.tables.options import Options
from headrace.core.expressions import Expression
from headrace.core.logical_types import NUMERIC, RowType
from headrace.core.source import SplitSpec
from headrace.core.table_connector import (
    APPEND,
    CatalogTable,
    ChangelogMode,
    TableConnector,
    TableSink,
    TableSource,
)
from headrace.errors import InvalidArgument, Unsupported
from headrace.operators.sinks import WriteOperator
from headrace.operators.table.full_cache import FullCacheOptions
from headrace.operators.table.lookup_cache import PartialCacheOptions

_ONCE, _AT_LEAST_ONCE = "exactly-once", "at-least-once"


@dataclass(frozen=True)
class JdbcTableSource(TableSource):
    """A table of a database: all of its rows, or those of a key."""

    connection: JdbcConnectionOptions
    query: TableQuery
    partitions: Partitions | None = None
    fetch_size: int = 0
    cache: PartialCacheOptions | FullCacheOptions | None = None
    max_retries: int = 3

    def reader(self) -> SplitSpec:
        scan = JdbcScan(self.connection, self.query, self.partitions, self.fetch_size)
        return SplitSpec(scan)

    def lookup(self, keys: tuple[int, ...]) -> JdbcLookup:
        return JdbcLookup(self.connection, self.query, keys, self.max_retries)

    def with_projection(self, columns: tuple[int, ...]) -> TableSource:
        query = replace(
            self.query,
            columns=tuple(self.query.columns[at] for at in columns),
            types=tuple(self.query.types[at] for at in columns),
        )
        return replace(self, query=query)

    def with_filter(self, conditions: tuple[Expression, ...]) -> tuple[TableSource, Any] | None:
        database = open_database(self.connection)
        parts = [self.query.condition] if self.query.condition else []
        values = list(self.query.values)
        for condition in conditions:
            written = write_condition(condition, self.query.columns, database)
            if written is not None:
                parts.append(written[0])
                values += written[1]
        query = replace(self.query, condition=" AND ".join(parts), values=tuple(values))
        if query == self.query:
            return None
        return replace(self, query=query), conditions


@dataclass(frozen=True)
class JdbcTableSink(TableSink):
    """Rows are added; those of a table with a primary key replace the ones of their key."""

    connection: JdbcConnectionOptions
    execution: JdbcExecutionOptions
    table: str
    row: RowType
    key: tuple[str, ...] = ()
    once: bool = False

    def accepts(self, wanted: ChangelogMode) -> ChangelogMode:
        if not self.key or wanted.insert_only:
            return APPEND
        return ChangelogMode(updates_after=True, deletes=True, key=wanted.key, deletes_by_key=True)

    def operator(self) -> WriteOperator:
        work = self._work(open_database(self.connection))
        if self.once:
            return WriteOperator(
                ExactlyOnceSink(
                    work, self.connection, self.execution, JdbcExactlyOnceOptions.defaults()
                )
            )
        return WriteOperator(JdbcSink(work, self.connection, self.execution))

    def _work(self, database: Database) -> ChangesWork:
        kind, names = database.address.kind, self.row.names
        insert, delete = database.insert(self.table, names), None
        if self.key:
            insert = database.upsert(self.table, names, self.key)
            delete = parse_statement(database.delete(self.table, self.key), kind)
        key = tuple(names.index(name) for name in self.key)
        values_of = outward(self.row.types, kind)
        return ChangesWork(parse_statement(insert, kind), delete, key, values_of)


@dataclass(frozen=True)
class JdbcConnector(TableConnector):
    identifier: str = "jdbc"
    connection: JdbcConnectionOptions | None = None
    """Where the table is, if a catalog knows that and options need not say it."""

    def source(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSource:
        given = Options(self.identifier, options)
        connection = self._connection(given)
        check_types(row, parse_address(connection.url).kind)
        _sink_options(given)
        given.flag("scan.auto-commit", True)  # a scan is a transaction, whose cursor fetches
        key = table.schema.primary_key or ()
        source = JdbcTableSource(
            connection,
            TableQuery(given.required("table-name"), row.names, row.types, key),
            _partitions(given, row),
            given.whole("scan.fetch-size", 0) or 0,
            lookup_cache(given),
            given.whole("lookup.max-retries", 3) or 0,
        )
        given.done()
        return source

    def sink(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSink:
        given = Options(self.identifier, options)
        connection = self._connection(given)
        check_types(row, parse_address(connection.url).kind)
        _partitions(given, row)
        lookup_cache(given)
        for name in ("scan.fetch-size", "scan.auto-commit", "lookup.max-retries"):
            given.text(name)
        execution, once = _sink_options(given)
        name = given.required("table-name")
        given.done()
        key = table.schema.primary_key or ()
        return JdbcTableSink(connection, execution, name, row, key, once)

    def _connection(self, given: Options) -> JdbcConnectionOptions:
        if self.connection is not None:
            given.text("url")
            return self.connection
        given.text("driver")
        given.text("compatible-mode")
        timeout_ms = given.duration_ms("connection.max-retry-timeout")
        url = given.required("url")
        parse_address(url)
        user, password = given.text("username"), given.text("password")
        if password is not None and user is None:
            raise InvalidArgument("a table of connector 'jdbc' has a 'password' and no 'username'")
        seconds = 60 if timeout_ms is None else timeout_ms // 1000
        return JdbcConnectionOptions(url, None, user, password, seconds)


def _partitions(given: Options, row: RowType) -> Partitions | None:
    column = given.text("scan.partition.column")
    names = ("num", "lower-bound", "upper-bound")
    count, lower, upper = (given.whole(f"scan.partition.{name}") for name in names)
    if column is None and count is None and lower is None and upper is None:
        return None
    if column is None or count is None or lower is None or upper is None:
        raise InvalidArgument(
            "of 'scan.partition.column', '.num', '.lower-bound' and '.upper-bound' all are needed "
            "or none",
            hint="Add those that are missing, or leave them all out.",
        )
    if column in row.names:
        type = row.types[row.names.index(column)]
        if not isinstance(type, NUMERIC):
            raise Unsupported(
                f"'scan.partition.column' = '{column}' is of type {type}: the bounds are numbers",
                hint="Choose a column of numbers, or leave 'scan.partition.…' out.",
            )
    if lower > upper or count < 1:
        raise InvalidArgument(
            "'scan.partition.lower-bound' must not be above '.upper-bound', and "
            "'scan.partition.num' is at least 1"
        )
    return Partitions(column, count, lower, upper)


def _sink_options(given: Options) -> tuple[JdbcExecutionOptions, bool]:
    rows = given.whole("sink.buffer-flush.max-rows", 100)
    interval = given.duration_ms("sink.buffer-flush.interval")
    retries = given.whole("sink.max-retries", 3)
    guarantee = given.choice("sink.delivery-guarantee", (_AT_LEAST_ONCE, _ONCE), _AT_LEAST_ONCE)
    execution = JdbcExecutionOptions(
        1000 if interval is None else interval, max(0, rows or 0), max(0, retries or 0)
    )
    return execution, guarantee == _ONCE
