"""How rows of tables are dealt out by key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from headrace.core.expressions import Expression
from headrace.core.logical_types import APPROXIMATE, LogicalType, MapType, MultisetType
from headrace.errors import Unsupported
from headrace.operators.table.compiled import compiled_values
from headrace.operators.table.not_a_number import NumbersAsKeys
from headrace.plan.relational.equi import column_keys

Selector = Callable[[Any], Any]


def row_key(columns: Sequence[int], types: Sequence[LogicalType]) -> Selector:
    """From a row (kind, column, …) to the tuple of some columns, of these types, as a key."""
    return _equal_to_itself(key_of_columns(columns), types)


def _equal_to_itself(key_of: Selector, types: Sequence[LogicalType]) -> Selector:
    numbers = [place for place, type in enumerate(types) if isinstance(type, APPROXIMATE)]
    return NumbersAsKeys(key_of, numbers) if numbers else key_of


def key_of_columns(columns: Sequence[int]) -> Selector:
    """From a row (kind, column, …) to the tuple of some columns; of none, the empty tuple."""
    if not columns:
        return itemgetter(slice(0, 0))
    places = [column + 1 for column in columns]
    if places == list(range(places[0], places[0] + len(places))):
        # A slice is a tuple even of one column.
        return itemgetter(slice(places[0], places[-1] + 1))
    return itemgetter(*places)


def key_of_expressions(expressions: tuple[Expression, ...]) -> Selector:
    columns = column_keys(expressions)
    key_of = key_of_columns(columns) if columns is not None else compiled_values(expressions)
    return _equal_to_itself(key_of, [each.type for each in expressions])


def check_key_types(types: Sequence[LogicalType], what: str) -> None:
    """Maps have no order and no hash: rows cannot be dealt out by one."""
    for type in types:
        if isinstance(type, MapType | MultisetType):
            raise Unsupported(
                f"{what} by a column of type {type.name()}",
                hint="Use a column of another type, such as the map's keys.",
            )
