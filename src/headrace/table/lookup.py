"""What names mean to queries: tables of catalogs with their connectors, and functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from headrace.connectors.tables import find_connector
from headrace.core.expressions import UserFunction
from headrace.core.logical_types import RowType
from headrace.core.table_connector import CatalogTable, TableConnector, TableSink, TableSource
from headrace.errors import HeadraceError, InvalidQuery
from headrace.graph.relations import Relation
from headrace.sql import functions
from headrace.sql.catalog import CatalogView
from headrace.sql.catalog_manager import CatalogManager, FullPath, Path
from headrace.sql.function_catalog import FunctionCatalog
from headrace.sql.inserting import written_columns
from headrace.sql.position import Position
from headrace.sql.queries import FoundTable, ViewText
from headrace.table.user_functions import loaded_function


class CatalogTables:
    """Serves `headrace.sql.queries.QueryBuilder` from the session's catalogs."""

    def __init__(self, catalogs: CatalogManager, function_catalog: FunctionCatalog):
        self.catalogs = catalogs
        self.function_catalog = function_catalog

    def table(
        self, parts: tuple[str, ...], options: Mapping[str, str], at: object | None
    ) -> FoundTable:
        found = self.catalogs.table(parts, at)
        if isinstance(found.table, CatalogView):
            if isinstance(found.table.relation, Relation):
                return FoundTable(found.path, found.table.relation)
            return FoundTable(found.path, ViewText(found.table.query, found.table.columns or ()))
        table = with_options(found.table, options)
        return FoundTable(found.path, table, source_of(found.path, table, at))

    def user_function(self, path: tuple[str, ...]) -> UserFunction | None:
        found = self.function_catalog.find(path)
        return None if found is None else loaded_function(found.path[-1], found.function)

    def function_names(self) -> Iterable[str]:
        return [*self.function_catalog.names(), *functions.names()]

    def sink(
        self, path: Path, options: Mapping[str, str], at: object | None = None
    ) -> tuple[FullPath, CatalogTable, TableSink]:
        """The table a statement writes to."""
        found = self.catalogs.table(path, at)
        if isinstance(found.table, CatalogView):
            raise InvalidQuery(
                f"{'.'.join(path)} is a view: nothing can be written to it", origin=at,  # type: ignore[arg-type]
                hint="Write to a table.",
            )  # fmt: skip
        table = with_options(found.table, options)
        return found.path, table, sink_of(found.path, table, at)


def with_options(table: CatalogTable, options: Mapping[str, str]) -> CatalogTable:
    """The table with options of a hint in place of its own."""
    return replace(table, options={**table.options, **options}) if options else table


def source_of(path: Path, table: CatalogTable, at: object | None = None) -> TableSource:
    fields = tuple(column.field for column in table.schema.columns if column.physical)
    with _About(path, at):
        return _connector(path, table).source(table, RowType(fields), table.options)


def sink_of(path: Path, table: CatalogTable, at: object | None = None) -> TableSink:
    fields = tuple(column.field for column in written_columns(table))
    with _About(path, at):
        return _connector(path, table).sink(table, RowType(fields), table.options)


def _connector(path: Path, table: CatalogTable) -> TableConnector:
    if table.connector is not None:
        connector: TableConnector = table.connector
        return connector
    identifier = table.options.get("connector")
    if identifier is None:
        raise InvalidQuery(
            f"table {'.'.join(path)} has no connector: nobody knows where its rows are",
            hint="Add 'connector' = '…' to WITH (…).",
        )
    return find_connector(identifier)


class _About:
    """Names the table in what a connector complains about."""

    def __init__(self, path: Path, at: object | None):
        self._path, self._at = ".".join(path), at

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, HeadraceError) and error.origin is None:
            at = self._at if isinstance(self._at, Position) else None
            message = error.message
            if self._path not in message:
                message = f"table {self._path}: {message}"
            raise type(error)(message, origin=at, hint=error.hint) from None
