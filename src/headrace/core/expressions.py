"""Typed expressions over the columns of a row, and the functions they call.

Both front ends, SQL text and the Table API, end in these; both engines start from them:
`headrace.operators.table.compiled` makes Python of them, `headrace.spark.native` makes Spark SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Protocol

from headrace.core.logical_types import LogicalType

ROWS_COUNTED = "\ue000"
"""In the Spark form of an aggregate that is made of several: behind each of them."""
SparkForm = str | Callable[[Sequence[str], Sequence[LogicalType], LogicalType], str | None]


@dataclass(frozen=True, kw_only=True)
class ScalarFunction:
    """What a function of values means, in Python and, where it is the same, in Spark SQL."""

    name: str
    meaning: Callable[..., Any]
    """Takes and gives values in internal form. With `by_type` it takes (argument types, result
    type) instead and gives the function to call."""
    by_type: bool = False
    strict: bool = True
    """Whether a NULL argument gives NULL without a call."""
    inline: str | None = None
    """The same as Python text with {0}, {1}, …, each used once; quicker than a call. Only for
    arguments that are not NULL if `strict`."""
    spark: SparkForm | None = None
    """As Spark SQL text with {0}, {1}, …, or a function that makes it of (argument texts, argument
    types, result type) and gives None where Spark means something else. None: run in Python."""
    deterministic: bool = True
    """Whether equal arguments give equal results, so that a call may be repeated or folded."""

    def __repr__(self) -> str:
        return self.name


class Accumulator(Protocol):
    """One aggregate call at work. What it keeps may be changed in place; use what is returned."""

    def create(self) -> Any: ...

    def add(self, kept: Any, *values: Any) -> Any: ...

    def retract(self, kept: Any, *values: Any) -> Any: ...

    def merge(self, kept: Any, other: Any) -> Any: ...

    def result(self, kept: Any) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class AggregateFunction:
    """What a function of many rows means."""

    name: str
    accumulator: Callable[[Sequence[LogicalType], LogicalType, bool], Accumulator]
    """Made of (argument types, result type, whether rows may be retracted)."""
    skips_null: bool = True
    """Whether rows where the first argument is NULL are not handed over."""
    spark: SparkForm | None = None
    """As of a ScalarFunction. Which rows count, FILTER and OVER, is written where ROWS_COUNTED
    stands, or at the end."""
    kind: str = "aggregate"
    """"aggregate"; "rank" for ROW_NUMBER, RANK, …, "offset" for LAG and LEAD, both only OVER;
    "grouping" for GROUPING and GROUP_ID; "user" for functions of the user; "table" for table
    aggregates."""
    ordered: bool = False
    """Whether the result depends on the order of rows, such as FIRST_VALUE."""
    deterministic: bool = True

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Expression:
    """Something that has a value for each row."""

    type: LogicalType

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return ()

    def with_inputs(self, inputs: Sequence[Expression]) -> Expression:
        return self

    def walk(self) -> Iterator[Expression]:
        """It and everything below it, parents first."""
        yield self
        for expression in self.inputs:
            yield from expression.walk()


@dataclass(frozen=True)
class Column(Expression):
    """A column of the input by position; of two inputs, the right one's follow the left one's."""

    index: int

    def __str__(self) -> str:
        return f"${self.index}"


@dataclass(frozen=True)
class Outer(Expression):
    """A column of the query around a subquery; gone when the subquery has become a join."""

    index: int
    depth: int = 1

    def __str__(self) -> str:
        return f"$outer{self.depth}.{self.index}"


@dataclass(frozen=True)
class Literal(Expression):
    value: Any
    """In internal form."""

    def __hash__(self) -> int:
        # Maps are dictionaries, which have no hash of their own.
        return hash((self.type, repr(self.value) if isinstance(self.value, dict) else self.value))

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Call(Expression):
    """A function of values, and everything that is one: operators, CAST, CASE, field access."""

    function: ScalarFunction
    arguments: tuple[Expression, ...] = ()

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return self.arguments

    def with_inputs(self, inputs: Sequence[Expression]) -> Call:
        return replace(self, arguments=tuple(inputs))

    def __str__(self) -> str:
        return f"{self.function.name}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class UserFunction:
    """A function of the user with how it wants to be called."""

    name: str
    function: Any
    """An object with `eval`, and perhaps `open` and `close`."""
    kind: str = "scalar"
    """"scalar", "table", "aggregate" or "table_aggregate"."""
    style: str = "general"
    """"general": a call per row; "pandas" or "arrow": one per batch of columns; "async"."""
    deterministic: bool = True
    input_types: tuple[LogicalType, ...] | None = None
    result_type: LogicalType | None = None
    accumulator_type: LogicalType | None = None
    takes_row: bool = False
    """Whether it takes the whole row as one argument."""
    settings: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class UserCall(Expression):
    """A scalar function of the user."""

    function: UserFunction
    arguments: tuple[Expression, ...] = ()

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return self.arguments

    def with_inputs(self, inputs: Sequence[Expression]) -> UserCall:
        return replace(self, arguments=tuple(inputs))

    def __str__(self) -> str:
        return f"{self.function.name}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate over rows of the input; its arguments are expressions over their columns."""

    type: LogicalType
    function: AggregateFunction
    arguments: tuple[Expression, ...] = ()
    distinct: bool = False
    filter: Expression | None = None
    ignore_nulls: bool = False
    order: tuple[SortKey, ...] = ()
    """WITHIN GROUP (ORDER BY …)"""
    user: UserFunction | None = None

    def __str__(self) -> str:
        distinct = "DISTINCT " if self.distinct else ""
        tail = "" if self.filter is None else f" FILTER (WHERE {self.filter})"
        return f"{self.function.name}({distinct}{', '.join(map(str, self.arguments)) or '*'}){tail}"


