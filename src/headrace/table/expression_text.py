"""Expressions of the Table API as SQL text, for what catalogs keep as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import logical_types as lt
from headrace.errors import Unsupported
from headrace.sql import unresolved as un

_INFIX = {
    "PLUS": "+", "MINUS": "-", "TIMES": "*", "DIVIDE": "/", "EQUALS": "=", "NOT_EQUALS": "<>",
    "LESS_THAN": "<", "LESS_THAN_OR_EQUAL": "<=", "GREATER_THAN": ">",
    "GREATER_THAN_OR_EQUAL": ">=", "AND": "AND", "OR": "OR", "LIKE": "LIKE", "CONCAT2": "||",
}  # fmt: skip
_SUFFIX = {
    "IS_NULL": "IS NULL", "IS_NOT_NULL": "IS NOT NULL", "IS_TRUE": "IS TRUE",
    "IS_NOT_TRUE": "IS NOT TRUE", "IS_FALSE": "IS FALSE", "IS_NOT_FALSE": "IS NOT FALSE",
}  # fmt: skip
_SPECIAL: dict[str, Callable[[list[str]], str]] = {
    "NEGATE": lambda given: f"(- {given[0]})",
    "NOT": lambda given: f"(NOT {given[0]})",
    "BETWEEN": lambda given: f"({given[0]} BETWEEN {given[1]} AND {given[2]})",
    "IN": lambda given: f"({given[0]} IN ({', '.join(given[1:])}))",
    "ARRAY": lambda given: f"ARRAY[{', '.join(given)}]",
    "MAP": lambda given: f"MAP[{', '.join(given)}]",
    "ITEM": lambda given: f"{given[0]}[{given[1]}]",
    "EXTRACT": lambda given: f"EXTRACT({given[0][1:-1]} FROM {given[1]})",
    "FLOOR_TO": lambda given: f"FLOOR({given[0]} TO {given[1][1:-1]})",
    "CEIL_TO": lambda given: f"CEIL({given[0]} TO {given[1][1:-1]})",
}


def sql_text(node: un.Unresolved) -> str:
    """The expression as SQL."""
    match node:
        case un.Name(parts=parts):
            return ".".join(f"`{part.replace('`', '``')}`" for part in parts)
        case un.Value(value=value, type=type):
            return _literal(value, type)
        case un.CastTo(operand=operand, type=type, safe=safe):
            return f"{'TRY_CAST' if safe else 'CAST'}({sql_text(operand)} AS {type.name()})"
        case un.FieldOf(operand=operand, name=name):
            return f"({sql_text(operand)}).`{name}`"
        case un.Alias(operand=operand):
            return sql_text(operand)
        case un.Case(branches=branches, otherwise=otherwise):
            whens = " ".join(f"WHEN {sql_text(c)} THEN {sql_text(r)}" for c, r in branches)
            end = "" if otherwise is None else f" ELSE {sql_text(otherwise)}"
            return f"CASE {whens}{end} END"
        case un.Apply():
            return _applied(node)
    raise Unsupported(f"{node} cannot be kept as SQL", origin=node.at, hint="Write it as SQL text.")


def _applied(node: un.Apply) -> str:
    given = [sql_text(each) for each in node.arguments]
    name = node.function
    if name in _INFIX and len(given) == 2:
        return f"({given[0]} {_INFIX[name]} {given[1]})"
    if name in _SUFFIX:
        return f"({given[0]} {_SUFFIX[name]})"
    if name in _SPECIAL:
        return _SPECIAL[name](given)
    path = ".".join(f"`{part}`" for part in node.path)
    return f"{path}{'.' if path else ''}{name}({', '.join(given)})"


def _literal(value: Any, type: lt.LogicalType | None) -> str:
    if value is None:
        return "NULL" if type is None else f"CAST(NULL AS {type.name()})"
    if isinstance(type, lt.YearMonthIntervalType):
        return f"INTERVAL '{value}' MONTH"
    if isinstance(type, lt.DayTimeIntervalType):
        return f"INTERVAL '{value // 1000}.{value % 1000:03}' SECOND"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, float):
        return f"{value!r}E0" if "e" not in repr(value) else repr(value)
    if isinstance(value, int):
        return str(value)
    return f"CAST('{value}' AS STRING)" if type is None else f"CAST('{value}' AS {type.name()})"
