"""Values as columns that other tools can read and that give the very same values back."""

from __future__ import annotations

import datetime
import json
import pickle
import reprlib
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headrace.core.columns import Column, ConvertedColumn, DirectColumn, InstantColumn
from headrace.core.composite_types import (
    BasicArrayTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from headrace.core.nested_columns import ListColumn, MapColumn, RowColumn, TupleColumn
from headrace.core.observed_types import observed, unified
from headrace.core.type_information import TypeInformation
from headrace.core.type_json import NothingTypeInfo, type_from_json, type_to_json
from headrace.core.types import LocalTimeTypeInfo, PickledBytesTypeInfo, Types
from headrace.errors import TypeMismatch

__all__ = [
    "Column",
    "Dumps",
    "column_of",
    "holds_pickles",
    "observed",
    "text_of",
    "type_from_json",
    "type_to_json",
    "unified",
]

Dumps = Callable[[Any], bytes]


def _pickled(value: Any) -> bytes:
    return pickle.dumps(value, 5)


def column_of(type_: TypeInformation, dumps: Dumps = _pickled) -> Column:
    """The column for values of a type. `dumps` pickles what has no other form.

    >>> ages = column_of(Types.TUPLE([Types.STRING(), Types.LONG()]))
    >>> ages.decode(ages.encode([("Alice", 11), None]))
    [('Alice', 11), None]
    """
    single = _SINGLE.get(type_)
    if single is not None:
        return single
    match type_:
        case PickledBytesTypeInfo():
            return ConvertedColumn(_BYTES, None, dumps, pickle.loads)
        case ExternalTypeInfo():
            return column_of(type_.type_info, dumps)
        case TupleTypeInfo():
            columns = [column_of(part, dumps) for part in type_.field_types]
            return TupleColumn(
                type_.label(), [f"f{place}" for place in range(len(columns))], columns
            )
        case RowTypeInfo():
            return RowColumn(type_, [column_of(part, dumps) for part in type_.field_types])
        case MapTypeInfo():
            key, value = type_.key_type_info, type_.value_type_info
            return MapColumn(type_.label(), column_of(key, dumps), column_of(value, dumps))
        case PrimitiveArrayTypeInfo():
            return ListColumn(type_.label(), column_of(type_.element_type, dumps), nullable=False)
        case ListTypeInfo():
            return ListColumn(type_.label(), column_of(type_.elem_type, dumps))
        case BasicArrayTypeInfo() | ObjectArrayTypeInfo():
            return ListColumn(type_.label(), column_of(type_.element_type, dumps))
    raise TypeMismatch(
        f"{type_!r} cannot be written as a column", hint="Use one of the types that Types gives."
    )


def holds_pickles(type_: TypeInformation) -> bool:
    """Whether values of a type, or parts of them, are pickled where they lie in columns."""
    return "PICKLED" in json.dumps(type_to_json(type_))


def _has_zone(value: datetime.datetime | datetime.time) -> bool:
    return value.tzinfo is not None or value.fold != 0


_TEXT = DirectColumn("STRING", str, pa.string())
_BYTES = DirectColumn("PRIMITIVE_ARRAY of BYTE (bytes)", bytes, pa.binary())
_DATE = DirectColumn("a date", datetime.date, pa.date32())
_TIMESTAMP = DirectColumn(
    "a datetime without time zone", datetime.datetime, pa.timestamp("us"), _has_zone
)
# Spark reads no times of day, and neither has numbers of any size.
_TIME = ConvertedColumn(
    _TEXT,
    (datetime.time, "a time without time zone"),
    datetime.time.isoformat,
    datetime.time.fromisoformat,
    _has_zone,
)

_SINGLE: dict[TypeInformation, Column] = {
    Types.STRING(): _TEXT,
    Types.CHAR(): DirectColumn("CHAR", str, pa.string(), lambda text: len(text) != 1),
    Types.BOOLEAN(): DirectColumn("BOOLEAN", bool, pa.bool_()),
    Types.BYTE(): DirectColumn("BYTE", int, pa.int8()),
    Types.SHORT(): DirectColumn("SHORT", int, pa.int16()),
    Types.INT(): DirectColumn("INT", int, pa.int32()),
    Types.LONG(): DirectColumn("LONG", int, pa.int64()),
    # State is not rounded to 32 bits: it holds what the user's function stored.
    Types.FLOAT(): DirectColumn("FLOAT", float, pa.float64()),
    Types.DOUBLE(): DirectColumn("DOUBLE", float, pa.float64()),
    Types.BIG_INT(): ConvertedColumn(_TEXT, (int, "BIG_INT"), str, int),
    Types.BIG_DEC(): ConvertedColumn(_TEXT, (Decimal, "BIG_DEC"), str, Decimal),
    Types.INSTANT(): InstantColumn(),
    Types.SQL_DATE(): _DATE,
    Types.SQL_TIME(): _TIME,
    Types.SQL_TIMESTAMP(): _TIMESTAMP,
    LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE): _DATE,
    LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME): _TIME,
    LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME): _TIMESTAMP,
    Types.PRIMITIVE_ARRAY(Types.BYTE()): _BYTES,
    NothingTypeInfo(): DirectColumn("None", type(None), pa.bool_()),
}

_LONGEST_TEXT = 1000
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 6
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = 500
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxset = _SHORT.maxfrozenset = _SHORT.maxdict = 50


def text_of(value: Any) -> str:
    """What to show for a value that has no readable column; never fails."""
    try:
        text = value if isinstance(value, str) else _SHORT.repr(value)
        # Half a surrogate pair has no place in a file.
        text = text.encode("utf-8", "backslashreplace").decode()
    except Exception:  # the repr is the user's code
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
