"""How records of composite types are checked and brought into shape.

A user's record is nearly always right. So each coercer has a short way for the right shape, and
only once something is wrong does it look again, slowly, for the field to name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from headrace.core.basic_types import BasicType, BasicTypeInfo
from headrace.core.rows import Row, RowKind, named_row
from headrace.core.type_information import Coercer, TypeInformation, WrongValue
from headrace.errors import InvalidArgument

__all__ = [
    "SETTLED_BY_CLASS",
    "bytes_coercer",
    "list_coercer",
    "map_coercer",
    "row_coercer",
    "row_parts",
    "tuple_coercer",
]

_INSERT = RowKind.INSERT

# Types whose values need nothing more once they are exactly of this class (and within bounds).
SETTLED_BY_CLASS: dict[BasicType, type] = {
    BasicType.STRING: str,
    BasicType.BOOLEAN: bool,
    BasicType.DOUBLE: float,
    BasicType.BYTE: int,
    BasicType.SHORT: int,
    BasicType.INT: int,
    BasicType.LONG: int,
    BasicType.BIG_INT: int,
}


def _as_is(value: Any) -> Any:
    return value


class _Fields:
    """The fields of a row or tuple, coerced together."""

    def __init__(self, places: Sequence[str], types: Sequence[TypeInformation]) -> None:
        self.places = places
        self.coercers = [type_.coercer() or _as_is for type_ in types]
        self.classes = _settling_classes(types)
        self.bounds = [
            (number, *bounds)
            for number, type_ in enumerate(types)
            if isinstance(type_, BasicTypeInfo) and (bounds := type_.bounds()) is not None
        ]

    def settled(self, values: Sequence[Any]) -> bool:
        """Whether the values can stay as they are; False may also mean it is not yet known."""
        if self.classes is None or tuple(map(type, values)) != self.classes:
            return False
        # A loop, because a generator inside all() costs twice as much on the hot path.
        for number, lowest, highest in self.bounds:  # noqa: SIM110
            if not lowest <= values[number] <= highest:
                return False
        return True

    def coerce(self, values: Sequence[Any]) -> list[Any]:
        try:
            # The caller has compared the lengths: zip's own check would cost on every record.
            return [coerce(value) for coerce, value in zip(self.coercers, values)]  # noqa: B905
        except WrongValue:
            self.blame(values)

    def blame(self, values: Sequence[Any]) -> NoReturn:
        for place, coerce, value in zip(self.places, self.coercers, values, strict=True):
            _at(place, coerce, value)
        raise AssertionError("a value was refused once and then accepted")


def _settling_classes(types: Sequence[TypeInformation]) -> tuple[type, ...] | None:
    classes = [
        SETTLED_BY_CLASS.get(type_.basic_type)
        for type_ in types
        if isinstance(type_, BasicTypeInfo)
    ]
    found = tuple(kind for kind in classes if kind is not None)
    return found if len(found) == len(types) else None


def _at(place: str, coerce: Coercer, value: Any) -> Any:
    try:
        return coerce(value)
    except WrongValue as error:
        raise error.inside(place) from None


def tuple_coercer(types: Sequence[TypeInformation]) -> Coercer:
    width = len(types)
    fields = _Fields([f"field {number}" for number in range(width)], types)
    settled, coerce = fields.settled, fields.coerce

    def to_tuple(value: Any) -> Any:
        if type(value) is tuple:
            if settled(value):
                return value
        elif value is None:
            return None
        elif not isinstance(value, (tuple, list, Row)):
            raise WrongValue(f"TUPLE of {width} fields", value)
        if len(value) != width:
            raise WrongValue(f"TUPLE of {width} fields", value)
        return tuple(coerce(value))

    return to_tuple


def row_coercer(names: tuple[str, ...], types: Sequence[TypeInformation]) -> Coercer:
    width = len(names)
    fields = _Fields([f"field {name!r}" for name in names], types)
    settled, coerce = fields.settled, fields.coerce

    def to_row(value: Any) -> Any:
        if type(value) is Row and settled(value._values):
            if value._names == names:
                return value
            if value._names is None:
                return named_row(names, value._values[:], value._row_kind)
        if value is None:
            return None
        kind, values = row_parts(names, value)
        if len(values) != width:
            raise WrongValue(f"ROW of {width} fields ({', '.join(names)})", value)
        return named_row(names, list(values) if settled(values) else coerce(values), kind)

    return to_row


def row_parts(names: tuple[str, ...], value: Any) -> tuple[RowKind, Sequence[Any]]:
    """The kind of change and the values, in the order of `names`, of anything like a row."""
    if isinstance(value, (tuple, list)):
        return _INSERT, value
    if isinstance(value, Row):
        kind = value._row_kind
        if value._names is None or value._names == names:
            return kind, value._values
        try:
            return kind, value.get_fields_by_names(names)
        except InvalidArgument:
            raise WrongValue(f"ROW with the fields {', '.join(names)}", value) from None
    if isinstance(value, dict):
        return _INSERT, [value.get(name) for name in names]
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return _INSERT, [vars(value).get(name) for name in names]
    raise WrongValue(f"ROW of {len(names)} fields ({', '.join(names)})", value)


def list_coercer(label: str, element: TypeInformation, nullable: bool = True) -> Coercer:
    coerce = element.coercer() or _as_is

    def to_list(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, (list, tuple)):
            # Arrays of numpy and of the standard library can tell their elements.
            if not hasattr(value, "tolist") or getattr(value, "ndim", 1) != 1:
                raise WrongValue(f"{label} of {element.label()}", value)
            value = value.tolist()
        if not nullable and None in value:
            raise WrongValue(element.label(), None).inside(f"element {value.index(None)}")
        try:
            return [coerce(item) for item in value]
        except WrongValue:
            return [_at(f"element {number}", coerce, item) for number, item in enumerate(value)]

    return to_list


def map_coercer(key: TypeInformation, value: TypeInformation) -> Coercer:
    coerce_key = key.coercer() or _as_is
    coerce_value = value.coercer() or _as_is

    def to_dict(entries: Any) -> Any:
        if entries is None:
            return None
        if not isinstance(entries, dict):
            raise WrongValue(f"MAP of {key.label()} to {value.label()}", entries)
        try:
            return {coerce_key(name): coerce_value(item) for name, item in entries.items()}
        except WrongValue:
            return {
                _at("a key", coerce_key, name): _at(f"the value of {name!r}", coerce_value, item)
                for name, item in entries.items()
            }

    return to_dict


def bytes_coercer(value: Any) -> Any:
    if value is None or type(value) is bytes:
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise WrongValue("PRIMITIVE_ARRAY of BYTE (bytes)", value)
