"""Runs the statements that only concern catalogs, and gives what they print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from headrace.core.logical_types import Field
from headrace.core.table_connector import CatalogTable, TableColumn
from headrace.errors import InvalidQuery, Unsupported
from headrace.sql import ddl_objects as objects
from headrace.sql import statements as st
from headrace.sql.catalog import CatalogView, Partition, find_partition_fault
from headrace.sql.catalog_manager import FoundTable, Path
from headrace.sql.ddl_alter import alter
from headrace.sql.ddl_session import DONE, Printed, Session
from headrace.sql.ddl_show import shown
from headrace.sql.ddl_tables import Draft, draft_of

__all__ = ["DONE", "Printed", "Session", "created_table", "is_ddl", "run", "table_of_query"]


def run(session: Session, statement: st.Statement) -> Printed | None:
    """What the statement prints; None if it is none of these (queries, inserts, options, jobs)."""
    if isinstance(statement, st.UnsupportedStatement):
        raise Unsupported(
            f"{statement.what} cannot be had: {statement.reason}", origin=statement.at,
            hint=statement.hint,
        )  # fmt: skip
    handler = _HANDLERS.get(type(statement))
    return None if handler is None else handler(session, statement)


def is_ddl(statement: st.Statement) -> bool:
    return type(statement) in _HANDLERS or isinstance(statement, st.UnsupportedStatement)


def created_table(session: Session, statement: st.CreateTable) -> CatalogTable:
    """The table that CREATE TABLE describes, checked."""
    base = None
    if statement.like is not None:
        base = _table(session, statement.like.path, statement.like.at).table
    assert base is None or isinstance(base, CatalogTable)
    return draft_of(statement, base).finished(session.type_of, statement.at)


def table_of_query(
    session: Session, statement: st.CreateTableAs, fields: Sequence[Field]
) -> CatalogTable:
    """The table of CREATE TABLE AS: the query's columns, and what the statement adds to them."""
    declared = statement.table
    at = declared.at
    own = {part.column.field.name: part.column for part in declared.parts.columns}
    taken = {field.name for field in fields}
    columns = [own.get(field.name) or TableColumn(field) for field in fields]
    names = declared.parts.names
    if names is not None:
        if set(names) != taken:
            raise InvalidQuery(
                "the names in parentheses are not those of the query's columns", origin=at,
                hint=f"the query has {', '.join(field.name for field in fields)}",
            )  # fmt: skip
        by_name = {column.field.name: column for column in columns}
        columns = [by_name[name] for name in names]
    draft = draft_of(replace(declared, parts=replace(declared.parts, columns=(), names=None)), None)
    extra = [column for name, column in own.items() if name not in taken]
    draft.columns = [*extra, *columns]
    return draft.finished(session.type_of, at)


def _create_table(session: Session, statement: st.CreateTable) -> Printed:
    table = created_table(session, statement)
    session.manager.create_table(
        statement.path, table, temporary=statement.temporary,
        if_not_exists=statement.if_not_exists, at=statement.at,
    )  # fmt: skip
    return DONE


def _table(session: Session, path: Path, at: object | None) -> FoundTable:
    found = session.manager.table(path, at)
    if isinstance(found.table, CatalogView):
        raise InvalidQuery(
            f"{'.'.join(path)} is a view", origin=at, hint="this is only possible with tables"
        )
    return found


def _alter_table(session: Session, statement: st.AlterTable) -> Printed:
    if statement.if_exists and session.manager.find_table(statement.path) is None:
        return DONE
    found = _table(session, statement.path, statement.at)
    action = statement.action
    if isinstance(action, st.RenameTo):
        session.manager.rename_table(found, action.path, statement.at)
    elif isinstance(action, st.AddPartitions | st.DropPartitions):
        _change_partitions(session, found, action, statement.at)
    else:
        assert isinstance(found.table, CatalogTable)
        draft = Draft.of(found.table)
        alter(draft, action, statement.at)
        changed = draft.finished(session.type_of, statement.at)
        session.manager.replace_table(found, replace(changed, connector=found.table.connector))
    return DONE


def _change_partitions(
    session: Session,
    found: FoundTable,
    action: st.AddPartitions | st.DropPartitions,
    at: object | None,
) -> None:
    catalog, database, name = found.path
    kept = session.manager.catalog(catalog)
    if isinstance(action, st.AddPartitions):
        for partition, properties in action.partitions:
            fault = find_partition_fault(found.table, partition)
            if fault is not None:
                raise _wrong_partition(found, partition, fault, at)
            if kept.partition(database, name, partition) is None:
                kept.put_partition(database, name, partition, properties)
            elif not action.if_not_exists:
                raise InvalidQuery(f"there is a partition {dict(partition)} already", origin=at)
        return
    for partition in action.partitions:
        if kept.partition(database, name, partition) is not None:
            kept.drop_partition(database, name, partition)
        elif not action.if_exists:
            fault = find_partition_fault(found.table, partition)
            if fault is not None:
                raise _wrong_partition(found, partition, fault, at)
            raise InvalidQuery(f"there is no partition {dict(partition)}", origin=at)


def _wrong_partition(
    found: FoundTable, partition: Partition, fault: str, at: object | None
) -> InvalidQuery:
    path = ".".join(found.path)
    return InvalidQuery(f"{path} can have no partition {dict(partition)}: {fault}", origin=at)


_HANDLERS: dict[type[st.Statement], Callable[[Session, Any], Printed]] = {
    st.CreateTable: _create_table,
    st.AlterTable: _alter_table,
    st.CreateView: objects.create_view,
    st.AlterView: objects.alter_view,
    st.CreateFunction: objects.create_function,
    st.AlterFunction: objects.alter_function,
    st.CreateCatalog: objects.create_catalog,
    st.AlterCatalog: objects.alter_catalog,
    st.CreateDatabase: objects.create_database,
    st.AlterDatabase: objects.alter_database,
    st.Drop: objects.drop,
    st.UseCatalog: objects.use_catalog,
    st.UseDatabase: objects.use_database,
    st.UseModules: objects.use_modules,
    st.LoadModule: objects.load_module,
    st.UnloadModule: objects.unload_module,
    st.Show: shown,
    st.ShowCreate: shown,
    st.Describe: shown,
}
