"""Rows that are left of a changelog that was kept as it came."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from headrace.core.table_connector import INSERT
from headrace.operators.table.hashable_rows import lookup_form
from headrace.operators.table.keyed_changes import Row


def left_over(changes: Iterable[Row]) -> list[Row]:
    """The rows that changes leave, in the order they came."""
    rows: dict[Any, list[int]] = {}
    for place, change in enumerate(changes):
        values = lookup_form(change[1:])
        if not change[0] & 1:
            rows.setdefault(values, []).append(place)
        elif rows.get(values):
            rows[values].pop(0)
    numbered = [(at, values) for values, places in rows.items() for at in places]
    return [(INSERT, *values) for _, values in sorted(numbered, key=itemgetter(0))]
