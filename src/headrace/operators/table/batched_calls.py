"""Functions of the user that take batches of columns, or whose results are awaited.

Expressions with such calls are evaluated in stages: the arguments of the innermost calls for all
rows, each call once for all of them, and so on outwards, with results as further columns.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import tzinfo
from typing import Any

import pyarrow as pa

from headrace.core.expressions import Column, Expression, UserCall, UserFunction
from headrace.core.given_values import RESULTS, from_python, wrong_value
from headrace.core.logical_types import INTEGERS, Field, LogicalType, RowType
from headrace.core.operator import Context
from headrace.core.rows import Row
from headrace.core.shown_columns import (
    arrow_of_pandas,
    hold_column,
    show_column,
    show_frame,
    show_pandas,
    shown_type,
)
from headrace.core.table_columns import from_arrow, to_arrow
from headrace.core.table_values import nullable, to_python
from headrace.errors import TypeMismatch
from headrace.operators.functions.session import time_zone, zone_of
from headrace.operators.table.awaited_calls import AwaitedCalls, results_of
from headrace.operators.table.user_functions import OpenedFunction, function_view

Lists = Sequence[list[Any]]
BatchCall = Callable[[Lists, int], list[Any]]
"""From lists of arguments' values, and how many rows there are, to a list of results."""


def is_batched(expression: Expression) -> bool:
    """Whether a call in it cannot be made row by row."""
    return any(_is_batch_call(part) for part in expression.walk())


def _is_batch_call(part: Expression) -> bool:
    return isinstance(part, UserCall) and part.function.style != "general"


def stages(
    expressions: Sequence[Expression], width: int
) -> tuple[list[tuple[UserCall, ...]], tuple[Expression, ...]]:
    """Calls by stage, whose results are columns from `width` on; and the expressions over them."""
    made: list[tuple[UserCall, ...]] = []
    places: dict[Expression, Column] = {}
    current = tuple(expressions)
    while True:
        ready = dict.fromkeys(
            part
            for each in current
            for part in each.walk()
            if _is_batch_call(part) and not any(map(is_batched, part.inputs))
        )
        if not ready:
            return made, current
        calls = tuple(call for call in ready if isinstance(call, UserCall))
        for call in calls:
            places[call] = Column(call.type, width)
            width += 1
        made.append(calls)
        current = tuple(_replaced(each, places) for each in current)


def _replaced(expression: Expression, places: dict[Expression, Column]) -> Expression:
    found = places.get(expression)
    if found is not None:
        return found
    if not expression.inputs:
        return expression
    return expression.with_inputs([_replaced(part, places) for part in expression.inputs])


def batch_call(
    user: UserFunction, types: Sequence[LogicalType], result: LogicalType, settings: AwaitedCalls
) -> BatchCall:
    """The user's function on lists of values in internal form."""
    if user.style == "async":
        return _awaited(user, types, result, settings)
    return _of_columns(user, types, result)


# Columns of pandas or Arrow.


def _of_columns(user: UserFunction, types: Sequence[LogicalType], result: LogicalType) -> BatchCall:
    made = column_call(user, types, result)

    def call(lists: Lists, count: int) -> list[Any]:
        arrays = [to_arrow(each, type) for each, type in zip(lists, types, strict=True)]
        return from_arrow(made(arrays, count), result)

    return call


def column_call(
    user: UserFunction, types: Sequence[LogicalType], result: LogicalType
) -> Callable[[Sequence[pa.Array], int], pa.Array]:
    """The user's function of columns on Arrow columns."""
    evaluate = user.function.eval
    shown = _shown(user, types)

    def call(arrays: Sequence[pa.Array], count: int) -> pa.Array:
        given = evaluate(*shown(arrays))
        made = _row_column(given, result) if isinstance(result, RowType) else _column(given, result)
        if len(made) != count:
            raise TypeMismatch(
                f"{user.name} gave {len(made)} values for {count} rows",
                hint="A function of columns gives a column of the same length.",
            )
        return made

    return call


def _shown(
    user: UserFunction, types: Sequence[LogicalType]
) -> Callable[[Sequence[pa.Array]], Sequence[Any]]:
    """Columns as the function wants them: Arrow arrays, pandas Series, or one DataFrame."""
    zone = zone_of(time_zone())

    def shown(arrays: Sequence[pa.Array]) -> Sequence[Any]:
        columns = [show_column(each, type) for each, type in zip(arrays, types, strict=True)]
        if user.style == "arrow":
            return columns
        if user.takes_row and len(types) == 1 and isinstance(types[0], RowType):
            return [_frame_of_row(columns[0], types[0], zone)]
        return [show_pandas(each, type, zone) for each, type in zip(columns, types, strict=True)]

    return shown


