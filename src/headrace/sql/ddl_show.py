"""SHOW and DESCRIBE: rows as Flink prints them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.logical_types import BOOLEAN, STRING, Field, LogicalType
from headrace.core.table_connector import CatalogTable, TableColumn, TableSchema
from headrace.errors import InvalidQuery, Unsupported
from headrace.sql import statements as st
from headrace.sql.catalog import CatalogView, find_partition_fault
from headrace.sql.catalog_manager import FoundTable
from headrace.sql.ddl_session import Printed, Session
from headrace.sql.ddl_text import (
    create_catalog_text,
    create_table_text,
    create_view_text,
    expression_text,
)

_DESCRIPTION = ("name", "type", "null", "key", "extras", "watermark")


def shown(session: Session, statement: st.Show | st.ShowCreate | st.Describe) -> Printed:
    if isinstance(statement, st.ShowCreate):
        return _show_create(session, statement)
    if isinstance(statement, st.Describe):
        return _describe(session, statement)
    lister = _LISTS.get(statement.what)
    if lister is None:
        raise Unsupported(
            f"SHOW {statement.what} cannot be had here", origin=statement.at,
            hint="there is nothing of this kind",
        )  # fmt: skip
    return lister(session, statement)


def like(pattern: str, ignore_case: bool = False) -> Callable[[str], bool]:
    """A test by a pattern with % and _, where \\ takes the next character as it is."""
    parts = []
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            parts.append(re.escape(next(characters, "\\")))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    expression = re.compile("".join(parts), re.DOTALL | (re.IGNORECASE if ignore_case else 0))
    return lambda text: expression.fullmatch(text) is not None


def _chosen(names: Iterable[str], statement: st.Show) -> list[str]:
    if statement.pattern is None:
        return list(names)
    fits = like(statement.pattern, statement.ignore_case)
    return [name for name in names if fits(name) != statement.negated]


def _column(title: str, names: Iterable[str]) -> Printed:
    return Printed((Field(title, STRING),), tuple((name,) for name in names))


def _listed(
    title: str, names: Callable[[Session, st.Show], Iterable[str]]
) -> Callable[[Session, st.Show], Printed]:
    return lambda session, statement: _column(title, _chosen(names(session, statement), statement))


def _databases(session: Session, statement: st.Show) -> Sequence[str]:
    name = statement.path[0] if statement.path else None
    return session.manager.catalog(name, statement.at).databases()


def _tables(session: Session, statement: st.Show) -> Sequence[str]:
    session.manager.database(statement.path, statement.at)
    return session.manager.tables(statement.path)


def _views(session: Session, statement: st.Show) -> Sequence[str]:
    session.manager.database(statement.path, statement.at)
    return session.manager.views(statement.path)


def _functions(session: Session, statement: st.Show) -> Sequence[str]:
    own = _user_functions(session, statement)
    builtin = session.builtin_names() if "core" in session.modules else ()
    return sorted({*own, *(name.lower() for name in builtin)})


def _user_functions(session: Session, statement: st.Show) -> Sequence[str]:
    session.manager.database(statement.path, statement.at)
    return session.functions.names(statement.path)


def _procedures(session: Session, statement: st.Show) -> Sequence[str]:
    session.manager.database(statement.path, statement.at)
    catalog, database = session.manager.database_path(statement.path)
    return session.manager.catalog(catalog).procedures(database)


def _partitions(session: Session, statement: st.Show) -> Printed:
    found = session.manager.table(statement.path, statement.at)
    table = found.table
    given = statement.partition or {}
    fault = find_partition_fault(table, given, partial=True)
    if fault is not None:
        raise InvalidQuery(f"{'.'.join(found.path)}: {fault}", origin=statement.at)
    assert isinstance(table, CatalogTable)
    catalog, database, name = found.path
    wanted = given.items()
    rows = [
        "/".join(f"{key}={partition[key]}" for key in table.partition_keys)
        for partition in session.manager.catalog(catalog).partitions(database, name)
        if wanted <= partition.items()
    ]
    return _column("partition name", sorted(rows))


def _modules(session: Session, statement: st.Show) -> Printed:
    return _column("module name", session.modules)


def _full_modules(session: Session, statement: st.Show) -> Printed:
    unused = [name for name in session.loaded if name not in session.modules]
    columns = (Field("module name", STRING), Field("used", BOOLEAN))
    used = [(name, True) for name in session.modules]
    return Printed(columns, (*used, *((name, False) for name in unused)))


def _columns(session: Session, statement: st.Show) -> Printed:
    if not statement.path:
        raise InvalidQuery(
            "SHOW COLUMNS needs a table", origin=statement.at, hint="write SHOW COLUMNS FROM t"
        )
    found = session.manager.table(statement.path, statement.at)
    printed = _table_description(session, found)
    kept = set(_chosen((row[0] for row in printed.rows), statement))
    return replace(printed, rows=tuple(row for row in printed.rows if row[0] in kept))


def _current(session: Session, what: str) -> str:
    manager = session.manager
    return manager.current_catalog if what == "catalog" else manager.current_database


_LISTS: dict[str, Callable[[Session, st.Show], Printed]] = {
    "CATALOGS": _listed("catalog name", lambda session, _: session.manager.catalogs()),
    "CURRENT CATALOG": _listed(
        "current catalog name", lambda session, _: [_current(session, "catalog")]
    ),
    "DATABASES": _listed("database name", _databases),
    "CURRENT DATABASE": _listed(
        "current database name", lambda session, _: [_current(session, "database")]
    ),
    "TABLES": _listed("table name", _tables),
    "VIEWS": _listed("view name", _views),
    "FUNCTIONS": _listed("function name", _functions),
    "USER FUNCTIONS": _listed("function name", _user_functions),
    "PROCEDURES": _listed("procedure name", _procedures),
    "PARTITIONS": _partitions,
    "MODULES": _modules,
    "FULL MODULES": _full_modules,
    "COLUMNS": _columns,
    "JARS": _listed("jars", lambda session, _: []),
    "MODELS": _listed("model name", lambda session, _: []),
}


def _show_create(session: Session, statement: st.ShowCreate) -> Printed:
    if statement.kind == "CATALOG":
        name = statement.path[0]
        catalog = session.manager.catalog(name, statement.at)
        return _column("result", [create_catalog_text(name, catalog.options, catalog.comment)])
    found = session.manager.table(statement.path, statement.at)
    is_view = isinstance(found.table, CatalogView)
    if is_view != (statement.kind == "VIEW"):
        kind = "view" if is_view else "table"
        raise InvalidQuery(
            f"{'.'.join(statement.path)} is a {kind}", origin=statement.at,
            hint=f"write SHOW CREATE {kind.upper()}",
        )  # fmt: skip
    if isinstance(found.table, CatalogView):
        return _column("result", [create_view_text(found, found.table)])
    if found.table.connector is not None:
        raise InvalidQuery(
            f"{'.'.join(statement.path)} was made by a program, not by a statement",
            origin=statement.at,
        )
    return _column("result", [create_table_text(found, found.table)])


def _describe(session: Session, statement: st.Describe) -> Printed:
    if statement.kind == "TABLE":
        return _table_description(session, session.manager.table(statement.path, statement.at))
    if statement.kind == "CATALOG":
        return _catalog_description(session, statement)
    if statement.kind == "DATABASE":
        return _database_description(session, statement)
    if statement.kind == "FUNCTION":
        return _function_description(session, statement)
    raise Unsupported(f"DESCRIBE {statement.kind} cannot be had here", origin=statement.at)


def _table_description(session: Session, found: FoundTable) -> Printed:
    schema = found.table.schema
    commented = any(column.field.description for column in schema.columns)
    titles = (*_DESCRIPTION, "comment") if commented else _DESCRIPTION
    fields = tuple(Field(title, BOOLEAN if title == "null" else STRING) for title in titles)
    rows = [_column_row(session, schema, column) for column in schema.columns]
    return Printed(fields, tuple(row[: len(titles)] for row in rows))


def _column_row(session: Session, schema: TableSchema, column: TableColumn) -> tuple[Any, ...]:
    name = column.field.name
    mark = schema.watermark
    watermark = None
    type = shown_type(session, schema, column)
    if mark is not None and mark.column == name:
        watermark = expression_text(mark.expression)
    key = None
    if name in (schema.primary_key or ()):
        key = f"PRI({', '.join(schema.primary_key or ())})"
    return (
        name, str(type.with_nullable(True)), type.nullable, key, _extras(column), watermark,
        column.field.description,
    )  # fmt: skip


def shown_type(session: Session, schema: TableSchema, column: TableColumn) -> LogicalType:
    """The column's type, marked where it is a time attribute."""
    type = column.field.type
    if column.computed is not None:
        stored = [each.field for each in schema.columns if each.computed is None]
        type = session.type_of(column.computed, stored)
    mark = schema.watermark
    if mark is not None and mark.column == column.field.name and isinstance(type, lt.TIMESTAMPS):
        type = replace(type, kind=lt.ROWTIME)
    return type


