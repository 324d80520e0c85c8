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
    "CONCAT_WS": "concat_ws",
    "FIRST_VALUE": "first_value",
    "INITCAP": "initCap",
    "LAST_VALUE": "last_value",
    "LISTAGG": "listAgg",
    "LOCALTIME": "localTime",
    "LOCALTIMESTAMP": "localTimestamp",
    "OVERLAPS": "temporalOverlaps",
    "REGEXP_EXTRACT": "regexpExtract",
    "REGEXP_REPLACE": "regexpReplace",
    "TIMESTAMPDIFF": "timestampDiff",
    "TRANSLATE": "TRANSLATE3",
    "WINDOW_START": "start",
    "WINDOW_END": "end",
    "WINDOW_ROWTIME": "rowtime",
    "WINDOW_PROCTIME": "proctime",
}
"""Functions whose call is not their name in SQL."""
_AS_IN_SQL = frozenset(
    {
        "BTRIM", "COALESCE", "CURRENT_WATERMARK", "ELT", "ENDSWITH", "IFNULL", "IS_JSON", "JSON",
        "LIKE", "PERCENTILE", "PRINTF", "SOURCE_WATERMARK", "SPLIT", "STARTSWITH",
        "TO_TIMESTAMP_LTZ", "UNHEX",
    }
)  # fmt: skip
_FAMILIES_AS_IN_SQL = ("ARRAY_", "BITMAP_", "INET_", "JSON_", "MAP_", "REGEXP_", "URL_")
"""Flink's newer functions are called by their names in SQL."""
_TRIMMED = {"BOTH": "true, true", "LEADING": "true, false", "TRAILING": "false, true"}
_BARE = frozenset({"EXTRACT", "FLOOR_TO", "CEIL_TO", "TIMESTAMPDIFF", "$RANGE"})
"""Functions that take units or names, which are no texts."""
_WORDS_AFTER = {"IS_JSON": 1, "JSON_EXISTS": 2, "JSON_QUERY": 2, "JSON_VALUE": 2}
"""Functions whose further texts are words of Flink."""
_WRAPPERS = ("WITHOUT", "CONDITIONAL", "UNCONDITIONAL")


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
    if isinstance(value, bytes | bytearray):
        return str(list(value))
    return _quoted(value) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _apply(node: un.Apply) -> str:
    name, given = node.function, [call_text(each) for each in node.arguments]
    if name == "TRIM" and len(given) == 3:
        given = [_TRIMMED.get(given[0].strip("'"), given[0]), *given[1:]]
    elif name in _BARE:
        given = [text.strip("'") for text in given]
    elif name in _WORDS_AFTER:
        given = _with_words(name, given)
    elif name == "LISTAGG" and len(given) == 1:
        given = [*given, "','"]
    elif name in ("JSON_OBJECTAGG", "JSON_ARRAYAGG"):
        name, given = f"{name}_{given[-1][1:-1]}_ON_NULL", given[:-1]
    return _of_rows(node, f"{'.'.join((*node.path, _called(name)))}({', '.join(given)})")


def _with_words(name: str, given: list[str]) -> list[str]:
    first = _WORDS_AFTER[name]
    words = [word[1:-1].replace(" ", "_") if word[0] == "'" else word for word in given[first:]]
    if name == "JSON_QUERY":
        words = [f"{word}_ARRAY" if word in _WRAPPERS else word for word in words]
    return [*given[:first], *words]


def _of_rows(node: un.Apply | un.UserApply, text: str) -> str:
    """A call with what says which rows it is about."""
    if node.distinct:
        text = f"distinct({text})"
    if node.over is not None and node.over.window is not None:
        text = f"over({text}, {node.over.window})"
    return text


def _called(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    as_in_sql = name in _AS_IN_SQL or name.startswith(_FAMILIES_AS_IN_SQL)
    if as_in_sql or not name.isupper():  # of others' functions the name as it was written
        return name
    first, *others = name.lower().split("_")
    return first + "".join(word.capitalize() for word in others)


def _user_apply(node: un.UserApply) -> str:
    return _of_rows(node, _calls(node.function.name, *node.arguments))


def _cast(node: un.CastTo) -> str:
    if isinstance(node.operand, un.Value) and node.at is node.operand.at:
        return call_text(node.operand)  # the type that lit() was given, written with the value
    return f"{'TRY_CAST' if node.safe else 'cast'}({call_text(node.operand)}, {node.type})"


def _field(node: un.FieldOf) -> str:
    place = _quoted(node.name) if isinstance(node.name, str) else node.name  # or a number
    return f"get({call_text(node.operand)}, {place})"


def _argument(node: un.NamedArgument) -> str:
    value = "DEFAULT()" if node.value is None else call_text(node.value)
    return f"ASSIGNMENT({_quoted(node.name)}, {value})"


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
    un.UserApply: _user_apply,
    un.CastTo: _cast,
    un.NamedArgument: _argument,
    un.Star: lambda node: ".".join((*node.qualifier, "*")),
    un.FieldOf: _field,
    un.RowOf: lambda node: _calls("row", *node.items),
    un.SortItem: lambda node: _calls("asc" if node.ascending else "desc", node.operand),
}