def _frame_of_row(column: pa.Array, row: RowType, zone: tzinfo) -> Any:
    """A DataFrame of a whole row's columns; of a row among them, of its fields."""
    columns: list[pa.Array] = []
    fields: list[Field] = []
    for field, part in zip(row.fields, column.flatten(), strict=True):
        nested = isinstance(field.type, RowType)
        columns += part.flatten() if nested else [part]
        fields += field.type.fields if isinstance(field.type, RowType) else [field]
    return show_frame(columns, fields, zone)


def _column(given: Any, type: LogicalType) -> pa.Array:
    """What a function gave as Spark holds it; nothing of it may be lost."""
    try:
        if not isinstance(given, pa.Array | pa.ChunkedArray):
            given = arrow_of_pandas(given, type)
        return hold_column(given, type)
    except (pa.ArrowException, TypeError, ValueError) as error:
        kind = getattr(given, "dtype", getattr(given, "type", given.__class__.__name__))
        raise TypeMismatch(
            f"a column of {kind} is no {type.name()}: {error}",
            hint="Give a column of the type that is declared, or declare another one.",
        ) from None


def _row_column(given: Any, type: RowType) -> pa.Array:
    """A DataFrame, a tuple of columns or an Arrow struct as one column of rows."""
    missing = None
    if isinstance(given, pa.StructArray):
        given, missing = given.flatten(), given.is_null()
    if hasattr(given, "columns"):
        parts = [given[name] for name in given.columns]
    else:
        parts = list(given)
    arrays = [_column(part, kind) for part, kind in zip(parts, type.types, strict=True)]
    # Spark asks for the names of the type.
    return pa.StructArray.from_arrays(arrays, names=list(type.names), mask=missing)


# Calls that are awaited.


def _awaited(
    user: UserFunction, types: Sequence[LogicalType], result: LogicalType, settings: AwaitedCalls
) -> BatchCall:
    evaluate = user.function.eval
    view = function_view()
    inward = [nullable(to_python(type, view)) for type in types]
    outward = nullable(from_python(result, RESULTS))

    def started(values: Iterable[Any]) -> Callable[[], Awaitable[Any]]:
        given = [part(value) for part, value in zip(inward, values, strict=True)]
        return lambda: evaluate(*given)

    def call(lists: Lists, count: int) -> list[Any]:
        rows = list(zip(*lists, strict=True)) if lists else [()] * count
        results = results_of(map(started, rows), settings, f"{user.name}()", rows)
        return [outward(each) for each in results]

    return call


class BatchAccumulator:
    """An aggregate function of the user that takes the columns of a whole group at once.

    What it keeps are the rows of the group, so that its state grows with them.
    """

    def __init__(
        self,
        user: UserFunction,
        types: Sequence[LogicalType],
        result: LogicalType,
        ctx: Context | None = None,
    ):
        self._opened = OpenedFunction(user, ctx)
        self._function = user.function
        self._types = tuple(types)
        self._result = result
        self._shown = _shown(user, types)

    def create(self) -> list[tuple[Any, ...]]:
        return []

    def add(self, kept: list[tuple[Any, ...]], *values: Any) -> list[tuple[Any, ...]]:
        kept.append(values)
        return kept

    def retract(self, kept: list[tuple[Any, ...]], *values: Any) -> list[tuple[Any, ...]]:
        if values in kept:
            kept.remove(values)
        return kept

    def merge(
        self, kept: list[tuple[Any, ...]], other: list[tuple[Any, ...]]
    ) -> list[tuple[Any, ...]]:
        kept.extend(other)
        return kept

    def result(self, kept: list[tuple[Any, ...]]) -> Any:
        if not kept:
            return None
        lists = zip(*kept, strict=True) if self._types else ()
        arrays = [to_arrow(list(each), t) for each, t in zip(lists, self._types, strict=True)]
        function = self._function
        accumulator = function.create_accumulator()
        function.accumulate(accumulator, *self._shown(arrays))
        return _single(function.get_value(accumulator), self._result)

    def close(self) -> None:
        self._opened.close()


def _single(value: Any, type: LogicalType) -> Any:
    """A lone value that pandas or Arrow gave, in internal form; NaN is NULL, as in a column."""
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    if value is None:
        return None
    if isinstance(type, RowType):
        names = list(type.names)
        parts = value.get_fields_by_names(names) if isinstance(value, Row) else list(value)
        return tuple(_single(part, each) for part, each in zip(parts, type.types, strict=True))
    if isinstance(type, INTEGERS) and value == value and value != int(value):
        raise wrong_value(value, type)  # Arrow would take the whole part of a lone value
    try:
        column = pa.array([value], shown_type(type), from_pandas=True)
        return from_arrow(hold_column(column, type), type)[0]
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise wrong_value(value, type) from error
