"""What a sink's columns demand of rows: no NULL where there must be none, and lengths of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from headrace.core.logical_types import (
    BINARIES,
    CHARACTERS,
    STRING_LENGTH,
    ArrayType,
    BinaryType,
    CharType,
    Field,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
)
from headrace.core.operator import Batch
from headrace.core.table_connector import DELETE
from headrace.core.user_code import RecordFailure
from headrace.errors import InvalidArgument, Unsupported
from headrace.operators.table.keyed_changes import Row, TableOperator

IGNORE, ERROR, DROP = "IGNORE", "ERROR", "DROP"
TRIM_PAD = "TRIM_PAD"
ROWS, ROWS_AND_COLLECTIONS = "ROWS", "ROWS_AND_COLLECTIONS"

Check = Callable[[Any], Any]
"""Gives the value that may be written; raises if none may."""


class _Dropped(Exception):
    """A row that is not to be written."""


@dataclass(frozen=True)
class SinkConstraints:
    """The options table.exec.sink.not-null-enforcer, .type-length-enforcer and
    .nested-constraint-enforcer."""

    not_null: str = ERROR
    type_length: str = IGNORE
    nested: str = IGNORE

    def __post_init__(self) -> None:
        if self.nested == ROWS_AND_COLLECTIONS and self.type_length == TRIM_PAD:
            raise Unsupported(
                "values in collections cannot be trimmed or padded",
                hint="Set table.exec.sink.nested-constraint-enforcer to ROWS, or "
                "table.exec.sink.type-length-enforcer to ERROR.",
            )

    def check(self, name: str, type: LogicalType) -> Check | None:
        """What to do with the values of a column; None: nothing."""
        inner = self._length(name, type) or self._nested(name, type)
        if type.nullable:
            return None if inner is None else _unless_null(inner)
        drops = self.not_null == DROP

        def not_null(value: Any) -> Any:
            if value is None:
                raise _Dropped if drops else _is_null(name)
            return value if inner is None else inner(value)

        return not_null

    def _length(self, name: str, type: LogicalType) -> Check | None:
        if self.type_length == IGNORE or not isinstance(type, (*CHARACTERS, *BINARIES)):
            return None
        length, exact = type.length, isinstance(type, CharType | BinaryType)
        if length == STRING_LENGTH:
            return None
        if self.type_length == ERROR:
            return lambda value: _checked_length(name, type, value, length, exact)
        filler: Any = " " if isinstance(type, CHARACTERS) else b"\0"

        def fitted(value: Any) -> Any:
            if len(value) > length:
                return value[:length]
            return value + filler * (length - len(value)) if exact else value

        return fitted

    def _nested(self, name: str, type: LogicalType) -> Check | None:
        if self.nested == IGNORE:
            return None
        if isinstance(type, RowType):
            return self._row(name, type)
        if self.nested != ROWS_AND_COLLECTIONS:
            return None
        match type:
            case ArrayType(element=element) | MultisetType(element=element):
                part = self.check(f"{name}[element]", element)
                return None if part is None else _each(part)
            case MapType(key=key, value=value):
                return self._map(name, key, value)
        return None

    def _row(self, name: str, type: RowType) -> Check | None:
        checks = [self.check(f"{name}.{field.name}", field.type) for field in type.fields]
        if not any(checks):
            return None
        return lambda values: tuple(
            value if check is None else check(value)
            for check, value in zip(checks, values, strict=True)
        )

    def _map(self, name: str, key: LogicalType, value: LogicalType) -> Check | None:
        of_key, of_value = self.check(f"{name}[key]", key), self.check(f"{name}[value]", value)
        if of_key is None and of_value is None:
            return None

        def checked(entries: dict[Any, Any]) -> dict[Any, Any]:
            for name, item in entries.items():
                if of_key is not None:
                    of_key(name)
                if of_value is not None:
                    of_value(item)
            return entries

        return checked


class ConstraintEnforcerOperator(TableOperator):
    """Lets rows through that a table of these columns may hold, changed to fit if need be.

    `key` are the primary key's columns; with `deletes_by_key` deletions need only fill these.
    """

    def __init__(
        self, fields: Sequence[Field], constraints: SinkConstraints | None = None, *,
        key: Sequence[int] = (), deletes_by_key: bool = False,
    ):  # fmt: skip
        self.fields = tuple(fields)
        self.constraints = constraints or SinkConstraints()
        self.key = tuple(key)
        self.deletes_by_key = deletes_by_key

    def open(self, ctx: Any) -> None:
        super().open(ctx)
        found = [(at + 1, self.constraints.check(field.name, field.type))
                 for at, field in enumerate(self.fields)]  # fmt: skip
        self._checks = [(at, check) for at, check in found if check is not None]
        self._of_deletions = self._checks
        if self.deletes_by_key:
            self._of_deletions = [
                (at, check if at - 1 in self.key else _unless_null(check))
                for at, check in self._checks
            ]

    def receive(self, side: int, batch: Batch) -> None:
        if not self._checks:
            self.ctx.emit(batch.values, batch.timestamps)
            return
        rows: list[Row] = []
        kept: list[bool] = []
        for row in batch.values:
            try:
                rows.append(self._fitted(row))
                kept.append(True)
            except _Dropped:
                kept.append(False)
            except Exception as error:
                raise RecordFailure(error, "a sink's constraints", row) from error
        if rows:
            stamps = batch.timestamps
            self.ctx.emit(rows, None if stamps is None else list(compress(stamps, kept)))

    def _fitted(self, row: Row) -> Row:
        checks = self._of_deletions if row[0] == DELETE else self._checks
        changed: list[Any] | None = None
        for at, check in checks:
            value = row[at]
            fitted = check(value)
            if fitted is not value:
                changed = changed or list(row)
                changed[at] = fitted
        return row if changed is None else tuple(changed)


def _unless_null(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _each(check: Check) -> Check:
    def checked(values: Any) -> Any:
        for value in values:
            check(value)
        return values

    return checked


def _checked_length(name: str, type: LogicalType, value: Any, length: int, exact: bool) -> Any:
    if len(value) > length or (exact and len(value) < length):
        raise InvalidArgument(
            f"column {name!r} is {type.name()}, but a value of length {len(value)} is written",
            hint="Cast it, or set table.exec.sink.type-length-enforcer to TRIM_PAD to cut and "
            "pad values, or to IGNORE to write them as they are.",
        )
    return value


def _is_null(name: str) -> InvalidArgument:
    return InvalidArgument(
        f"column {name!r} is NOT NULL, but NULL is written to it",
        hint="Leave such rows out of the query, or set table.exec.sink.not-null-enforcer to DROP, "
        "which leaves them out silently.",
    )
