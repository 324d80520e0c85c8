"""Types made of other types: rows, tuples, lists, maps, arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.core.basic_types import BasicType, BasicTypeInfo
from headrace.core.coercion import (
    bytes_coercer,
    list_coercer,
    map_coercer,
    row_coercer,
    row_parts,
    tuple_coercer,
)
from headrace.core.logical_types import LogicalType
from headrace.core.rows import Row
from headrace.core.type_information import Coercer, TypeInformation, WrongValue
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin

__all__ = [
    "BasicArrayTypeInfo",
    "ExternalTypeInfo",
    "ListTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "TupleTypeInfo",
]

_PRIMITIVES = frozenset(BasicType) - {
    BasicType.STRING,
    BasicType.BIG_INT,
    BasicType.BIG_DEC,
    BasicType.INSTANT,
}


def _require_type(part: object, where: str) -> None:
    if not isinstance(part, TypeInformation):
        raise TypeMismatch(
            f"{where} is {part!r}, which is not a type",
            origin=calling_origin(),
            hint="Use a type such as Types.INT(); mind the brackets.",
        )


def _require_types(parts: Sequence[TypeInformation], where: str) -> tuple[TypeInformation, ...]:
    if not isinstance(parts, (list, tuple)):
        raise TypeMismatch(
            f"{where} takes a list of types, not {parts!r}",
            origin=calling_origin(),
            hint="Write the field types as a list, such as [Types.STRING(), Types.INT()].",
        )
    for number, part in enumerate(parts):
        _require_type(part, f"field {number} of {where}")
    return tuple(parts)


@dataclass(frozen=True, repr=False)
class RowTypeInfo(TypeInformation):
    """Rows of named fields; without names the fields are called f0, f1 and so on.

    Like Flink's, two row types are equal when their field types are, whatever the names;
    `schema_equals` compares the names too.
    """

    field_types: Sequence[TypeInformation]
    field_names: Sequence[str] | None = field(default=None, compare=False)
    column_types: tuple[LogicalType, ...] | None = field(default=None, compare=False)
    """For rows of a table, the types of its columns, which say more: digits, lengths, NOT NULL."""

    def __post_init__(self) -> None:
        types = _require_types(self.field_types, "ROW")
        object.__setattr__(self, "field_types", types)
        if self.field_names is None:
            return
        names = tuple(self.field_names)
        if len(names) != len(types):
            raise InvalidArgument(
                f"a row type has {len(names)} field names for {len(types)} field types",
                origin=calling_origin(),
            )
        if len(set(names)) != len(names):
            raise InvalidArgument(
                f"a row type names a field twice: {', '.join(names)}", origin=calling_origin()
            )
        object.__setattr__(self, "field_names", names)

    def names(self) -> tuple[str, ...]:
        if self.field_names is not None:
            return tuple(self.field_names)
        return tuple(f"f{number}" for number in range(len(self.field_types)))

    def get_field_names(self) -> list[str]:
        return list(self.names())

    def get_field_index(self, field_name: str) -> int:
        """The position of a field, or -1 in a row type that was given no names."""
        if self.field_names is None:
            return -1
        if field_name not in self.field_names:
            raise InvalidArgument(f"no field {field_name!r} in {self!r}", origin=calling_origin())
        return tuple(self.field_names).index(field_name)

    def get_field_types(self) -> list[TypeInformation]:
        return list(self.field_types)

    def schema_equals(self, other: object) -> bool:
        return (
            isinstance(other, RowTypeInfo)
            and self.field_types == other.field_types
            and self.names() == other.names()
        )

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        """The kind of change as a number, then the plain form of each field."""
        if obj is None:
            return None
        kind, values = row_parts(self.names(), obj)
        parts = zip(self.field_types, values, strict=False)
        return (kind.value, *(type_.to_internal_type(value) for type_, value in parts))

    def from_internal_type(self, obj: Any) -> Any:
        return _from_internal(self.field_types, obj)

    def coercer(self) -> Coercer:
        return row_coercer(self.names(), self.field_types)

    def label(self) -> str:
        return f"ROW({', '.join(self.names())})"

    def __repr__(self) -> str:
        if self.field_names is None:
            return f"RowTypeInfo({', '.join(map(str, self.field_types))})"
        pairs = zip(self.field_names, self.field_types, strict=True)
        return f"RowTypeInfo({', '.join(f'{name}: {type_}' for name, type_ in pairs)})"


@dataclass(frozen=True, repr=False)
class TupleTypeInfo(TypeInformation):
    """Python tuples of a fixed shape."""

    field_types: Sequence[TypeInformation]

    def __post_init__(self) -> None:
        object.__setattr__(self, "field_types", _require_types(self.field_types, "TUPLE"))

    def get_field_types(self) -> list[TypeInformation]:
        return list(self.field_types)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        if obj is None:
            return None
        if not isinstance(obj, (list, tuple, Row)):
            raise WrongValue(self.label(), obj)
        parts = zip(self.field_types, obj, strict=False)
        return tuple(type_.to_internal_type(value) for type_, value in parts)

    def from_internal_type(self, obj: Any) -> Any:
        return _from_internal(self.field_types, obj)

    def coercer(self) -> Coercer:
        return tuple_coercer(self.field_types)

    def label(self) -> str:
        return f"TUPLE of {len(self.field_types)}"

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(str, self.field_types))})"


def _from_internal(types: Sequence[TypeInformation], obj: Any) -> Any:
    # Tuples and lists were converted when they were unpickled.
    if obj is None or isinstance(obj, (tuple, list)):
        return obj
    parts = zip(types, obj, strict=False)
    return tuple(type_.from_internal_type(value) for type_, value in parts)


@dataclass(frozen=True, repr=False)
class ListTypeInfo(TypeInformation):
    """Lists of one type."""

    elem_type: TypeInformation

    def __post_init__(self) -> None:
        _require_type(self.elem_type, "the element type of LIST")

    def coercer(self) -> Coercer:
        return list_coercer("LIST", self.elem_type)

    def __repr__(self) -> str:
        return f"ListTypeInfo<{self.elem_type}>"


@dataclass(frozen=True, repr=False)
class MapTypeInfo(TypeInformation):
    """Dictionaries from one type to another."""

    key_type_info: TypeInformation
    value_type_info: TypeInformation

    def __post_init__(self) -> None:
        _require_type(self.key_type_info, "the key type of MAP")
        _require_type(self.value_type_info, "the value type of MAP")

    def coercer(self) -> Coercer:
        return map_coercer(self.key_type_info, self.value_type_info)

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self.key_type_info}, {self.value_type_info}>"


@dataclass(frozen=True, repr=False)
class PrimitiveArrayTypeInfo(TypeInformation):
    """Arrays of numbers, truth values or characters, none of them None; of bytes: `bytes`."""

    element_type: TypeInformation

    def __post_init__(self) -> None:
        _require_element(self.element_type, "PRIMITIVE_ARRAY", _PRIMITIVES)

    def coercer(self) -> Coercer:
        if self.element_type == BasicTypeInfo(BasicType.BYTE):
            return bytes_coercer
        return list_coercer("PRIMITIVE_ARRAY", self.element_type, nullable=False)

    def __repr__(self) -> str:
        return f"PrimitiveArrayTypeInfo<{self.element_type}>"


@dataclass(frozen=True, repr=False)
class BasicArrayTypeInfo(TypeInformation):
    """Arrays of numbers, truth values, characters or texts, any of which may be None."""

    element_type: TypeInformation

    def __post_init__(self) -> None:
        _require_element(self.element_type, "BASIC_ARRAY", _PRIMITIVES | {BasicType.STRING})

    def coercer(self) -> Coercer:
        return list_coercer("BASIC_ARRAY", self.element_type)

    def __repr__(self) -> str:
        return f"BasicArrayTypeInfo<{self.element_type}>"


def _require_element(part: TypeInformation, array: str, allowed: frozenset[BasicType]) -> None:
    _require_type(part, f"the element type of {array}")
    if not isinstance(part, BasicTypeInfo) or part.basic_type not in allowed:
        raise TypeMismatch(
            f"{array} cannot hold {part!r}",
            origin=calling_origin(),
            hint="Use Types.OBJECT_ARRAY() or Types.LIST() for other elements.",
        )


@dataclass(frozen=True, repr=False)
class ObjectArrayTypeInfo(TypeInformation):
    """Arrays of any one type."""

    element_type: TypeInformation

    def __post_init__(self) -> None:
        _require_type(self.element_type, "the element type of OBJECT_ARRAY")

    def coercer(self) -> Coercer:
        return list_coercer("OBJECT_ARRAY", self.element_type)

    def __repr__(self) -> str:
        return f"ObjectArrayTypeInfo<{self.element_type}>"


@dataclass(frozen=True, repr=False)
class ExternalTypeInfo(TypeInformation):
    """A type that came from a table; its values are those of the type inside."""

    type_info: TypeInformation

    def coercer(self) -> Coercer | None:
        return self.type_info.coercer()

    def label(self) -> str:
        return self.type_info.label()

    def __repr__(self) -> str:
        return f"ExternalTypeInfo<{self.type_info}>"
