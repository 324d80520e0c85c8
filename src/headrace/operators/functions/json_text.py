"""JSON texts: reading them as Flink does, and writing values with sorted keys."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

from headrace.operators.functions.numbers import double_text

_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_SPACE = " \t\n\r"


class InvalidJson(ValueError):
    """A text that is no JSON."""


class Fragment:
    """A text that is JSON already, to be written as it stands."""

    __slots__ = ("text",)

    def __init__(self, text: str):
        self.text = text


def _refused(name: str) -> Any:
    raise InvalidJson(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_refused)


def parsed(text: str) -> Any:
    """The first value of the text; what follows it is not looked at. Fractions are decimals."""
    start = len(text) - len(text.lstrip(_SPACE))
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidJson(f"{text!r} is no JSON: {error}") from None
    scalar = text[start] not in '{["'
    if scalar and end < len(text) and text[end] not in _SPACE:
        raise InvalidJson(f"{text!r} is no JSON: something follows character {end}")
    return value


def quoted(text: str) -> str:
    """A JSON string."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or f"\\u{ord(found[0]):04X}"


def written(value: Any) -> str:
    """The value as JSON without blanks, keys in order."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Fragment):
        return value.text
    if isinstance(value, dict):
        pairs = (f"{quoted(key)}:{written(value[key])}" for key in sorted(value))
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(written, value))}]"
    return number_text(value)


def number_text(value: Decimal | float) -> str:
    """A fraction as Java writes it."""
    if isinstance(value, Decimal):
        return str(value)
    text = double_text(value)
    return text if math.isfinite(value) else quoted(text)
