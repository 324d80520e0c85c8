"""JSON_VALUE, JSON_QUERY, JSON_EXISTS, IS JSON and quoting."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType
from headrace.errors import InvalidArgument
from headrace.operators.functions.json_path import PathError, json_path
from headrace.operators.functions.json_text import InvalidJson, number_text, parsed, written

_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ESCAPE = re.compile(r"\\(?:(u[0-9a-fA-F]{4})|(.))", re.DOTALL)
_TO_QUOTE = re.compile(r'[\x00-\x1f"\\/\x7f-\U0010ffff]')
_QUOTED = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"',
           "\\": "\\\\", "/": "\\/"}  # fmt: skip

_document = lru_cache(maxsize=8)(parsed)


def is_json(text: str | None, kind: str = "VALUE") -> bool:
    if text is None:
        return False
    try:
        value = parsed(text)
    except InvalidJson:
        return False
    if kind == "VALUE":
        return True
    if kind == "SCALAR":
        return not isinstance(value, dict | list)
    return isinstance(value, dict if kind == "OBJECT" else list)


def is_not_json(text: str | None, kind: str = "VALUE") -> bool:
    return not is_json(text, kind)


class _Reading:
    """What a path finds in a text: a value, or an error."""

    __slots__ = ("error", "lax", "value")

    def __init__(self, text: str, path: str):
        self.value: Any = None
        self.error: Exception | None = None
        self.lax = False
        try:
            steps = json_path(path)
        except PathError as error:
            self.error = error
            return
        self.lax = steps.lax
        try:
            self.value = steps.read(_document(text))
            if self.value is None and not self.lax:
                self.error = PathError("a strict path leads to null")
        except InvalidJson as error:
            self.error = None if self.lax else error
        except PathError as error:
            self.error = None if self.lax else error
            self.value = None if not self.lax or steps.definite else []


def exists(text: str, path: str, on_error: str = "FALSE") -> bool | None:
    reading = _Reading(text, path)
    if reading.error is None:
        return reading.value is not None
    if on_error == "ERROR":
        raise _failure("JSON_EXISTS", reading.error)
    return None if on_error == "UNKNOWN" else on_error == "TRUE"


def json_value(types: Sequence[LogicalType], result: LogicalType) -> Callable[..., Any]:
    """Called with (text, path, on empty, its default, on error, its default)."""
    convert = _scalar_as(result)

    def call(
        text: str | None, path: str | None, _type: Any, on_empty: str, if_empty: Any,
        on_error: str, if_error: Any,
    ) -> Any:  # fmt: skip
        if text is None or path is None:
            return None
        reading = _Reading(text, path)
        value, error = reading.value, reading.error
        nested = isinstance(value, dict | list)
        if error is None and (value is None or (reading.lax and nested)):
            if on_empty == "ERROR":
                raise _failure("JSON_VALUE", ValueError("the path leads to nothing"))
            return if_empty if on_empty == "DEFAULT" else None
        if error is None and nested:
            error = ValueError("a strict path leads to an object or array, not to a scalar")
        if error is None:
            return convert(value)
        if on_error == "ERROR":
            raise _failure("JSON_VALUE", error)
        return if_error if on_error == "DEFAULT" else None

    return call


def _failure(function: str, error: Exception) -> InvalidArgument:
    return InvalidArgument(
        f"{function} failed: {error}", hint="NULL ON EMPTY and NULL ON ERROR give NULL instead."
    )


def _scalar_as(type: LogicalType) -> Callable[[Any], Any]:
    """Converts a scalar of JSON to what RETURNING asks for."""
    if isinstance(type, lt.BooleanType):
        return _checked(type, bool, lambda value: value)
    if isinstance(type, lt.IntType):
        return _checked(type, int, lambda value: value)
    if isinstance(type, lt.DoubleType):
        return _checked(type, (int, Decimal, float), float)
    return _scalar_text


def _checked(type: LogicalType, kinds: Any, convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        fits = isinstance(value, kinds) and isinstance(value, bool) == (kinds is bool)
        if not fits:
            raise InvalidArgument(
                f"JSON_VALUE found {written(value)}, which is no {type.name()}",
                hint="Leave RETURNING out and use TRY_CAST on the text.",
            )
        return convert(value)

    return checked


def _scalar_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else number_text(value)


def query(
    text: str | None, path: str | None, wrapper: str, on_empty: str, on_error: str, *, array: bool
) -> Any:
    """`array`: the result is an array of texts, not a text."""
    if text is None or path is None:
        return None
    reading = _Reading(text, path)
    value, error = reading.value, reading.error
    if value is not None and (
        wrapper == "UNCONDITIONAL" or (wrapper == "CONDITIONAL" and not isinstance(value, list))
    ):
        value = [value]
    scalar = not isinstance(value, dict | list)
    if error is None and (value is None or (reading.lax and scalar)):
        return _substitute(on_empty, array, ValueError("the path leads to no object or array"))
    if error is None and scalar:
        error = ValueError("a strict path leads to a scalar, not to an object or array")
    if error is None and array and not isinstance(value, list):
        error = ValueError("the path leads to an object, not to an array")
    if error is not None:
        return _substitute(on_error, array, error)
    return tuple(map(_element, value)) if array else written(value)


def _element(value: Any) -> str | None:
    if value is None:
        return None
    return written(value) if isinstance(value, dict | list) else _scalar_text(value)


def _substitute(behaviour: str, array: bool, error: Exception) -> Any:
    if behaviour == "ERROR":
        raise _failure("JSON_QUERY", error)
    if behaviour == "EMPTY ARRAY":
        return () if array else "[]"
    return "{}" if behaviour == "EMPTY OBJECT" else None


def json_query(types: Sequence[LogicalType], result: LogicalType) -> Callable[..., Any]:
    array = isinstance(result, lt.ArrayType)

    def call(*arguments: Any) -> Any:
        text, path, _type, wrapper, on_empty, on_error = arguments
        return query(text, path, wrapper, on_empty, on_error, array=array)

    return call


def quote(text: str) -> str:
    """A JSON string of ASCII only."""
    return f'"{_TO_QUOTE.sub(_quoted, text)}"'


def _quoted(found: re.Match[str]) -> str:
    char = found[0]
    units = char.encode("utf-16-be")
    return _QUOTED.get(char) or "".join(
        f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2)
    )


def unquote(text: str) -> str:
    """The text of a JSON string; anything else as it is."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"' or not is_json(text):
        return text
    try:
        plain = _ESCAPE.sub(_unescaped, text[1:-1])
    except KeyError:
        return text
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1][1:], 16)) if found[1] else _ESCAPES[found[2]]
