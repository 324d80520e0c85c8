"""Rows written in a query, as records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.core.table_connector import INSERT
from headrace.operators.table.keyed_changes import Row


def value_records(rows: Iterable[tuple[Any, ...]]) -> list[Row]:
    """What a source of these rows hands over: each an insert."""
    return [(INSERT, *row) for row in rows]
