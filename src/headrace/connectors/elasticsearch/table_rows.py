"""From changes of a table to actions on documents."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from headrace.connectors.elasticsearch.bulk import BulkAction
from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType, RowType
from headrace.core.table_connector import DELETE, INSERT, UPDATE_BEFORE
from headrace.core.table_values import text_of
from headrace.errors import InvalidArgument, UnfitValue
from headrace.formats.messages.message_format import MessageFormat
from headrace.operators.functions.date_patterns import written

__all__ = ["IndexPattern", "RowActions", "check_key", "parse_index"]

_PART = re.compile(r"\{(?P<field>[^{}|]*)(\|(?P<format>[^{}]*))?\}")
_NOW = ("now()", "now", "current_timestamp")
_DAY_NANOS = 86_400 * 10**9
_NOT_IN_KEYS = (lt.ArrayType, lt.MapType, lt.MultisetType, lt.RowType, *lt.BINARIES)
Values = Sequence[Any]
Text = Callable[[Values], str]


@dataclass(frozen=True)
class IndexPattern:
    """The name of an index: `before`, then what `column` holds, then `after`."""

    before: str
    column: int | None = None
    """The column it depends on; None with a format: the clock; None without: nothing."""
    format: str | None = None
    after: str = ""

    @property
    def by_the_clock(self) -> bool:
        """Whether it depends on when a row is written."""
        return self.column is None and self.format is not None

    def namer(self, row: RowType) -> Text:
        before, at, pattern, after = self.before, self.column, self.format, self.after
        if at is None and pattern is None:
            return lambda values: before
        if at is None:
            return lambda values: f"{before}{written(time.time_ns(), UTC, pattern or '')}{after}"
        text = _dated(row.types[at], pattern) if pattern else _text(row.types[at])
        column = row.names[at]

        def name(values: Values) -> str:
            value = values[at]
            if value is None:
                raise UnfitValue(f"column {column!r}, which is in the name of the index, is NULL")
            return f"{before}{text(value)}{after}"

        return name


def parse_index(index: str, row: RowType) -> IndexPattern:
    """An index as the option says it: `users`, `users-{region}`, `logs-{at|yyyy-MM-dd}`."""
    found = list(_PART.finditer(index))
    if not found:
        return IndexPattern(index)
    if len(found) > 1:
        raise InvalidArgument(f"'index' = '{index}' has more than one part in braces")
    [part] = found
    field, pattern = part["field"].strip(), part["format"]
    before, after = index[: part.start()], index[part.end() :]
    if field not in row.names and field.lower().replace(" ", "") in _NOW:
        return IndexPattern(before, None, pattern or "yyyy_MM_dd", after)
    if field not in row.names:
        raise InvalidArgument(
            f"'index' = '{index}' names a column '{field}' that the table does not have",
            hint=f"There are: {', '.join(row.names)}.",
        )
    at = row.names.index(field)
    if pattern is not None and not isinstance(row.types[at], lt.DATETIMES):
        raise InvalidArgument(
            f"'index' = '{index}' has a format of dates for column '{field}' of type "
            f"{row.types[at]}",
            hint="Only columns of dates and times have such a format.",
        )
    if pattern == "":
        pattern = "yyyy_MM_dd"
    return IndexPattern(before, at, pattern, after)


def _dated(type: LogicalType, pattern: str) -> Callable[[Any], str]:
    unit = _DAY_NANOS if isinstance(type, lt.DateType) else 1
    return lambda value: written(value * unit, UTC, pattern)


def _text(type: LogicalType) -> Callable[[Any], str]:
    return lambda value: text_of(value, type)


def check_key(row: RowType, key: tuple[str, ...]) -> None:
    """Refuse a key whose values are no texts that name a document."""
    for name in key:
        type = row.types[row.names.index(name)]
        if isinstance(type, _NOT_IN_KEYS):
            raise InvalidArgument(
                f"the primary key has a column '{name}' of type {type}, which cannot be in the id "
                "of a document",
                hint="Keys are texts, numbers, booleans, dates and times.",
            )


@dataclass(frozen=True)
class RowActions:
    """With a key, rows are added to the documents of their ids, and deletions delete these; without
    one each row is a new document. Made anew in each worker."""

    row: RowType
    key: tuple[int, ...]
    index: IndexPattern
    format: MessageFormat
    delimiter: str = "_"

    def __reduce__(self) -> tuple[Any, ...]:
        return RowActions, (self.row, self.key, self.index, self.format, self.delimiter)

    def __call__(self, change: Values) -> Iterable[BulkAction]:
        make = self.__dict__.get("_made")
        if make is None:
            make = self._make()
            object.__setattr__(self, "_made", make)
        actions: Iterable[BulkAction] = make(change)
        return actions

    def _make(self) -> Callable[[Values], Iterable[BulkAction]]:
        name, encode, id_of = self.index.namer(self.row), self.format.encoder(self.row), self._id()

        def make(change: Values) -> Iterable[BulkAction]:
            kind, values = change[0], change[1:]
            if kind == UPDATE_BEFORE:
                return ()
            id = id_of(values)
            if kind == DELETE:
                return (BulkAction("delete", name(values), id),)
            document = encode((INSERT, *values)).decode()
            return (BulkAction("index" if id is None else "update", name(values), id, document),)

        return make

    def _id(self) -> Callable[[Values], str | None]:
        if not self.key:
            return lambda values: None
        parts = [(at, _text(self.row.types[at])) for at in self.key]

        def id_of(values: Values) -> str:
            for at, _ in parts:
                if values[at] is None:
                    raise UnfitValue(f"column {self.row.names[at]!r} of the primary key is NULL")
            return self.delimiter.join(text(values[at]) for at, text in parts)

        return id_of
