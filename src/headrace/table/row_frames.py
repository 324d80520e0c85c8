"""Rows as pandas DataFrames, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from headrace.core.logical_types import (
    LocalZonedTimestampType,
    LogicalType,
    RowType,
    TimeType,
)
from headrace.core.table_columns import to_arrow
from headrace.operators.table.hashable_rows import lookup_form


def data_frame(changes: Iterable[tuple[Any, ...]], row: RowType, zone: str = "UTC") -> Any:
    """The rows that are there after all changes, as a pandas DataFrame.

    TIMESTAMP_LTZ columns have the wall-clock time of `zone`.
    """
    rows = remaining(changes)
    arrays = [_column([each[at] for each in rows], type) for at, type in enumerate(row.types)]
    frame = pa.Table.from_arrays(arrays, names=list(row.names)).to_pandas()
    for name, type in zip(row.names, row.types, strict=True):
        if isinstance(type, LocalZonedTimestampType):
            frame[name] = frame[name].dt.tz_convert(zone).dt.tz_localize(None)
    return frame


def _column(values: list[Any], type: LogicalType) -> pa.Array:
    if isinstance(type, TimeType):
        # Internally a number of milliseconds, which a program would not know as a time.
        return pa.array(values, pa.int32()).cast(pa.time32("ms"))
    return to_arrow(values, type)


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
