"""From the texts of a CSV record to a typed row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.basic_types import BasicType, BasicTypeInfo
from headrace.core.rows import Row, named_row
from headrace.core.types import RowTypeInfo, TypeInformation
from headrace.formats.bad_lines import bad_line
from headrace.formats.csv_dialect import CsvDialect
from headrace.formats.decimals import fit_decimal
from headrace.formats.text_values import TextReader, Unreadable, element_type, text_reader

__all__ = ["CsvColumns"]

_EXACT: dict[BasicType, type] = {BasicType.DOUBLE: float, BasicType.FLOAT: float}
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    type_info: TypeInformation
    read: TextReader


class CsvColumns:
    """The columns of a row type, in order."""

    def __init__(
        self,
        row_type: RowTypeInfo,
        dialect: CsvDialect,
        array_delimiters: dict[str, str] | None = None,
    ):
        self.names = row_type.names()
        self._dialect = dialect
        delimiters = array_delimiters or {}
        logical = row_type.column_types or [None] * len(self.names)
        self._columns = [
            _Column(
                name, kind, field_reader(kind, delimiters.get(name, dialect.array_delimiter), t)
            )
            for name, kind, t in zip(self.names, row_type.field_types, logical, strict=True)
        ]

    def rows(self, records: Sequence[list[str]]) -> list[Row] | None:
        """All rows at once, column by column; None when a record is not as it should be."""
        try:
            columns = list(zip(*records, strict=True))
            if len(columns) != len(self._columns):
                return None if records else []
            values = [self._whole(column, texts) for column, texts in zip(self._columns, columns)]  # noqa: B905
        except ValueError:
            return None
        names = self.names
        return [named_row(names, list(fields)) for fields in zip(*values)]  # noqa: B905

    def _whole(self, column: _Column, texts: Sequence[str]) -> Sequence[Any]:
        null = self._dialect.null_literal
        if null is not None and null in texts:
            return [None if text == null else column.read(text) for text in texts]
        kind = column.type_info
        if isinstance(kind, BasicTypeInfo):
            if kind.basic_type is BasicType.STRING:
                return texts
            if kind.basic_type is BasicType.BOOLEAN and _BOOLEANS.keys() >= set(texts):
                return list(map(_BOOLEANS.__getitem__, texts))
            fast = int if kind.bounds() is not None else _EXACT.get(kind.basic_type)
            # Python takes more than a number needs: the careful way decides on those.
            if fast is not None and (together := "".join(texts)).isascii() and "_" not in together:
                return _within(list(map(fast, texts)), kind, texts)
        return list(map(column.read, texts))

    def row(self, fields: list[str], content: str, where: str = "") -> Row:
        """One row; a field that cannot be read is an error that names it."""
        self._check_width(fields, content, where)
        values = []
        for column, text in zip(self._columns, fields, strict=True):
            try:
                values.append(self._value(column, text))
            except Unreadable as error:
                raise bad_line("CSV", content, f"field {column.name!r}: {error}", where) from None
        return named_row(self.names, values)

    def lenient_row(self, fields: list[str]) -> Row | None:
        """One row; what cannot be read or is missing is null. None when there is too much."""
        if len(fields) > len(self._columns):
            return None
        values: list[Any] = [None] * len(self._columns)
        for number, (column, text) in enumerate(zip(self._columns, fields, strict=False)):
            try:
                values[number] = self._value(column, text)
            except Unreadable:
                values[number] = None
        return named_row(self.names, values)

    def _value(self, column: _Column, text: str) -> Any:
        return None if text == self._dialect.null_literal else column.read(text)

    def _check_width(self, fields: list[str], content: str, where: str) -> None:
        if len(fields) != len(self._columns):
            expected = f"{len(self._columns)} fields ({', '.join(self.names)})"
            raise bad_line("CSV", content, f"it has {len(fields)} fields, not {expected}", where)


def _within(numbers: list[Any], kind: BasicTypeInfo, texts: Sequence[str]) -> list[Any]:
    bounds = kind.bounds()
    if bounds is not None and not bounds[0] <= min(numbers) <= max(numbers) <= bounds[1]:
        raise Unreadable(texts, kind.label())
    return numbers


def field_reader(
    kind: TypeInformation, delimiter: str, logical: lt.LogicalType | None = None
) -> TextReader:
    """Reads a field; arrays and nested rows are parts with a delimiter between them."""
    if isinstance(kind, RowTypeInfo):
        return _nested_row_reader(kind, delimiter)
    element = element_type(kind)
    if element is None:
        return _single_reader(kind, logical)
    read = _single_reader(element, logical.element if isinstance(logical, lt.ArrayType) else None)

    def array(text: str) -> list[Any]:
        if not text:
            return []
        return [read(part) for part in (text.split(delimiter) if delimiter else (text,))]

    return array


def _single_reader(kind: TypeInformation, logical: lt.LogicalType | None) -> TextReader:
    read, fit = text_reader(kind), fit_decimal(logical)
    return read if fit is None else lambda text: fit(read(text))


def _nested_row_reader(kind: RowTypeInfo, delimiter: str) -> TextReader:
    names = kind.names()
    readers = [text_reader(field) for field in kind.field_types]

    def nested(text: str) -> Row:
        parts = text.split(delimiter)
        if len(parts) != len(readers):
            raise Unreadable(text, f"a row of {len(readers)} parts with {delimiter!r} between them")
        return named_row(names, [read(part) for read, part in zip(readers, parts, strict=True)])

    return nested
