"""Values of a stream's records as drivers take them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from headrace.connectors.jdbc.addresses import MYSQL
from headrace.core.rows import Row
from headrace.core.time import Instant
from headrace.core.types import (
    BasicArrayTypeInfo,
    InstantTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from headrace.errors import TypeMismatch
from headrace.origin import calling_origin

Convert = Callable[[Any], Any]


class BindFields:
    """Makes the values of a statement of a row's fields."""

    def __init__(self, converts: Sequence[Convert | None]):
        self._width = len(converts)
        self._converts = [(at, convert) for at, convert in enumerate(converts) if convert]

    def __call__(self, record: Any) -> Sequence[Any]:
        if not isinstance(record, (Row, tuple, list)):
            raise TypeMismatch(
                f"a JDBC sink writes rows, not {type(record).__name__}",
                hint="map(lambda x: Row(x, …), Types.ROW([…])) makes rows of records.",
            )
        values = list(record)
        if len(values) != self._width:
            raise TypeMismatch(
                f"a row of {len(values)} fields came to a JDBC sink for {self._width}",
                hint="The type given to the sink is that of the stream's rows.",
            )
        for at, convert in self._converts:
            if values[at] is not None:
                values[at] = convert(values[at])
        return values


def bind_values(types: Sequence[TypeInformation], kind: str) -> BindFields:
    """How rows of these types become the values of a statement."""
    return BindFields([_convert(type, kind) for type in types])


def _convert(type: TypeInformation, kind: str) -> Convert | None:
    match type:
        case InstantTypeInfo():
            return _instant
        case PrimitiveArrayTypeInfo() if str(type) == str(Types.PRIMITIVE_ARRAY(Types.BYTE())):
            return bytes
        case ListTypeInfo() | PrimitiveArrayTypeInfo() | BasicArrayTypeInfo():
            if kind == MYSQL:
                raise _unbound(type, "MySQL and MariaDB have no arrays")
            return list
        case RowTypeInfo() | TupleTypeInfo() | MapTypeInfo() | ObjectArrayTypeInfo():
            raise _unbound(type, "it has parts")
        case PickledBytesTypeInfo():
            return None  # whatever the driver makes of it
    return None


def _unbound(type: TypeInformation, why: str) -> TypeMismatch:
    return TypeMismatch(
        f"a field of type {type} cannot be given to a database: {why}",
        origin=calling_origin(),
        hint="Make a text or a number of it first.",
    )


def _instant(value: Any) -> Any:
    if not isinstance(value, Instant):
        return value
    whole = datetime.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    return _EPOCH + whole


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
