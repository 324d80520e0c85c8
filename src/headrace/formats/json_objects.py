"""JSON objects with known fields, read and written in one step by msgspec.

Only values that are as their fields want them are read so. Any others (a number in a text, an
array of objects, bytes that are no JSON) raise a ValueError or a RecursionError: then whoever reads
looks again, field by field, which also finds out what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta, Raw, Struct, defstruct, json
from msgspec.structs import astuple

from headrace.formats.text_values import Unreadable

__all__ = ["ReadField", "object_reader", "object_writer", "whole_number"]


@dataclass(frozen=True, slots=True)
class ReadField:
    """A field that is read: as it is, or by a function of its JSON, which is not asked for a field
    that is not there."""

    name: str
    kind: Any = None
    """str, bool, float, or a `whole_number`."""
    of_json: Callable[[bytes], Any] | None = None


def whole_number(lowest: int, highest: int) -> Any:
    """The kind of integers within bounds."""
    return Annotated[int, Meta(ge=lowest, le=highest)]


def object_reader(
    fields: Sequence[ReadField], *, needs_all: bool = False
) -> Callable[[bytes | str], Sequence[Any]]:
    """From a JSON object to the values of its fields, in their order; others are passed over.
    What is not there is None, or an error if all are needed."""
    try:
        decode = json.Decoder(_object(fields, needs_all)).decode
    except ValueError:  # msgspec knows no names with quotes or backslashes in them
        return _refuse
    parts = [(at, field.of_json) for at, field in enumerate(fields) if field.of_json is not None]
    if not parts:
        return lambda message: astuple(decode(message))

    def read(message: bytes | str) -> Sequence[Any]:
        values = list(astuple(decode(message)))
        for at, of_json in parts:
            if values[at] is not None:
                values[at] = of_json(bytes(values[at]))
        return values

    return read


def _object(
    fields: Sequence[ReadField], needs_all: bool, *, omit_defaults: bool = False
) -> type[Struct]:
    """A class whose attributes are numbered, for a field may have any name."""
    places = [f"_{number}" for number in range(len(fields))]
    kinds = [field.kind | None if field.of_json is None else Raw for field in fields]
    return defstruct(
        "Object",
        [
            (place, kind) if needs_all else (place, kind, None)
            for place, kind in zip(places, kinds, strict=True)
        ],
        rename={place: field.name for place, field in zip(places, fields, strict=True)},
        omit_defaults=omit_defaults,
        gc=False,
    )


def _refuse(message: bytes | str) -> Sequence[Any]:
    raise Unreadable(message, "of plain names")


def object_writer(
    names: Sequence[str],
    kinds: Sequence[type | None],
    in_parts: Callable[[Sequence[Any]], str],
    *,
    skips_nulls: bool = False,
) -> Callable[[Sequence[Any]], bytes]:
    """From the values of the fields to a JSON object. `in_parts` writes those of which one has
    another class than its kind, and all if there is a field without a kind."""
    fields = [ReadField(name, Any) for name in names]
    try:
        made = _object(fields, False, omit_defaults=skips_nulls)
    except ValueError:
        made = None
    if made is None or None in kinds:
        return lambda values: in_parts(values).encode()
    encode = json.Encoder().encode

    def write(values: Sequence[Any]) -> bytes:
        for value, kind in zip(values, kinds, strict=True):
            if value.__class__ is not kind and value is not None:
                return in_parts(values).encode()
        return encode(made(*values))

    return write
