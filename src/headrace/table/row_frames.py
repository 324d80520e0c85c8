"""Rows as pandas DataFrames, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.core.logical_types import RowType
from headrace.core.shown_columns import show_frame, show_values
from headrace.operators.functions.session import zone_of
from headrace.operators.table.hashable_rows import lookup_form


def data_frame(changes: Iterable[tuple[Any, ...]], row: RowType, zone: str = "UTC") -> Any:
    """The rows that are there after all changes, as a pandas DataFrame.

    TIMESTAMP_LTZ columns are in `zone`.
    """
    rows = remaining(changes)
    arrays = [show_values([each[at] for each in rows], type) for at, type in enumerate(row.types)]
    return show_frame(arrays, row.fields, zone_of(zone))


def remaining(changes: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """What is left when each deletion and old version has taken one equal row away."""
    rows: dict[int, tuple[Any, ...]] = {}
    places: dict[Any, list[int]] = {}
    for number, (kind, *values) in enumerate(changes):
        name = lookup_form(tuple(values))
        if kind in (0, 2):
            rows[number] = tuple(values)
            places.setdefault(name, []).append(number)
        elif places.get(name):
            del rows[places[name].pop()]
    return list(rows.values())
