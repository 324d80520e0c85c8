"""CREATE, ALTER, DROP and USE of views, functions, catalogs, databases and modules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from headrace.core.table_connector import TableColumn, TableSchema
from headrace.errors import InvalidQuery, Unsupported
from headrace.sql import statements as st
from headrace.sql.catalog import CatalogDatabase, CatalogFunction, CatalogView
from headrace.sql.catalog_manager import CatalogManager, Path
from headrace.sql.ddl_session import DONE, Printed, Session


def _view_schema(
    session: Session, tree: exp.Expr, text: str, names: Path | None, at: object | None
) -> TableSchema:
    fields = list(session.schema_of(tree, text))
    if names is not None and len(names) != len(fields):
        raise InvalidQuery(
            f"the view names {len(names)} columns, its query has {len(fields)}", origin=at
        )
    if names is not None:
        fields = [replace(field, name=name) for field, name in zip(fields, names, strict=True)]
    return TableSchema(tuple(TableColumn(field) for field in fields))


def create_view(session: Session, statement: st.CreateView) -> Printed:
    manager = session.manager
    text = statement.query_text
    schema = _view_schema(session, statement.query, text, statement.columns, statement.at)
    view = CatalogView(
        text, schema, manager.current_catalog, manager.current_database, statement.comment,
        columns=statement.columns,
    )  # fmt: skip
    manager.create_table(
        statement.path, view, temporary=statement.temporary,
        if_not_exists=statement.if_not_exists, at=statement.at,
    )  # fmt: skip
    return DONE


def alter_view(session: Session, statement: st.AlterView) -> Printed:
    manager = session.manager
    found = manager.find_table(statement.path)
    if found is None or not isinstance(found.table, CatalogView):
        if statement.if_exists:
            return DONE
        raise manager.no_such("view", statement.path, manager.views(), statement.at)
    if statement.action is not None:
        manager.rename_table(found, statement.action.path, statement.at)
        return DONE
    assert statement.query is not None
    assert statement.query_text is not None
    schema = _view_schema(session, statement.query, statement.query_text, None, statement.at)
    changed = replace(
        found.table, query=statement.query_text, schema=schema, columns=None, relation=None,
        catalog=manager.current_catalog, database=manager.current_database,
    )  # fmt: skip
    manager.replace_table(found, changed)
    return DONE


def create_function(session: Session, statement: st.CreateFunction) -> Printed:
    if statement.language != "PYTHON":
        raise Unsupported(
            f"functions in {statement.language.title()} cannot be had", origin=statement.at,
            hint="write them in Python: CREATE FUNCTION f AS 'module.name' LANGUAGE PYTHON",
        )  # fmt: skip
    function = CatalogFunction(
        statement.class_name, "PYTHON", options=statement.options, resources=statement.resources
    )
    if statement.system:
        session.functions.create_system(
            statement.path[-1], function, statement.if_not_exists, statement.at
        )
    else:
        session.functions.create(
            statement.path, function, temporary=statement.temporary,
            if_not_exists=statement.if_not_exists, at=statement.at,
        )  # fmt: skip
    return DONE


def alter_function(session: Session, statement: st.AlterFunction) -> Printed:
    session.functions.replace(
        statement.path, CatalogFunction(statement.class_name, statement.language),
        temporary=statement.temporary, if_exists=statement.if_exists, at=statement.at,
    )  # fmt: skip
    return DONE


def create_catalog(session: Session, statement: st.CreateCatalog) -> Printed:
    manager = session.manager
    if statement.if_not_exists and manager.has_catalog(statement.name):
        return DONE
    catalog = manager.create_catalog(statement.name, statement.options, statement.at)
    catalog.comment = statement.comment
    return DONE


def changed_options(options: Mapping[str, str], action: object) -> dict[str, str]:
    """Options after SET or RESET."""
    if isinstance(action, st.SetOptions):
        return {**options, **action.options}
    assert isinstance(action, st.ResetOptions)
    return {key: value for key, value in options.items() if key not in action.keys}


def alter_catalog(session: Session, statement: st.AlterCatalog) -> Printed:
    catalog = session.manager.catalog(statement.name, statement.at)
    if isinstance(statement.action, st.SetComment):
        catalog.comment = statement.action.comment
    else:
        catalog.options = changed_options(catalog.options, statement.action)
    return DONE


def create_database(session: Session, statement: st.CreateDatabase) -> Printed:
    manager = session.manager
    catalog, name = manager.database_path(statement.path)
    kept = manager.catalog(catalog, statement.at)
    if kept.database(name) is None:
        kept.put_database(name, CatalogDatabase(dict(statement.options), statement.comment))
    elif not statement.if_not_exists:
        raise InvalidQuery(
            f"there is a database {name} in catalog {catalog} already", origin=statement.at,
            hint="write IF NOT EXISTS",
        )  # fmt: skip
    return DONE


def alter_database(session: Session, statement: st.AlterDatabase) -> Printed:
    manager = session.manager
    database = manager.database(statement.path, statement.at)
    if isinstance(statement.action, st.SetComment):
        changed = replace(database, comment=statement.action.comment)
    else:
        changed = replace(database, options=changed_options(database.options, statement.action))
    catalog, name = manager.database_path(statement.path)
    manager.catalog(catalog).put_database(name, changed)
    return DONE


def drop(session: Session, statement: st.Drop) -> Printed:
    manager = session.manager
    at = statement.at
    if statement.kind in ("TABLE", "VIEW"):
        manager.drop_table(
            statement.path, view=statement.kind == "VIEW", temporary=statement.temporary,
            if_exists=statement.if_exists, at=at,
        )  # fmt: skip
    elif statement.kind == "FUNCTION":
        session.functions.drop(
            statement.path, temporary=statement.temporary, system=statement.system,
            if_exists=statement.if_exists, at=at,
        )  # fmt: skip
    elif statement.kind == "CATALOG":
        if manager.has_catalog(statement.path[0]) or not statement.if_exists:
            manager.drop_catalog(statement.path[0], at)
    else:
        _drop_database(manager, statement)
    return DONE


def _drop_database(manager: CatalogManager, statement: st.Drop) -> None:
    catalog, name = manager.database_path(statement.path)
    kept = manager.catalog(catalog, statement.at)
    if kept.database(name) is None and statement.if_exists:
        return
    manager.database(statement.path, statement.at)
    if (catalog, name) == (manager.current_catalog, manager.current_database):
        raise InvalidQuery(
            f"the database {name} is the current one", origin=statement.at,
            hint="USE another one first",
        )  # fmt: skip
    if not statement.cascade and (kept.tables(name) or kept.functions(name)):
        raise InvalidQuery(
            f"the database {name} is not empty", origin=statement.at,
            hint="write CASCADE to drop everything in it",
        )  # fmt: skip
    kept.drop_database(name)


def use_catalog(session: Session, statement: st.UseCatalog) -> Printed:
    session.manager.use_catalog(statement.name, statement.at)
    return DONE


def use_database(session: Session, statement: st.UseDatabase) -> Printed:
    session.manager.use_database(statement.path, statement.at)
    return DONE


def load_module(session: Session, statement: st.LoadModule) -> Printed:
    session.load_module(statement.name, statement.at)
    return DONE


def unload_module(session: Session, statement: st.UnloadModule) -> Printed:
    session.unload_module(statement.name, statement.at)
    return DONE


def use_modules(session: Session, statement: st.UseModules) -> Printed:
    session.use_modules(statement.names, statement.at)
    return DONE
