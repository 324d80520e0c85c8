"""Values made of values, and what is inside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType
from headrace.errors import InvalidArgument
from headrace.operators.functions import variants


def array(*items: Any) -> tuple[Any, ...]:
    return items


def map_of(*items: Any) -> dict[Any, Any]:
    return dict(zip(items[::2], items[1::2], strict=True))


def item(types: Sequence[LogicalType], _result: LogicalType) -> Callable[[Any, Any], Any]:
    """From an array by position, from a map by key, from a VARIANT by either."""
    if isinstance(types[0], lt.VariantType):
        return variants.item
    return _value_of if isinstance(types[0], lt.MapType) else _element


def _value_of(pairs: dict[Any, Any], key: Any) -> Any:
    return pairs.get(key)


def _element(elements: tuple[Any, ...], position: int) -> Any:
    if position < 1:
        raise InvalidArgument(f"positions of arrays start at 1, not {position}")
    return elements[position - 1] if position <= len(elements) else None


def type_name(types: Sequence[LogicalType], _result: LogicalType) -> Callable[..., str]:
    text = str(types[0])
    return lambda *_values: text


def object_of(_class_name: str, *items: Any) -> tuple[Any, ...]:
    return items[1::2]


def object_update(
    types: Sequence[LogicalType], _result: LogicalType
) -> Callable[..., tuple[Any, ...] | None]:
    held = types[0]
    names = held.names if isinstance(held, lt.RowType) else ()

    def updated(row: tuple[Any, ...] | None, *items: Any) -> tuple[Any, ...] | None:
        if row is None:
            return None
        changes = dict(zip(items[::2], items[1::2], strict=True))
        return tuple(changes.get(name, old) for name, old in zip(names, row, strict=True))

    return updated
