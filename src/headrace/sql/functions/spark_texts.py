"""Spark forms of functions of texts and times that hold only for certain constants."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from headrace.core.logical_types import CHARACTERS, INTEGERS, TIMESTAMPS, LogicalType
from headrace.sql.functions.spark_forms import constant_text, is_count

_PATTERN = re.compile(r"(?:[yuMdHhmsSaE]+|[^A-Za-z\[\]{}#']|'[^']*')*")
"""Letters of date patterns that mean the same to Spark, which refuses some others."""
_QUOTED = re.compile(r"[\\.\[\]{}()*+?^$|\-]")


def date_format(
    texts: Sequence[str], types: Sequence[LogicalType], _result: LogicalType
) -> str | None:
    pattern = constant_text(texts[1])
    if pattern is None or not isinstance(types[0], TIMESTAMPS) or not _PATTERN.fullmatch(pattern):
        return None
    # Spark writes "y" of a year with as many digits as it has, and of "S" at most nine.
    return f"date_format({texts[0]}, {texts[1]})"


_SINCE_1970 = {"0": "timestamp_seconds", "3": "timestamp_millis", "6": "timestamp_micros"}


def instant_of_number(
    texts: Sequence[str], types: Sequence[LogicalType], _result: LogicalType
) -> str | None:
    function = _SINCE_1970.get(texts[1] if len(texts) > 1 else "3")
    if function is None or not isinstance(types[0], INTEGERS):
        return None
    return f"{function}({texts[0]})"


def split_index(
    texts: Sequence[str], types: Sequence[LogicalType], _result: LogicalType
) -> str | None:
    delimiter = constant_text(texts[1])
    if not delimiter or not is_count(texts[2]) or not isinstance(types[1], CHARACTERS):
        return None
    expression = _QUOTED.sub(lambda found: "\\\\" + _escaped(found[0]), _escaped_quotes(delimiter))
    parts = f"split({texts[0]}, '{expression}', -1)"
    return f"IF({texts[0]} = '', NULL, get({parts}, {texts[2]}))"


def _escaped(char: str) -> str:
    return "\\\\" if char == "\\" else char


def _escaped_quotes(text: str) -> str:
    return text.replace("'", "\\'")


def regexp_extract(
    texts: Sequence[str], _types: Sequence[LogicalType], _result: LogicalType
) -> str | None:
    """Spark gives '' for what is not there; the list of all matches tells whether there is one."""
    pattern = constant_text(texts[1])
    group = texts[2] if len(texts) == 3 else "0"
    if pattern is None or not is_count(group) or not _always_takes_part(pattern, int(group)):
        return None
    return f"get(regexp_extract_all({texts[0]}, {texts[1]}, {group}), 0)"


def _always_takes_part(pattern: str, group: int) -> bool:
    """Whether a match always has that group; one that is left out is NULL to Flink."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = re._parser.parse(pattern)  # type: ignore[attr-defined]
    except (re.error, RecursionError, OverflowError):
        return False
    return group == 0 or group in set(_certain_groups(parsed))


def _certain_groups(parsed: Any) -> Iterator[int]:
    for operation, argument in parsed:
        name = str(operation)
        if name == "SUBPATTERN":
            number, _, _, inside = argument
            if number is not None:
                yield number
            yield from _certain_groups(inside)
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT") and argument[0] > 0:
            yield from _certain_groups(argument[2])
