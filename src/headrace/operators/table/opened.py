"""Compiled expressions in an operator: opened with it, closed with it, run over its batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.core.operator import Context
from headrace.core.user_code import RecordFailure, apply_all
from headrace.operators.table.compiled import Compiled
from headrace.operators.table.user_functions import FunctionContext

Holders = Iterable[Compiled[Any] | None]


def open_all(holders: Holders, ctx: Context) -> None:
    """Open the functions of the user in expressions."""
    for holder in holders:
        if holder is not None:
            try:
                holder.open(FunctionContext(ctx))
            except Exception as error:
                raise RecordFailure(error, "open") from error


def close_all(holders: Holders) -> None:
    for holder in holders:
        if holder is not None:
            try:
                holder.close()
            except Exception as error:
                raise RecordFailure(error, "close") from error


def results_for(holder: Compiled[Any], rows: list[Any], call: str) -> list[Any]:
    """The results for rows, or the rows a condition holds for; a failure names its row."""
    try:
        return holder.each(rows)
    except Exception:
        apply_all(holder.function, rows, call)
        raise
