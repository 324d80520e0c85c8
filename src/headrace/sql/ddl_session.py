"""What statements about catalogs work on, and what they print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from headrace.core.logical_types import STRING, Field, LogicalType
from headrace.errors import InvalidQuery, Unsupported
from headrace.sql.catalog_manager import CatalogManager
from headrace.sql.ddl_tables import TypeOf
from headrace.sql.expressions import resolve_text
from headrace.sql.function_catalog import FunctionCatalog
from headrace.sql.position import did_you_mean

SchemaOf = Callable[[exp.Expr, str], Sequence[Field]]
"""The columns of a query's tree and text."""


@dataclass(frozen=True)
class Printed:
    """What a statement prints."""

    columns: tuple[Field, ...]
    rows: tuple[tuple[Any, ...], ...]


DONE = Printed((Field("result", STRING.not_null()),), (("OK",),))


@dataclass
class Session:
    """What statements change: catalogs, functions, modules."""

    manager: CatalogManager
    functions: FunctionCatalog
    type_of: TypeOf
    schema_of: SchemaOf
    modules: list[str] = field(default_factory=lambda: ["core"])
    """Those in use, in their order."""
    loaded: list[str] = field(default_factory=lambda: ["core"])
    builtin_names: Callable[[], Sequence[str]] = lambda: ()

    @classmethod
    def of(cls, manager: CatalogManager, **settings: Any) -> Session:
        functions = settings.pop("functions", None) or FunctionCatalog(manager)
        settings.setdefault("type_of", resolved_type)
        settings.setdefault("schema_of", _no_schema)
        return cls(manager, functions, **settings)

    def load_module(self, name: str, at: object | None) -> None:
        if name in self.loaded:
            raise InvalidQuery(f"the module {name} is loaded already", origin=at)
        if name != "core":
            raise Unsupported(
                f"there is no module {name}: `core` has all functions",
                origin=at,
                hint="register functions with CREATE FUNCTION instead",
            )
        self.loaded.append(name)
        self.modules.append(name)

    def unload_module(self, name: str, at: object | None) -> None:
        self._require_module(name, at)
        self.loaded.remove(name)
        if name in self.modules:
            self.modules.remove(name)

    def use_modules(self, names: Sequence[str], at: object | None) -> None:
        """Look up functions in these modules, in this order."""
        for name in names:
            self._require_module(name, at)
            if list(names).count(name) > 1:
                raise InvalidQuery(f"the module {name} is named more than once", origin=at)
        self.modules[:] = names

    def _require_module(self, name: str, at: object | None) -> None:
        if name not in self.loaded:
            raise InvalidQuery(
                f"there is no module {name} loaded",
                origin=at,
                hint=did_you_mean(name, self.loaded),
            )


def resolved_type(text: str, fields: Sequence[Field]) -> LogicalType:
    """The type of an expression that calls only built-in functions."""
    return resolve_text(text, fields).type


def _no_schema(tree: exp.Expr, text: str) -> Sequence[Field]:
    raise Unsupported("this session cannot resolve queries")
