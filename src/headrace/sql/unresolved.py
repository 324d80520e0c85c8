"""Expressions as they were written, before names and types are known.

SQL text (`headrace.sql.to_unresolved`) and the Table API both make them; the resolver turns them
into `headrace.core.expressions`. Operators are applications of functions by names such as PLUS,
EQUALS, AND, IS_NULL, LIKE, IN (the value, then the list), ITEM, EXTRACT (a unit, the value).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.core.expressions import UserFunction
from headrace.core.logical_types import LogicalType


@dataclass(frozen=True, kw_only=True)
class Unresolved:
    at: object | None = field(default=None, compare=False, repr=False)
    """Where it was written: a `Position` in SQL text, an `Origin` in a program."""


@dataclass(frozen=True)
class Name(Unresolved):
    """A column, with what qualifies it: `a`, `t.a`, `t.a.field`, `catalog.database.t.a`."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True)
class Value(Unresolved):
    """A literal: in internal form if it has a type, else any Python value."""

    value: Any
    type: LogicalType | None = None


@dataclass(frozen=True)
class SortItem(Unresolved):
    operand: Unresolved
    ascending: bool = True
    nulls_first: bool | None = None
    """None: as Flink orders NULLs, which are the smallest values."""


@dataclass(frozen=True)
class FrameBound(Unresolved):
    kind: str
    """"preceding", "following" or "current"."""
    value: Unresolved | None = None
    """None: unbounded (for "current" nothing)."""


@dataclass(frozen=True)
class OverSpec(Unresolved):
    """OVER (…), or OVER name: then `window` names one of the query's WINDOW clause, which the rest
    adds to."""

    partition_by: tuple[Unresolved, ...] = ()
    order_by: tuple[SortItem, ...] = ()
    unit: str | None = None
    """"rows" or "range"; None: no frame was written."""
    start: FrameBound | None = None
    end: FrameBound | None = None
    """None: the current row."""
    window: str | None = None


@dataclass(frozen=True)
class Apply(Unresolved):
    """A function or operator by name, on values or on many rows."""

    function: str
    arguments: tuple[Unresolved, ...] = ()
    distinct: bool = False
    filter: Unresolved | None = None
    order_by: tuple[SortItem, ...] = ()
    """WITHIN GROUP (ORDER BY …)"""
    over: OverSpec | None = None
    ignore_nulls: bool = False
    path: tuple[str, ...] = ()
    """The catalog and database a function's name was qualified with."""
    quoted: bool = False
    """Whether the function's name was written as a quoted identifier."""

    def __str__(self) -> str:
        return f"{self.function}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class UserApply(Unresolved):
    """A function of the user that was handed over as an object."""

    function: UserFunction
    arguments: tuple[Unresolved, ...] = ()
    distinct: bool = False
    filter: Unresolved | None = None
    over: OverSpec | None = None


@dataclass(frozen=True)
class CastTo(Unresolved):
    operand: Unresolved
    type: LogicalType
    safe: bool = False
    """TRY_CAST: NULL where the value does not fit."""
    reinterpret: bool = False


@dataclass(frozen=True)
class Case(Unresolved):
    """CASE WHEN condition THEN result …; `CASE x WHEN y` is written out as conditions x = y."""

    branches: tuple[tuple[Unresolved, Unresolved], ...]
    otherwise: Unresolved | None = None


@dataclass(frozen=True)
class Alias(Unresolved):
    operand: Unresolved
    name: str
    more: tuple[str, ...] = ()
    """Of table functions: the names of further columns."""


@dataclass(frozen=True)
class Star(Unresolved):
    """`*`, or `t.*`."""

    qualifier: tuple[str, ...] = ()


@dataclass(frozen=True)
class RowOf(Unresolved):
    """ROW(…) or (a, b); names None: EXPR$0, EXPR$1, …"""

    items: tuple[Unresolved, ...]
    names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class FieldOf(Unresolved):
    """A field of a row that is not simply a qualified name: `f(x).a`, `(t.row).a`, `arr[1].a`."""

    operand: Unresolved
    name: str


@dataclass(frozen=True)
class NamedArgument(Unresolved):
    """`name => value` in a call; value None: DEFAULT."""

    name: str
    value: Unresolved | None


@dataclass(frozen=True)
class Descriptor(Unresolved):
    """DESCRIPTOR(a, b)."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class TableArgument(Unresolved):
    """A table handed to a function: `TABLE t PARTITION BY k ORDER BY o`, or a query."""

    table: Any
    """A table or query as the front end has it: a sqlglot tree, or a Table's relation."""
    partition_by: tuple[Unresolved, ...] = ()
    order_by: tuple[SortItem, ...] = ()


@dataclass(frozen=True)
class ModelArgument(Unresolved):
    """MODEL m, as an argument."""

    parts: tuple[str, ...]


@dataclass(frozen=True)
class SubqueryScalar(Unresolved):
    """A query that gives one value."""

    query: Any
    """A query as the front end has it: a sqlglot tree, or a Table's relation."""


@dataclass(frozen=True)
class SubqueryExists(Unresolved):
    query: Any


@dataclass(frozen=True)
class SubqueryIn(Unresolved):
    """operand IN (query); of several columns the operand is a `RowOf`."""

    operand: Unresolved
    query: Any
    negated: bool = False


@dataclass(frozen=True)
class SubqueryCompare(Unresolved):
    """operand comparison SOME|ALL (query); the comparison is a function's name such as EQUALS."""

    operand: Unresolved
    comparison: str
    query: Any
    every: bool = False
    """ALL; not: SOME, ANY."""


@dataclass(frozen=True)
class SubqueryCollection(Unresolved):
    """ARRAY(query), MULTISET(query), MAP(query)."""

    kind: str
    """"ARRAY", "MULTISET" or "MAP"."""
    query: Any
