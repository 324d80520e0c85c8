"""Compiled expressions in an operator: opened with it, closed with it, run over its batches."""

from __future__ import annotations

from collections.abc import Iterable
from operator import length_hint
from typing import Any

from headrace.core.expressions import Call, UserCall
from headrace.core.operator import MIN_TIMESTAMP, Context
from headrace.core.user_code import RecordFailure, apply_all
from headrace.operators.functions.clock import set_watermark
from headrace.operators.table.compiled import Compiled
from headrace.operators.table.user_functions import FunctionContext

Holders = Iterable[Compiled[Any] | None]


def open_all(holders: Holders, ctx: Context) -> None:
    """Open the functions of the user in expressions of an operator."""
    open_with(holders, FunctionContext(ctx))


def open_with(holders: Holders, context: FunctionContext) -> None:
    for holder in holders:
        if holder is not None:
            try:
                holder.open(context)
            except Exception as error:
                raise RecordFailure(error, "open") from error


def ask_for_watermark(holders: Holders) -> bool:
    """Whether expressions have CURRENT_WATERMARK in them."""
    return any(
        isinstance(part, Call) and part.function.name == "CURRENT_WATERMARK"
        for holder in holders
        if holder is not None
        for expression in holder.expressions
        for part in expression.walk()
    )


def tell_watermark(ctx: Context) -> None:
    """Let CURRENT_WATERMARK say how far event time has come."""
    set_watermark(None if ctx.watermark == MIN_TIMESTAMP else ctx.watermark)


def close_all(holders: Holders) -> None:
    for holder in holders:
        if holder is not None:
            try:
                holder.close()
            except Exception as error:
                raise RecordFailure(error, "close") from error


def results_for(holder: Compiled[Any], rows: list[Any], call: str) -> list[Any]:
    """The results for rows, or the rows a condition holds for; a failure names its row."""
    source = iter(rows)
    try:
        return holder.each(source)
    except RecordFailure:
        raise
    except Exception as error:
        call = with_functions(call, holder)
        if holder.takes_batches:  # one by one, to learn which row it was
            apply_all(holder.function, rows, call)
            raise RecordFailure(error, call) from error
        raise RecordFailure(error, call, rows[-length_hint(source) - 1]) from error


def with_functions(call: str, holder: Compiled[Any]) -> str:
    """What failed, with the names of the user's functions in it."""
    names = dict.fromkeys(
        f"{part.function.name}()"
        for expression in holder.expressions
        for part in expression.walk()
        if isinstance(part, UserCall)
    )
    return f"{call} with {', '.join(names)}" if names else call
