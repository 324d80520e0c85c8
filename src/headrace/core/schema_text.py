"""Types for people to read, in messages that compare them."""

from __future__ import annotations

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
from headrace.core.type_information import TypeInformation

__all__ = ["schema_text"]

_WIDEST_LINE = 72


def schema_text(type_: TypeInformation) -> str:
    """A type for people to read, over several lines when it is long."""
    name, parts = _schema_parts(type_)
    if not parts:
        return name
    texts = [
        f"{label} {schema_text(part)}" if label else schema_text(part) for label, part in parts
    ]
    line = f"{name}({', '.join(texts)})"
    if len(line) <= _WIDEST_LINE and "\n" not in line:
        return line
    inner = "".join("\n  " + text.replace("\n", "\n  ") + "," for text in texts)
    return f"{name}({inner}\n)"


def _schema_parts(type_: TypeInformation) -> tuple[str, list[tuple[str, TypeInformation]]]:
    match type_:
        case ExternalTypeInfo():
            return _schema_parts(type_.type_info)
        case RowTypeInfo():
            names = type_.field_names or [""] * len(type_.field_types)
            return "ROW", list(zip(names, type_.field_types, strict=True))
        case TupleTypeInfo():
            return "TUPLE", [("", part) for part in type_.field_types]
        case MapTypeInfo():
            return "MAP", [("", type_.key_type_info), ("", type_.value_type_info)]
        case ListTypeInfo():
            return "LIST", [("", type_.elem_type)]
        case PrimitiveArrayTypeInfo():
            return "PRIMITIVE_ARRAY", [("", type_.element_type)]
        case BasicArrayTypeInfo():
            return "BASIC_ARRAY", [("", type_.element_type)]
        case ObjectArrayTypeInfo():
            return "OBJECT_ARRAY", [("", type_.element_type)]
    return type_.label(), []
