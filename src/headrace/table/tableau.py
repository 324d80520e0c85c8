"""Rows in a frame of characters, as Flink draws it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from headrace.core.logical_types import (
    BigIntType,
    BooleanType,
    DateType,
    DecimalType,
    Field,
    IntType,
    LocalZonedTimestampType,
    LogicalType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
)
from headrace.core.table_connector import KIND_TEXTS
from headrace.operators.functions.text_forms import writer

NULL = "<NULL>"
WIDEST = 30
"""Flink's default of table.display.max-column-width."""
_CUT = "..."


class Tableau:
    """Draws rows. `fixed`: widths by type, for rows that come one by one; else by content.

    `widest` is the most places of a column whose type does not say how long values are; None: as
    many as they need. `null` stands for NULL.
    """

    def __init__(
        self,
        fields: Sequence[Field],
        *,
        with_kinds: bool,
        fixed: bool,
        widest: int | None = WIDEST,
        null: str = NULL,
    ):
        self._fields = fields
        self._with_kinds = with_kinds
        self._fixed = fixed
        self._widest = widest
        self._null = null

    def lines(self, changes: Iterable[tuple[Any, ...]]) -> Iterator[str]:
        rows = (self._texts(change) for change in changes)
        first = next(rows, None)
        if first is None:
            yield "Empty set"
            return
        texts: Iterable[list[str]] = chain((first,), rows)
        names = [field.name for field in self._fields]
        heads = ["op", *names] if self._with_kinds else names
        if self._fixed:
            widths = [2] * self._with_kinds + [self._width(field) for field in self._fields]
        else:
            texts = list(texts)
            widths = [
                self._measure(head, column) for head, *column in zip(heads, *texts, strict=True)
            ]
        yield from _draw(heads, widths, texts)

    def _texts(self, change: tuple[Any, ...]) -> list[str]:
        kinds = [KIND_TEXTS[change[0]]] if self._with_kinds else []
        values = zip(change[1:], self._fields, strict=True)
        return kinds + [shown(value, field.type, self._null) for value, field in values]

    def _measure(self, head: str, column: Sequence[str]) -> int:
        needed = max(_units(head), *map(_places, column))
        return needed if self._widest is None else min(self._widest, needed)

    def _width(self, field: Field) -> int:
        own = _width_of_type(field.type)
        if own is None:
            own = WIDEST if self._widest is None else self._widest
        return max(own, len(self._null), _units(field.name))


def shown(value: Any, type: LogicalType, null: str = NULL) -> str:
    """A value as CAST(… AS STRING) writes it, but bytes as digits."""
    return null if value is None else writer(type, printing=True)(value)


def _width_of_type(type: LogicalType) -> int | None:
    """The places that the longest value takes; None: it may be of any length."""
    match type:
        case TinyIntType():
            return 4
        case SmallIntType():
            return 6
        case IntType():
            return 11
        case BigIntType():
            return 20
        case DecimalType(precision=digits):
            return digits + 2
        case BooleanType():
            return 5
        case DateType():
            return 10
        case TimestampType(precision=digits) | LocalZonedTimestampType(precision=digits):
            return 19 + (digits + 1 if digits else 0)
        case TimeType(precision=digits):
            return 8 + (digits + 1 if digits else 0)
    return None


def _draw(
    heads: Sequence[str], widths: Sequence[int], rows: Iterable[Sequence[str]]
) -> Iterator[str]:
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    yield from (rule, _line(heads, widths), rule)
    count = 0
    for row in rows:
        count += 1
        yield _line(row, widths)
    yield rule
    yield f"{count} {'row' if count == 1 else 'rows'} in set"


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(map(_cell, texts, widths)) + " |"


def _cell(text: str, width: int) -> str:
    lacking = width - _places(text)
    return " " * lacking + text if lacking >= 0 else _cut(text, width - len(_CUT)) + _CUT


def _cut(text: str, width: int) -> str:
    kept = taken = 0
    for char in text:
        taken += _places(char)
        if taken > width:
            break
        kept += 1
    start = text[:kept]
    return " " * (width - _places(start)) + start


def _units(text: str) -> int:
    """The length as Flink counts it: characters beyond U+FFFF are two."""
    return len(text) + sum(char > "\uffff" for char in text)


def _places(text: str) -> int:
    """How many places Flink gives a text: wide characters of East Asian scripts take one more."""
    return _units(text) + sum(unicodedata.east_asian_width(char) in "WF" for char in text)