def _extras(column: TableColumn) -> str | None:
    if column.computed is not None:
        return f"AS {expression_text(column.computed)}"
    if column.metadata is None:
        return None
    source = "" if column.metadata == column.field.name else f" FROM '{column.metadata}'"
    return f"METADATA{source}{' VIRTUAL' if column.virtual else ''}"


def _info(rows: Iterable[tuple[str, str | None]]) -> Printed:
    return Printed((Field("info name", STRING), Field("info value", STRING)), tuple(rows))


def _catalog_description(session: Session, statement: st.Describe) -> Printed:
    name = statement.path[0]
    catalog = session.manager.catalog(name, statement.at)
    kind = catalog.options.get("type", "generic_in_memory")
    rows: list[tuple[str, str | None]] = [
        ("name", name), ("type", kind), ("comment", catalog.comment or ""),
    ]  # fmt: skip
    if statement.extended:
        rows += [(f"option:{key}", value) for key, value in sorted(catalog.options.items())]
    return _info(rows)


def _database_description(session: Session, statement: st.Describe) -> Printed:
    _catalog, name = session.manager.database_path(statement.path)
    database = session.manager.database(statement.path, statement.at)
    rows: list[tuple[str, str | None]] = [("name", name), ("comment", database.comment)]
    if statement.extended:
        options = ", ".join(f"({key},{value})" for key, value in database.options.items())
        rows.append(("properties", f"({options})"))
    return _info(rows)


def _function_description(session: Session, statement: st.Describe) -> Printed:
    found = session.functions.find(statement.path)
    if found is None:
        builtin = {name.lower() for name in session.builtin_names()}
        if len(statement.path) == 1 and statement.path[0].lower() in builtin:
            return _info([("is system function", "true"), ("is temporary", "false")])
        known = [*session.functions.names(), *builtin]
        raise session.manager.no_such("function", statement.path, known, statement.at)
    return _info([
        ("is system function", "false"),
        ("is temporary", str(found.temporary).lower()),
        ("class name", found.function.class_name),
        ("function language", found.function.language),
        ("resource uris", str(list(found.function.resources))),
    ])  # fmt: skip
