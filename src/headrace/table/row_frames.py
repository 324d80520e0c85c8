"""Rows as pandas DataFrames, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from headrace.core.logical_types import RowType
from headrace.core.table_columns import to_arrow
from headrace.operators.table.hashable_rows import lookup_form


def data_frame(changes: Iterable[tuple[Any, ...]], row: RowType) -> Any:
    """The rows that are there after all changes, as a pandas DataFrame."""
    rows = remaining(changes)
    arrays = [
        to_arrow([each[index] for each in rows], type) for index, type in enumerate(row.types)
    ]
    return pa.Table.from_arrays(arrays, names=list(row.names)).to_pandas()


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
