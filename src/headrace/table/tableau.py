"""Rows in a frame of characters, as Flink's client draws it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from headrace.core.logical_types import (
    NUMERIC,
    BooleanType,
    CharType,
    DateType,
    Field,
    LocalZonedTimestampType,
    LogicalType,
    TimestampType,
    TimeType,
    VarCharType,
)
from headrace.core.table_connector import KIND_TEXTS
from headrace.operators.functions.text_forms import writer

_WIDEST = 30
_WIDTHS = {
    "TINYINT": 4, "SMALLINT": 6, "INT": 11, "BIGINT": 20, "FLOAT": 30, "DOUBLE": 30, "BOOLEAN": 7,
    "DATE": 10,
}  # fmt: skip


class Tableau:
    """Draws rows. `fixed`: widths by type, for rows that come one by one; else by content."""

    def __init__(self, fields: Sequence[Field], *, with_kinds: bool, fixed: bool):
        self._fields = fields
        self._with_kinds = with_kinds
        self._fixed = fixed

    def lines(self, changes: Iterable[tuple[Any, ...]]) -> Iterator[str]:
        names = [field.name for field in self._fields]
        heads = ["op", *names] if self._with_kinds else names
        texts: Iterator[list[str]] = (self._texts(change) for change in changes)
        if self._fixed:
            widths = [2] * self._with_kinds + [_fixed_width(field) for field in self._fields]
        else:
            kept = list(texts)
            columns = zip(heads, *kept, strict=True)
            widths = [min(_WIDEST, max(map(_columns_of, column))) for column in columns]
            texts = iter(kept)
        if not heads:
            yield "Empty set"
            return
        yield from self._drawn(heads, widths, texts)

    def _drawn(
        self, heads: list[str], widths: list[int], rows: Iterator[list[str]]
    ) -> Iterator[str]:
        first = next(rows, None)
        if first is None:
            yield "Empty set"
            return
        rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
        yield from (rule, _line(heads, widths), rule)
        count = 0
        for row in chain((first,), rows):
            count += 1
            yield _line(row, widths)
        yield rule
        yield f"{count} {'row' if count == 1 else 'rows'} in set"

    def _texts(self, change: tuple[Any, ...]) -> list[str]:
        kinds = [KIND_TEXTS[change[0]]] if self._with_kinds else []
        values = zip(change[1:], self._fields, strict=True)
        return kinds + [shown(value, field.type) for value, field in values]


def shown(value: Any, type: LogicalType) -> str:
    """A value as CAST(… AS STRING) writes it."""
    return "<NULL>" if value is None else writer(type)(value)


def _fixed_width(field: Field) -> int:
    name = _columns_of(field.name)
    match field.type:
        case CharType() | VarCharType():
            own = min(_WIDEST, field.type.length)
        case TimestampType(precision=digits) | LocalZonedTimestampType(precision=digits):
            own = 19 + (digits + 1 if digits else 0)
        case TimeType(precision=digits):
            own = 8 + (digits + 1 if digits else 0)
        case BooleanType() | DateType():
            own = _WIDTHS[field.type.with_nullable(True).name()]
        case _ if isinstance(field.type, NUMERIC):
            own = _WIDTHS.get(field.type.name(), _WIDEST)
        case _:
            own = _WIDEST
    return max(own, name) if own < _WIDEST else max(min(name, _WIDEST), own)


def _columns_of(text: str) -> int:
    """How many places a text takes: characters of East Asian scripts take two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    cells = []
    for text, width in zip(texts, widths, strict=True):
        if _columns_of(text) > width:
            text = _cut(text, width)
        cells.append(" " * (width - _columns_of(text)) + text)
    return "| " + " | ".join(cells) + " |"


def _cut(text: str, width: int) -> str:
    while _columns_of(text) > width - 4:
        text = text[:-1]
    return text + " ..."
