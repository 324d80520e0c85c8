"""How state written under one type becomes state of another, when a program has changed.

Fields may be added, removed and put in another order, numbers may become wider. What cannot be
done without inventing or losing something is refused, with both types shown.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from headrace.core.columnar import text_of
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
from headrace.core.object_evolution import evolve_object
from headrace.core.rows import Row, named_row
from headrace.core.schema_text import schema_text
from headrace.core.type_information import TypeInformation
from headrace.core.type_json import NothingTypeInfo, same_type
from headrace.core.types import LocalTimeTypeInfo, PickledBytesTypeInfo, Types
from headrace.errors import IncompatibleState, InvalidArgument, TypeMismatch

__all__ = ["evolve_object", "migration", "schema_text"]

Migrate = Callable[[Any], Any]

_NONE = type(None)
_HINT = (
    "Keep the old type, give the new state another name, "
    "or rewrite the state with the State Processor API."
)


class _Clash(Exception):
    """Why a type cannot become another, and where inside it."""

    def __init__(self, reason: str, *path: str):
        super().__init__(reason)
        self.reason = reason
        self.path = path

    def inside(self, part: str) -> _Clash:
        return _Clash(self.reason, part, *self.path)

    def __str__(self) -> str:
        return f"{' of '.join(reversed(self.path))}: {self.reason}" if self.path else self.reason


def migration(old: TypeInformation, new: TypeInformation, what: str) -> Migrate | None:
    """The function from values of `old` to values of `new`; None when they stay as they are.

    `what` says whose types they are, such as "state 'profile' of operator 'enrich'".
    """
    try:
        change = _change(old, new)
    except _Clash as clash:
        raise _incompatible(what, old, new, str(clash)) from None
    if change is None:
        return None

    def migrate(value: Any) -> Any:
        try:
            return change(value)
        except _Clash as clash:
            raise _incompatible(what, old, new, f"{clash}, in {text_of(value)}") from None

    return migrate


def _incompatible(
    what: str, old: TypeInformation, new: TypeInformation, reason: str
) -> IncompatibleState:
    return IncompatibleState(
        f"{what} was written with a type that cannot become its new type: {reason}\n"
        f"  written as  {_indented(schema_text(old))}\n"
        f"  now         {_indented(schema_text(new))}",
        hint=_HINT,
    )


def _indented(text: str) -> str:
    return text.replace("\n", "\n" + " " * 14)


def _change(old: TypeInformation, new: TypeInformation) -> Migrate | None:
    while isinstance(old, ExternalTypeInfo):
        old = old.type_info
    while isinstance(new, ExternalTypeInfo):
        new = new.type_info
    if same_type(old, new) or isinstance(new, PickledBytesTypeInfo):
        return None
    match old, new:
        case (NothingTypeInfo(), _):
            return None
        case (PickledBytesTypeInfo(), _):
            return _only_if_it_fits(new)
        case (RowTypeInfo(), RowTypeInfo()):
            return _row_change(old, new)
        case (TupleTypeInfo(), TupleTypeInfo()):
            return _tuple_change(old, new)
        case (MapTypeInfo(), MapTypeInfo()):
            return _map_change(old, new)
    was, becomes = _element(old), _element(new)
    # Only an array of primitives is known to hold no None.
    may_hold_none = not isinstance(old, PrimitiveArrayTypeInfo)
    if was and becomes and not (may_hold_none and isinstance(new, PrimitiveArrayTypeInfo)):
        return _list_change(_inside("an element", was, becomes))
    if (old, new) in _WIDENED:
        return _WIDENED[old, new]
    raise _Clash(f"{schema_text(old)} cannot become {schema_text(new)}")


def _inside(place: str, old: TypeInformation, new: TypeInformation) -> Migrate | None:
    """The change of a part; its errors tell where the part is."""
    try:
        change = _change(old, new)
    except _Clash as clash:
        raise clash.inside(place) from None
    if change is None:
        return None

    def part(value: Any) -> Any:
        try:
            return change(value)
        except _Clash as clash:
            raise clash.inside(place) from None

    return part


def _element(type_: TypeInformation) -> TypeInformation | None:
    """The element type of what is a Python list."""
    if isinstance(type_, ListTypeInfo):
        return type_.elem_type
    if type_ == Types.PRIMITIVE_ARRAY(Types.BYTE()):
        return None  # bytes
    if isinstance(type_, (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo)):
        return type_.element_type
    return None


def _only_if_it_fits(new: TypeInformation) -> Migrate:
    coerce = new.coercer()
    if coerce is None:
        raise _Clash(f"a pickled object cannot become {schema_text(new)}")

    def check(value: Any) -> Any:
        # An object with other attributes would become a row of nothing but None.
        if isinstance(new, RowTypeInfo) and not isinstance(value, (Row, tuple, list, _NONE)):
            raise _Clash(f"expected {new.label()}, got a value of type {type(value).__name__}")
        try:
            return coerce(value)
        except TypeMismatch as error:
            raise _Clash(error.message) from None

    return check


class _Parts:
    """Which part of an old value each part of the new one comes from, and how it changes."""

    def __init__(self, old: Sequence[TypeInformation], places: Sequence[tuple[int | None, str]],
                 new: Sequence[TypeInformation]):  # fmt: skip
        self.width = len(old)
        self.sources = [source for source, _ in places]
        self.changes = [
            None if source is None else _inside(name, old[source], type_)
            for (source, name), type_ in zip(places, new, strict=True)
        ]

    def stay(self) -> bool:
        return self.sources == list(range(self.width)) and not any(self.changes)

    def moved(self, values: Sequence[Any]) -> list[Any]:
        if len(values) != self.width:
            raise _Clash(f"a value has {len(values)} fields instead of {self.width}")
        return [
            None if source is None else values[source] if change is None else change(values[source])
            for source, change in zip(self.sources, self.changes, strict=True)
        ]


def _in_order(old: int, new: int) -> list[tuple[int | None, str]]:
    return [(place if place < old else None, f"field {place}") for place in range(new)]


def _tuple_change(old: TupleTypeInfo, new: TupleTypeInfo) -> Migrate | None:
    places = _in_order(len(old.field_types), len(new.field_types))
    parts = _Parts(old.field_types, places, new.field_types)
    if parts.stay():
        return None

    def change(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, (tuple, list)):
            raise _Clash(f"expected a tuple, got a value of type {type(value).__name__}")
        return tuple(parts.moved(value))

    return change


def _row_change(old: RowTypeInfo, new: RowTypeInfo) -> Migrate | None:
    was, becomes = old.names(), new.names()
    if old.field_names is None or new.field_names is None:
        places = _in_order(len(was), len(becomes))
    else:
        if was and becomes and not set(was) & set(becomes):
            raise _Clash("they have no field in common")
        places = [(was.index(name) if name in was else None, f"field {name!r}") for name in becomes]
    parts = _Parts(old.field_types, places, new.field_types)
    if parts.stay() and old.field_names == new.field_names:
        return None

    def change(value: Any) -> Any:
        match value:
            case None:
                return None
            case Row():
                moved = parts.moved(_fields(value, was))
                nameless = new.field_names is None and value._names is None
                return named_row(None if nameless else becomes, moved, value._row_kind)
            case tuple() | list():
                return type(value)(parts.moved(value))
            case dict():
                moved = parts.moved([value.get(name) for name in was])
                return dict(zip(becomes, moved, strict=True))
        raise _Clash(f"expected a row, got a value of type {type(value).__name__}")

    return change


def _fields(row: Row, names: Sequence[str]) -> list[Any]:
    try:
        return row.get_fields_by_names(names)
    except InvalidArgument as error:
        raise _Clash(error.message) from None


def _list_change(element: Migrate | None) -> Migrate | None:
    if element is None:
        return None

    def change(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, (list, tuple)):
            raise _Clash(f"expected a list, got a value of type {type(value).__name__}")
        return [element(item) for item in value]

    return change


def _as_is(value: Any) -> Any:
    return value


def _map_change(old: MapTypeInfo, new: MapTypeInfo) -> Migrate | None:
    key = _inside("a key", old.key_type_info, new.key_type_info)
    value = _inside("a value", old.value_type_info, new.value_type_info)
    if key is None and value is None:
        return None
    change_key, change_value = key or _as_is, value or _as_is

    def change(entries: Any) -> Any:
        if entries is None:
            return None
        if not isinstance(entries, dict):
            raise _Clash(f"expected a dict, got a value of type {type(entries).__name__}")
        changed = {change_key(name): change_value(item) for name, item in entries.items()}
        if len(changed) != len(entries):
            raise _Clash("two keys of a map would become one")
        return changed

    return change


def _to_float(value: Any) -> Any:
    if value is None:
        return None
    if type(value) is not int or (abs(value) > 2**53 and int(float(value)) != value):
        raise _Clash(f"{text_of(value)} is no floating-point number")
    return float(value)


def _to_decimal(value: Any) -> Any:
    return None if value is None else Decimal(value)


def _to_midnight(value: Any) -> Any:
    return None if value is None else datetime.datetime(value.year, value.month, value.day)


def _widened() -> dict[tuple[TypeInformation, TypeInformation], Migrate | None]:
    """What each type of single values may become."""
    integers = [Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG(), Types.BIG_INT()]
    widened: dict[tuple[TypeInformation, TypeInformation], Migrate | None] = {
        (narrow, wide): None
        for place, narrow in enumerate(integers)
        for wide in integers[place + 1 :]
    }
    for integer in integers:
        widened[integer, Types.BIG_DEC()] = _to_decimal
        if integer != Types.BIG_INT():
            widened[integer, Types.FLOAT()] = widened[integer, Types.DOUBLE()] = _to_float
    widened[Types.FLOAT(), Types.DOUBLE()] = widened[Types.CHAR(), Types.STRING()] = None
    kinds = LocalTimeTypeInfo.TimeType
    dates = [Types.SQL_DATE(), LocalTimeTypeInfo(kinds.LOCAL_DATE)]
    times = [Types.SQL_TIME(), LocalTimeTypeInfo(kinds.LOCAL_TIME)]
    both = [Types.SQL_TIMESTAMP(), LocalTimeTypeInfo(kinds.LOCAL_DATE_TIME)]
    for same in (dates, times, both):
        widened[same[0], same[1]] = widened[same[1], same[0]] = None
    widened.update({(date, timestamp): _to_midnight for date in dates for timestamp in both})
    return widened


_WIDENED = _widened()
