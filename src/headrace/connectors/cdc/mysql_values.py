"""Values of columns of MySQL and MariaDB: from texts, numbers and bytes, as a row has them both in
a query and in the log, to what a driver gives."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from headrace.connectors.cdc.capture import CapturedTable
from headrace.connectors.cdc.row_texts import RowTexts
from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType
from headrace.core.numbers import shortest_digits, single

TIMESTAMP = "timestamp"
"""A moment: its texts are in UTC here, and in the server's time zone for who reads them."""
_BITS: dict[type[LogicalType], int] = {
    lt.TinyIntType: 8,
    lt.SmallIntType: 16,
    lt.IntType: 32,
    lt.BigIntType: 64,
}
_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "decimal")
_FLOATS = ("float", "double")


def select_expression(name: str, kind: str) -> str:
    """Of a quoted column: numbers come as plain as they are in the log, not filled up with zeros,
    and floats with all of their digits."""
    if kind in _INTEGERS:
        return f"{name} + 0"
    return f"{name} + 0e0" if kind in _FLOATS else name


def row_texts(table: CapturedTable, kinds: Sequence[str], zone: ZoneInfo) -> RowTexts:
    """`kinds`: the types that the columns have in the database."""
    readers = [_reader(type, kind, zone) for type, kind in zip(table.types, kinds, strict=True)]
    return RowTexts(table, readers)


def _reader(type: LogicalType, kind: str, zone: ZoneInfo) -> Callable[[Any], Any] | None:
    match type:
        case lt.BooleanType():
            return _flag
        case lt.TinyIntType() | lt.SmallIntType() | lt.IntType() | lt.BigIntType():
            limit = 1 << _BITS[type.__class__] - 1
            return lambda value: _whole(value, limit)
        case lt.FloatType() | lt.DoubleType():
            return float
        case lt.BinaryType() | lt.VarBinaryType():
            return lambda value: value if isinstance(value, bytes) else str(value).encode()
        case lt.DateType():
            return datetime.date.fromisoformat
        case lt.TimeType():
            return datetime.time.fromisoformat
        case lt.LocalZonedTimestampType():
            return datetime.datetime.fromisoformat
        case lt.TimestampType():
            if kind == TIMESTAMP:
                return lambda text: _in_zone(text, zone)
            return datetime.datetime.fromisoformat
        case lt.CharType() | lt.VarCharType():
            return _text_reader(kind, zone)
    return None


def _text_reader(kind: str, zone: ZoneInfo) -> Callable[[Any], Any] | None:
    match kind:
        case "timestamp":
            return lambda text: _zoned_text(text, zone)
        case "float":
            return lambda value: shortest_digits(single(float(value)))
        case "double":
            return lambda value: repr(float(value))
    return None


def _flag(value: Any) -> bool:
    return any(value) if isinstance(value, bytes) else float(value) != 0


def _whole(value: Any, limit: int) -> int:
    if isinstance(value, bytes):  # BIT
        found = int.from_bytes(value, "big")
    elif isinstance(value, float):
        found = int(value) if value.is_integer() else _unfit()
    else:
        found = int(value)
    return found if -limit <= found < limit else _unfit()


def _unfit() -> int:
    raise ValueError("it does not fit")


def _in_zone(text: str, zone: ZoneInfo) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
    return moment.astimezone(zone).replace(tzinfo=None)


def _zoned_text(text: str, zone: ZoneInfo) -> str:
    if text.startswith("0000"):
        return text
    _, point, fraction = text.partition(".")
    return f"{_in_zone(text, zone).replace(microsecond=0)}{point}{fraction}"
