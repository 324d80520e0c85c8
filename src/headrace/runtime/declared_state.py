"""What a program declares of a state, and how stored state follows when the declaration changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.core.columnar import type_from_json, type_to_json
from headrace.core.composite_types import MapTypeInfo
from headrace.core.evolution import evolve_object, migration
from headrace.core.state import StateDescriptor
from headrace.errors import IncompatibleState
from headrace.runtime.tables import ListTable, MapTable, Table, ValueTable

Convert = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Declared:
    """A state as the program declares it; `type` in the form in which it is kept with the state."""

    kind: str
    type: Any
    ttl: bool

    @staticmethod
    def of(kind: str, descriptor: StateDescriptor) -> Declared:
        return Declared(kind, type_to_json(descriptor.type_info), descriptor.ttl is not None)


def follow(
    table: Table, stored: Declared, declared: Declared, now: int, what: str, *, by_others: bool
) -> None:
    """Turn what a table holds into what the program declares now.

    `by_others`: another run of the program wrote it, whose classes may have been different ones.
    """
    convert_name, convert = conversions(stored, declared, what)
    if by_others:
        convert = _both(evolve_object, convert)
    if stored.ttl or declared.ttl:
        convert = _aged(convert, stored.ttl, declared.ttl, now)
    if convert is not None or convert_name is not None:
        _rewrite(table, convert_name or _same, convert or _same)


def conversions(
    stored: Declared, declared: Declared, what: str
) -> tuple[Convert | None, Convert | None]:
    """For the keys of a map, and for values; refused if one cannot become the other."""
    if stored.kind != declared.kind:
        raise changed_kind(what, stored.kind, declared.kind)
    if stored.type == declared.type:
        return None, None
    old, new = type_from_json(stored.type), type_from_json(declared.type)
    if isinstance(old, MapTypeInfo) and isinstance(new, MapTypeInfo) and stored.kind == "map":
        return (migration(old.key_type_info, new.key_type_info, f"the key of {what}"),
                migration(old.value_type_info, new.value_type_info, what))  # fmt: skip
    return None, migration(old, new, what)


def changed_kind(what: str, was: str, is_: str) -> IncompatibleState:
    """A state that is a list now, say, can make nothing of a stored value."""
    return IncompatibleState(
        f"{what} was stored as a {was} state and is now a {is_} state",
        hint="Give the new state another name, or keep its kind.",
    )


def _same(value: Any) -> Any:
    return value


def _both(first: Convert, then: Convert | None) -> Convert:
    return first if then is None else lambda value: then(first(value))


def _aged(convert: Convert | None, was: bool, is_: bool, now: int) -> Convert | None:
    """The same for values that are stored with the time they were last made young."""
    inner = convert or _same
    if was and is_:
        return None if convert is None else lambda stored: (stored[0], inner(stored[1]))
    if was:
        return lambda stored: inner(stored[1])
    return lambda stored: (now, inner(stored))


def _rewrite(table: Table, convert_name: Convert, convert: Convert) -> None:
    for key in list(table.data):
        stored = table.data[key]
        if isinstance(table, ValueTable):
            new = convert(stored)
            if new is not stored:
                table.put(key, new)
        elif isinstance(table, ListTable):
            values = [convert(value) for value in stored]
            if any(a is not b for a, b in zip(values, stored, strict=True)):
                table.put(key, values)
        elif isinstance(table, MapTable):
            entries = [(convert_name(name), convert(value)) for name, value in stored.items()]
            # A name may have become another one that equals it, as 1 and 1.0 do.
            kept = zip(entries, stored.items(), strict=True)
            if any(new[0] is not old[0] or new[1] is not old[1] for new, old in kept):
                table.clear(key)
                for name, value in entries:
                    table.put(key, name, value)
