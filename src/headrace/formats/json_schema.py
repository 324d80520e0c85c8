"""The row type that a JSON Schema document describes."""

from __future__ import annotations

import json
from typing import Any

from headrace.core.types import RowTypeInfo, TypeInformation, Types
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = ["row_type_of_json_schema"]

_FORMATS = {
    "date-time": Types.SQL_TIMESTAMP(),
    "date": Types.SQL_DATE(),
    "time": Types.SQL_TIME(),
}
_SIMPLE = {
    "boolean": Types.BOOLEAN(),
    "number": Types.BIG_DEC(),
    "integer": Types.BIG_DEC(),
}


def row_type_of_json_schema(document: str) -> RowTypeInfo:
    """The type of the objects; numbers are decimals, because JSON sets them no bounds."""
    try:
        schema = json.loads(document)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(
            f"the JSON schema is not JSON: {error}", origin=calling_origin()
        ) from None
    found = _type(schema, "the schema", schema)
    if not isinstance(found, RowTypeInfo):
        raise InvalidArgument(
            "the JSON schema must describe an object with properties", origin=calling_origin()
        )
    return found


def _type(schema: Any, place: str, root: Any) -> TypeInformation:
    if not isinstance(schema, dict):
        raise _wrong(place, schema)
    if "$ref" in schema:
        return _type(_referred(schema["$ref"], root), place, root)
    kind = schema.get("type")
    if isinstance(kind, list):
        # A type or null: every field may be null anyway.
        real = [name for name in kind if name != "null"]
        kind = real[0] if len(real) == 1 else None
    if kind == "object":
        properties = schema.get("properties")
        if not isinstance(properties, dict) or not properties:
            raise _wrong(place, schema)
        types = [_type(part, f"property {name!r}", root) for name, part in properties.items()]
        return Types.ROW_NAMED(list(properties), types)
    if kind == "array":
        return Types.OBJECT_ARRAY(_type(schema.get("items"), f"the items of {place}", root))
    if kind == "string":
        if schema.get("contentEncoding") == "base64":
            return Types.PRIMITIVE_ARRAY(Types.BYTE())
        return _FORMATS.get(schema.get("format", ""), Types.STRING())
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    raise _wrong(place, schema)


def _referred(reference: str, root: Any) -> Any:
    found = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        if not reference.startswith("#/") or not isinstance(found, dict) or step not in found:
            raise InvalidArgument(
                f"the reference {reference!r} leads nowhere in the JSON schema",
                origin=calling_origin(),
            )
        found = found[step]
    return found


def _wrong(place: str, schema: Any) -> InvalidArgument:
    return InvalidArgument(
        f"{place} has no type headrace can read: {json.dumps(schema)}",
        origin=calling_origin(),
        hint="Use object with properties, array with items, string, number, integer or boolean.",
    )
