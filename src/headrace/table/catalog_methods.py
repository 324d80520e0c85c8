"""What a table environment can be asked about its catalogs, and told to do with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from headrace.core.expressions import UserFunction
from headrace.errors import TypeMismatch, Unsupported
from headrace.origin import calling_origin
from headrace.sql import functions
from headrace.sql.catalog import CatalogFunction, CatalogView
from headrace.table.catalog import Catalog, CatalogDescriptor
from headrace.table.environment_models import EnvironmentModels
from headrace.table.module import Module, ModuleEntry
from headrace.table.object_names import path_parts
from headrace.table.udf import (
    AggregateFunction,
    TableAggregateFunction,
    UserDefinedFunctionWrapper,
    udaf,
    udtaf,
)

if TYPE_CHECKING:
    from headrace.table.session import TableSession
    from headrace.table.statement_runner import StatementRunner


def no_java(what: str) -> Unsupported:
    return Unsupported(
        f"{what} is a class of the JVM, and there is no Flink JVM here", origin=calling_origin(),
        hint="Write the function in Python with udf(), udtf(), udaf() or udtaf().",
    )  # fmt: skip


class CatalogMethods(EnvironmentModels):
    """Catalogs, databases, tables, views, functions and modules."""

    _session: TableSession
    _runner: StatementRunner

    # Catalogs and databases.

    def create_catalog(self, catalog_name: str, catalog_descriptor: CatalogDescriptor) -> None:
        """Make a catalog of the type its options name."""
        catalogs = self._session.catalogs
        catalogs.create_catalog(catalog_name, catalog_descriptor.options, calling_origin())

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        if not isinstance(catalog, Catalog):
            raise TypeMismatch(f"{catalog!r} is no catalog", origin=calling_origin())
        self._session.catalogs.register_catalog(catalog_name, catalog.catalog, calling_origin())

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """A catalog by its name; None if there is none."""
        catalogs = self._session.catalogs
        if not catalogs.has_catalog(catalog_name):
            return None
        return Catalog(catalogs.catalog(catalog_name))

    def list_catalogs(self) -> list[str]:
        return list(self._session.catalogs.catalogs())

    def get_current_catalog(self) -> str:
        return self._session.catalogs.current_catalog

    def use_catalog(self, catalog_name: str) -> None:
        self._session.catalogs.use_catalog(catalog_name, calling_origin())

    def list_databases(self) -> list[str]:
        return list(self._session.catalogs.catalog().databases())

    def get_current_database(self) -> str:
        return self._session.catalogs.current_database

    def use_database(self, database_name: str) -> None:
        self._session.catalogs.use_database((database_name,), calling_origin())

    # Tables and views.

    def list_tables(self) -> list[str]:
        """Tables and views of the current database."""
        return list(self._session.catalogs.tables())

    def list_views(self) -> list[str]:
        return list(self._session.catalogs.views())

    def list_materialized_tables(self) -> list[str]:
        """There are none: they need a cluster that refreshes them."""
        return []

    def list_temporary_tables(self) -> list[str]:
        return list(self._session.catalogs.temporary_tables())

    def list_temporary_views(self) -> list[str]:
        catalogs = self._session.catalogs
        return [
            name
            for name in catalogs.temporary_tables()
            if isinstance(catalogs.table((name,)).table, CatalogView)
        ]

    def drop_temporary_table(self, table_path: str) -> bool:
        return self._drop(table_path, view=False, temporary=True)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        return self._drop(table_path, view=False, if_exists=bool(ignore_if_not_exists))

    def drop_temporary_view(self, view_path: str) -> bool:
        return self._drop(view_path, view=True, temporary=True)

    def drop_view(self, view_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        return self._drop(view_path, view=True, if_exists=bool(ignore_if_not_exists))

    def _drop(
        self, path: str, *, view: bool, temporary: bool = False, if_exists: bool = True
    ) -> bool:
        return self._session.catalogs.drop_table(
            path_parts(path), view=view, temporary=temporary, if_exists=if_exists,
            at=calling_origin(),
        )  # fmt: skip

    # Functions.

    def create_temporary_system_function(self, name: str, function: Any) -> None:
        """A function for all catalogs; it hides built-in ones of the same name."""
        registered = _registered(name, function)
        known = self._session.functions
        if known.find_system(name) is not None:
            known.drop((name,), system=True)
        known.create_system(name, registered, at=calling_origin())

    def drop_temporary_system_function(self, name: str) -> bool:
        return self._session.functions.drop((name,), system=True, if_exists=True)

    def create_temporary_function(self, path: str, function: Any) -> None:
        """A function of a database, for this session."""
        registered = _registered(path, function)
        self._session.functions.create(
            path_parts(path), registered, temporary=True, at=calling_origin()
        )

    def drop_temporary_function(self, path: str) -> bool:
        return self._session.functions.drop(path_parts(path), temporary=True, if_exists=True)

    def drop_function(self, path: str) -> bool:
        return self._session.functions.drop(path_parts(path), if_exists=True)

    def create_java_temporary_system_function(
        self, name: str, function_class_name: str
    ) -> NoReturn:
        raise no_java(function_class_name)

    def create_java_function(
        self, path: str, function_class_name: str, ignore_if_exists: bool | None = None
    ) -> NoReturn:
        raise no_java(function_class_name)

    def create_java_temporary_function(self, path: str, function_class_name: str) -> NoReturn:
        raise no_java(function_class_name)

    def list_user_defined_functions(self) -> list[str]:
        return list(self._session.functions.names())

    def list_functions(self) -> list[str]:
        """All functions by name, the user's and the built-in ones."""
        return sorted({*self._session.functions.names(), *functions.names()})

    # Modules.

    def load_module(self, module_name: str, module: Module) -> None:
        self._runner.catalog_session.load_module(module_name, calling_origin())

    def unload_module(self, module_name: str) -> None:
        self._runner.catalog_session.unload_module(module_name, calling_origin())

    def use_modules(self, *module_names: str) -> None:
        self._runner.catalog_session.use_modules(module_names, calling_origin())

    def list_modules(self) -> list[str]:
        return list(self._runner.catalog_session.modules)

    def list_full_modules(self) -> list[ModuleEntry]:
        known = self._runner.catalog_session
        unused = [name for name in known.loaded if name not in known.modules]
        return [ModuleEntry(name, True) for name in known.modules] + [
            ModuleEntry(name, False) for name in unused
        ]


def _registered(name: str, function: Any) -> CatalogFunction:
    if isinstance(function, TableAggregateFunction):
        function = udtaf(function)
    elif isinstance(function, AggregateFunction):
        function = udaf(function)
    if not isinstance(function, UserDefinedFunctionWrapper):
        raise TypeMismatch(
            f"{name} must be a function made with udf(), udtf(), udaf() or udtaf(), "
            f"not {function!r}",
            origin=calling_origin(),
        )
    user: UserFunction = function.user_function()
    own = type(user.function)
    return CatalogFunction(f"{own.__module__}.{own.__qualname__}", function=user)
