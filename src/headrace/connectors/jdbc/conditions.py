"""Conditions of a query in a database's words.

They only spare the way: every condition is checked again, for databases compare texts by rules of
their own. So what is told to the database must let at least the rows through that are wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.connectors.jdbc.databases import Database
from headrace.connectors.jdbc.table_values import outward
from headrace.core import logical_types as lt
from headrace.core.expressions import Call, Column, Expression, Literal

_EXACT = (*lt.INTEGERS, lt.DecimalType, lt.DateType)
_COMPARISONS = {
    "EQUALS": "=",
    "NOT_EQUALS": "<>",
    "LESS_THAN": "<",
    "LESS_THAN_OR_EQUAL": "<=",
    "GREATER_THAN": ">",
    "GREATER_THAN_OR_EQUAL": ">=",
}
_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NULLS = {"IS_NULL": "IS NULL", "IS_NOT_NULL": "IS NOT NULL"}


def write_condition(
    condition: Expression, columns: Sequence[str], database: Database
) -> tuple[str, list[Any]] | None:
    """The condition with `?` for its values; None if the database need not hear of it."""
    if not isinstance(condition, Call):
        return None
    name = condition.function.name.upper().replace(" ", "_")
    match condition.arguments:
        case (Column(index=at),) if name in _NULLS:
            return f"{database.quote(columns[at])} {_NULLS[name]}", []
        case (Column() as column, Literal() as value) if name in _COMPARISONS:
            return _compare(column, _COMPARISONS[name], value, columns, database)
        case (Literal() as value, Column() as column) if name in _COMPARISONS:
            sign = _TURNED[_COMPARISONS[name]]
            return _compare(column, sign, value, columns, database)
    return None


def _compare(
    column: Column, sign: str, value: Literal, columns: Sequence[str], database: Database
) -> tuple[str, list[Any]] | None:
    texts = isinstance(column.type, lt.VarCharType) and isinstance(value.value, str)
    exact = isinstance(column.type, _EXACT) and isinstance(value.type, _EXACT)
    if value.value is None or not (exact or (texts and sign == "=")):
        return None
    (converted,) = outward([value.type], database.address.kind)((value.value,))
    return f"{database.quote(columns[column.index])} {sign} ?", [converted]
