"""Expressions of the Table API as the calls that Flink shows: `plus(a, 1)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.sql import unresolved as un

_NAMES = {
    "NEGATE": "minusPrefix",
    "ITEM": "at",
    "FLOOR_TO": "floor",
    "CEIL_TO": "ceil",
    "$FLATTEN": "flatten",
    "$WITH_COLUMNS": "withColumns",
    "$WITHOUT_COLUMNS": "withoutColumns",
    "$RANGE": "rangeTo",
    "LIKE": "LIKE",
    "SOURCE_WATERMARK": "SOURCE_WATERMARK",
    "WINDOW_START": "start",
    "WINDOW_END": "end",
    "WINDOW_ROWTIME": "rowtime",
    "WINDOW_PROCTIME": "proctime",
}
"""Functions whose call is not their name in SQL."""
_TRIMMED = {"BOTH": "true, true", "LEADING": "true, false", "TRAILING": "false, true"}
_BARE = frozenset({"EXTRACT", "FLOOR_TO", "CEIL_TO", "TIMESTAMPDIFF", "$RANGE"})
"""Functions that take units or names, which are no texts."""


def call_text(node: un.Unresolved) -> str:
    """The expression as Flink shows it."""
    for kind, form in _FORMS.items():
        if isinstance(node, kind):
            return form(node)
    return str(node)


def _calls(name: str, *arguments: un.Unresolved) -> str:
    return f"{name}({', '.join(map(call_text, arguments))})"


def _value(node: un.Value) -> str:
    value = node.value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, str) else str(value)


def _apply(node: un.Apply) -> str:
    given = [call_text(each) for each in node.arguments]
    if node.function == "TRIM" and len(given) == 3:
        given = [_TRIMMED.get(given[0].strip("'"), given[0]), *given[1:]]
    elif node.function in _BARE:
        given = [text.strip("'") for text in given]
    text = f"{_NAMES.get(node.function) or _camel(node.function)}({', '.join(given)})"
    return f"distinct({text})" if node.distinct else text


def _camel(name: str) -> str:
    first, *others = name.lower().split("_")
    return first + "".join(word.capitalize() for word in others)


def _case(node: un.Case) -> str:
    text = "null" if node.otherwise is None else call_text(node.otherwise)
    for condition, result in reversed(node.branches):
        text = f"ifThenElse({call_text(condition)}, {call_text(result)}, {text})"
    return text


def _alias(node: un.Alias) -> str:
    names = ", ".join(f"'{name}'" for name in (node.name, *node.more))
    return f"as({call_text(node.operand)}, {names})"


_FORMS: dict[type[Any], Callable[[Any], str]] = {
    un.Value: _value,
    un.Alias: _alias,
    un.Apply: _apply,
    un.Case: _case,
    un.UserApply: lambda node: _calls(node.function.name, *node.arguments),
    un.CastTo: lambda node: f"cast({call_text(node.operand)}, {node.type})",
    un.FieldOf: lambda node: f"get({call_text(node.operand)}, '{node.name}')",
    un.RowOf: lambda node: _calls("row", *node.items),
    un.SortItem: lambda node: _calls("asc" if node.ascending else "desc", node.operand),
}
