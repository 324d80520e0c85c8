"""Records as text: what Flink's print() shows and its string encoder writes.

Values of a declared type are written as their Java form would be; values without one as Python
writes them. Rows are the exception: print() writes their fields in Python's way.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from headrace.core.numbers import shortest_digits, single
from headrace.core.rows import Row
from headrace.core.time import Instant
from headrace.core.types import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

__all__ = ["java_text", "to_text"]


def to_text(value: Any, type_info: TypeInformation | None = None) -> str:
    """What print() shows for a record of a stream of that type."""
    if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
        return str(value)
    if isinstance(type_info, (RowTypeInfo, ExternalTypeInfo)) and isinstance(value, Row):
        return f"{value.get_row_kind()}[{','.join(map(str, value))}]"
    return java_text(value, type_info)


def java_text(value: Any, type_info: TypeInformation) -> str:
    """A value as the toString() of its Java form."""
    if value is None:
        return "null"
    if isinstance(type_info, BasicTypeInfo):
        return _BASIC.get(type_info.basic_type, str)(value)
    write = _WRITERS.get(type(type_info))
    return str(value) if write is None else write(value, type_info)


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _double(value: float) -> str:
    return _java_number(value, repr(float(value)))


def _float(value: float) -> str:
    if not math.isfinite(value):
        return _java_number(value, "")
    return _java_number(value, shortest_digits(single(value)))


def _java_number(value: float, shortest: str) -> str:
    """A number as Java writes it: plain from 0.001 up to 10 million, else with an exponent."""
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if math.isinf(value):
        return f"{sign}Infinity"
    if value == 0:
        return f"{sign}0.0"
    _, digit_tuple, power = Decimal(shortest).as_tuple()
    digits = "".join(map(str, digit_tuple)).rstrip("0") or "0"
    exponent = len(digit_tuple) + int(power) - 1
    if 1e-3 <= abs(value) < 1e7:
        whole, fraction = _around_point(digits, exponent)
        return f"{sign}{whole}.{fraction}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _around_point(digits: str, exponent: int) -> tuple[str, str]:
    if exponent < 0:
        return "0", "0" * (-exponent - 1) + digits
    padded = digits.ljust(exponent + 1, "0")
    return padded[: exponent + 1], padded[exponent + 1 :] or "0"


def _instant(value: Instant) -> str:
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value.seconds)
    fraction = f"{value.nanos:09d}"
    # Java writes no, three, six or nine digits.
    while fraction.endswith("000"):
        fraction = fraction[:-3]
    return f"{moment.isoformat()}{'.' + fraction if fraction else ''}Z"


_BASIC: dict[BasicType, Callable[[Any], str]] = {
    BasicType.BOOLEAN: _boolean,
    BasicType.FLOAT: _float,
    BasicType.DOUBLE: _double,
    BasicType.INSTANT: _instant,
}


def _row(value: Any, type_info: RowTypeInfo) -> str:
    parts = zip(value, type_info.field_types, strict=False)
    kind = value.get_row_kind() if isinstance(value, Row) else "+I"
    return f"{kind}[{', '.join(java_text(item, type_) for item, type_ in parts)}]"


def _tuple(value: Any, type_info: TupleTypeInfo) -> str:
    parts = zip(value, type_info.field_types, strict=False)
    return f"({','.join(java_text(item, type_) for item, type_ in parts)})"


def _list(value: Any, type_info: ListTypeInfo) -> str:
    return f"[{', '.join(java_text(item, type_info.elem_type) for item in value)}]"


# Java shows an array by its address; its elements, as inside tuples and rows, say more.
def _array(
    value: Any, type_info: PrimitiveArrayTypeInfo | BasicArrayTypeInfo | ObjectArrayTypeInfo
) -> str:
    if isinstance(value, bytes):
        value = memoryview(value).cast("b").tolist()
    return f"[{', '.join(java_text(item, type_info.element_type) for item in value)}]"


def _map(value: Any, type_info: MapTypeInfo) -> str:
    entries = (
        f"{java_text(key, type_info.key_type_info)}={java_text(item, type_info.value_type_info)}"
        for key, item in value.items()
    )
    return f"{{{', '.join(entries)}}}"


def _time(value: datetime.time, type_info: TimeTypeInfo) -> str:
    return value.strftime("%H:%M:%S")


def _timestamp(value: datetime.datetime, type_info: TimestampTypeInfo) -> str:
    fraction = f"{value.microsecond:06d}".rstrip("0") or "0"
    return f"{value:%Y-%m-%d %H:%M:%S}.{fraction}"


def _local(value: Any, type_info: LocalTimeTypeInfo) -> str:
    text: str = value.isoformat()
    return text


def _external(value: Any, type_info: ExternalTypeInfo) -> str:
    return java_text(value, type_info.type_info)


_WRITERS: dict[type, Callable[[Any, Any], str]] = {
    RowTypeInfo: _row,
    TupleTypeInfo: _tuple,
    ListTypeInfo: _list,
    MapTypeInfo: _map,
    PrimitiveArrayTypeInfo: _array,
    BasicArrayTypeInfo: _array,
    ObjectArrayTypeInfo: _array,
    TimeTypeInfo: _time,
    TimestampTypeInfo: _timestamp,
    LocalTimeTypeInfo: _local,
    ExternalTypeInfo: _external,
    DateTypeInfo: lambda value, _: value.isoformat(),
}
