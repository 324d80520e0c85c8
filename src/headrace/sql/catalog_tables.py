"""Catalogs as queries see them: names become tables with their sources, views and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from headrace.connectors.tables import find_connector
from headrace.core.expressions import UserFunction
from headrace.core.logical_types import RowType
from headrace.core.table_connector import CatalogTable, TableConnector, TableSink, TableSource
from headrace.errors import HeadraceError, InvalidQuery, Unsupported
from headrace.graph.relations import Relation
from headrace.sql import functions
from headrace.sql.catalog import CatalogFunction, CatalogView
from headrace.sql.catalog_manager import CatalogManager
from headrace.sql.function_catalog import FunctionCatalog
from headrace.sql.inserting import written_columns
from headrace.sql.legacy_options import is_legacy, modern_options
from headrace.sql.queries import FoundTable, ViewText

LoadFunction = Callable[[str, CatalogFunction], UserFunction]


def _cannot_load(name: str, function: CatalogFunction) -> UserFunction:
    raise Unsupported(
        f"function {name} is {function.class_name} in {function.language}, which cannot be loaded "
        "here",
        hint="register a Python function: CREATE FUNCTION … LANGUAGE PYTHON",
    )


class CatalogTables:
    """What `QueryBuilder` asks for, of a session's catalogs."""

    def __init__(
        self,
        manager: CatalogManager,
        user_functions: FunctionCatalog | None = None,
        load: LoadFunction = _cannot_load,
    ):
        self._manager = manager
        self._functions = user_functions or FunctionCatalog(manager)
        self._load = load

    def table(
        self, parts: tuple[str, ...], options: Mapping[str, str], at: object | None
    ) -> FoundTable:
        found = self._manager.table(parts, at)
        if isinstance(found.table, CatalogView):
            view = found.table
            if isinstance(view.relation, Relation):
                return FoundTable(found.path, view.relation)
            place = (view.catalog, view.database)
            return FoundTable(found.path, ViewText(view.query, view.columns or (), place))
        table = replace(found.table, options={**found.table.options, **options})
        return FoundTable(found.path, table, source_of(found.path, table, at))

    def target(
        self, parts: tuple[str, ...], options: Mapping[str, str], at: object | None
    ) -> tuple[tuple[str, ...], CatalogTable]:
        found = self._manager.table(parts, at)
        if isinstance(found.table, CatalogView):
            raise InvalidQuery(f"{'.'.join(found.path)} is a view: it cannot be written", origin=at)
        return found.path, replace(found.table, options={**found.table.options, **options})

    def at(self, place: tuple[str, str]) -> CatalogTables:
        """The same where another catalog and database are current: in a view of that database."""
        return _Elsewhere(self._manager, self._functions, self._load, place)

    def user_function(self, path: tuple[str, ...]) -> UserFunction | None:
        name = path[-1]
        if len(path) == 1:
            system = self._functions.find_system(name)
            if system is not None:
                return self._loaded(name, system)
            if functions.find(name) is not None:
                return None
        found = self._functions.find(path)
        return None if found is None else self._loaded(name, found.function)

    def _loaded(self, name: str, function: CatalogFunction) -> UserFunction:
        if isinstance(function.function, UserFunction):
            return function.function
        return self._load(name, function)

    def function_names(self) -> Iterable[str]:
        return self._functions.names()

    @property
    def current_database(self) -> str:
        return self._manager.current_database


class _Elsewhere(CatalogTables):
    def __init__(
        self,
        manager: CatalogManager,
        user_functions: FunctionCatalog,
        load: LoadFunction,
        place: tuple[str, str],
    ):
        super().__init__(manager, user_functions, load)
        self._place = place

    def table(
        self, parts: tuple[str, ...], options: Mapping[str, str], at: object | None
    ) -> FoundTable:
        whole = (*self._place[: 3 - len(parts)], *parts) if len(parts) < 3 else parts
        return super().table(whole, options, at)


def source_of(path: tuple[str, ...], table: CatalogTable, at: object | None = None) -> TableSource:
    """How a table is read: by its own connector object, or by the one its options name."""
    if isinstance(table.connector, TableSource):
        return table.connector
    table = _modern(table, at, reads=True)
    connector = table.connector or _connector(path, table, at)
    with _naming_table(path, at):
        source: TableSource = connector.source(table, physical_row(table), table.options)
    return source


def sink_of(path: tuple[str, ...], table: CatalogTable, at: object | None = None) -> TableSink:
    """How a table is written."""
    if isinstance(table.connector, TableSink):
        return table.connector
    table = _modern(table, at, reads=False)
    connector = table.connector or _connector(path, table, at)
    written = RowType(tuple(each.field for each in written_columns(table)), nullable=False)
    with _naming_table(path, at):
        sink: TableSink = connector.sink(table, written, table.options)
    return sink


@contextmanager
def _naming_table(path: tuple[str, ...], at: object | None) -> Iterator[None]:
    """A connector knows what is wrong with a table's options, and not whose they are."""
    try:
        yield
    except HeadraceError as error:
        name = ".".join(path)
        if name not in error.message:
            error.message = f"{name}: {error.message}"
        error.origin = error.origin or at
        raise


def physical_row(table: CatalogTable) -> RowType:
    """The columns that a connector reads and writes itself."""
    fields = tuple(each.field for each in table.schema.columns if each.physical)
    return RowType(fields, nullable=False)


def _modern(table: CatalogTable, at: object | None, *, reads: bool) -> CatalogTable:
    if not is_legacy(table.options):
        return table
    return replace(table, options=modern_options(table, reads=reads, at=at))


def _connector(path: tuple[str, ...], table: CatalogTable, at: object | None) -> TableConnector:
    name = table.options.get("connector")
    if name is None:
        raise InvalidQuery(
            f"table {'.'.join(path)} has no connector", origin=at,
            hint="add WITH ('connector' = '…') to it; 'connector.type' is its older name",
        )  # fmt: skip
    try:
        return find_connector(name)
    except HeadraceError as error:
        raise InvalidQuery(
            f"table {'.'.join(path)}: {error.message}", origin=at, hint=error.hint
        ) from error