@dataclass(frozen=True)
class TableCall:
    """A function that gives any number of rows for one row."""

    function: UserFunction | TableFunction
    arguments: tuple[Expression, ...]
    fields: tuple[Any, ...]
    """The columns it gives: `headrace.core.logical_types.Field`."""

    def __str__(self) -> str:
        return f"{self.function.name}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, kw_only=True)
class TableFunction:
    """A built-in one, such as UNNEST: gives an iterable of tuples."""

    name: str
    meaning: Callable[..., Any]
    spark: SparkForm | None = None


@dataclass(frozen=True)
class SortKey:
    """One column of an order. Flink's NULLs are the smallest values unless said otherwise."""

    column: int
    ascending: bool = True
    nulls_first: bool = True

    def __str__(self) -> str:
        return f"${self.column} {'ASC' if self.ascending else 'DESC'}"


Distance = int | float | Decimal
"""How far the frame of an OVER clause reaches: rows, milliseconds, or the order's own numbers."""


def rewritten(expression: Expression, rule: Callable[[Expression], Expression]) -> Expression:
    """The expression with `rule` applied to each part, children first."""
    inputs = expression.inputs
    if inputs:
        changed = tuple(rewritten(part, rule) for part in inputs)
        if changed != inputs:
            expression = expression.with_inputs(changed)
    return rule(expression)


def columns_of(expression: Expression) -> set[int]:
    """Positions of all columns it reads."""
    return {part.index for part in expression.walk() if isinstance(part, Column)}


def shifted(expression: Expression, by: Callable[[int], int]) -> Expression:
    """The expression with every column at another position."""

    def move(part: Expression) -> Expression:
        return replace(part, index=by(part.index)) if isinstance(part, Column) else part

    return rewritten(expression, move)


def is_constant(expression: Expression) -> bool:
    """Whether it has the same value for every row."""
    return not any(
        isinstance(part, Column | Outer | UserCall)
        or (isinstance(part, Call) and not part.function.deterministic)
        for part in expression.walk()
    )
