"""Types as JSON, the form in which files remember them.

Files outlive versions: what is written here must be read by every later version. New types may be
added; the meaning of a name never changes.

    "LONG"   {"tuple": ["STRING", "LONG"]}   {"row": [["name", "STRING"], ["age", "INT"]]}
    {"row": ["STRING"]} (without names)   {"list": "LONG"}   {"map": ["STRING", "LONG"]}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
from headrace.core.types import (
    BasicType,
    BasicTypeInfo,
    InstantTypeInfo,
    LocalTimeTypeInfo,
    TypeInformation,
    Types,
)
from headrace.errors import InvalidArgument, TypeMismatch

__all__ = ["NothingTypeInfo", "same_type", "type_from_json", "type_to_json"]


@dataclass(frozen=True, repr=False)
class NothingTypeInfo(TypeInformation):
    """The type of None alone: there is no value that could show another."""

    def __repr__(self) -> str:
        return "NothingTypeInfo"

    def label(self) -> str:
        return "NOTHING"


_SINGLE: dict[str, TypeInformation] = {
    **{kind.name: BasicTypeInfo(kind) for kind in BasicType if kind is not BasicType.INSTANT},
    **{kind.name: LocalTimeTypeInfo(kind) for kind in LocalTimeTypeInfo.TimeType},
    "INSTANT": InstantTypeInfo(BasicType.INSTANT),
    "SQL_DATE": Types.SQL_DATE(),
    "SQL_TIME": Types.SQL_TIME(),
    "SQL_TIMESTAMP": Types.SQL_TIMESTAMP(),
    "PICKLED_BYTE_ARRAY": Types.PICKLED_BYTE_ARRAY(),
    "NOTHING": NothingTypeInfo(),
}
_NAMES = {type_: name for name, type_ in _SINGLE.items()}


def type_to_json(type_: TypeInformation) -> Any:
    """The type as strings, lists and dicts that `json` can write."""
    name = _NAMES.get(type_)
    if name is not None:
        return name
    match type_:
        case RowTypeInfo(field_names=None):
            return {"row": [type_to_json(part) for part in type_.field_types]}
        case RowTypeInfo():
            parts = zip(type_.names(), type_.field_types, strict=True)
            return {"row": [[name, type_to_json(part)] for name, part in parts]}
        case TupleTypeInfo():
            return {"tuple": [type_to_json(part) for part in type_.field_types]}
        case MapTypeInfo():
            return {"map": [type_to_json(type_.key_type_info), type_to_json(type_.value_type_info)]}
        case ListTypeInfo():
            return {"list": type_to_json(type_.elem_type)}
        case PrimitiveArrayTypeInfo():
            return {"primitive_array": type_to_json(type_.element_type)}
        case BasicArrayTypeInfo():
            return {"basic_array": type_to_json(type_.element_type)}
        case ObjectArrayTypeInfo():
            return {"object_array": type_to_json(type_.element_type)}
        case ExternalTypeInfo():
            return {"external": type_to_json(type_.type_info)}
    raise TypeMismatch(
        f"{type_!r} cannot be written to a file", hint="Use one of the types that Types gives."
    )


def same_type(one: TypeInformation, other: TypeInformation) -> bool:
    """Whether two types are written alike; `==` takes no notice of the names of fields."""
    return one is other or bool(type_to_json(one) == type_to_json(other))


def _row(parts: list[Any]) -> TypeInformation:
    # The type of a field is a string or a dict; a list is a pair of a name and a type.
    if parts and all(isinstance(part, list) for part in parts):
        return RowTypeInfo([type_from_json(part) for _, part in parts], [name for name, _ in parts])
    return RowTypeInfo([type_from_json(part) for part in parts])


def _map(parts: list[Any]) -> TypeInformation:
    key, value = parts
    return MapTypeInfo(type_from_json(key), type_from_json(value))


_COMPOSITE: dict[str, Callable[[Any], TypeInformation]] = {
    "row": _row,
    "tuple": lambda parts: TupleTypeInfo([type_from_json(part) for part in parts]),
    "map": _map,
    "list": lambda part: ListTypeInfo(type_from_json(part)),
    "primitive_array": lambda part: PrimitiveArrayTypeInfo(type_from_json(part)),
    "basic_array": lambda part: BasicArrayTypeInfo(type_from_json(part)),
    "object_array": lambda part: ObjectArrayTypeInfo(type_from_json(part)),
    "external": lambda part: ExternalTypeInfo(type_from_json(part)),
}


def type_from_json(written: Any) -> TypeInformation:
    """The type that `type_to_json` wrote, in this version or an earlier one."""
    try:
        if isinstance(written, str):
            return _SINGLE[written]
        ((kind, parts),) = written.items()
        return _COMPOSITE[kind](parts)
    except (KeyError, ValueError, TypeError, AttributeError):
        raise InvalidArgument(
            f"{written!r} is not a type that this version of headrace knows",
            hint="The file is damaged or was written by a later version of headrace.",
        ) from None
