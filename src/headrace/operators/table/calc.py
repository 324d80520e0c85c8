"""Projection and filter in one pass.

An update whose row stops passing the filter needs no care: its -U passes, its +U does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from headrace.core.expressions import Column, Expression
from headrace.core.operator import Batch, Context
from headrace.core.user_code import apply_all
from headrace.operators.table.compiled import compiled_predicate, compiled_row
from headrace.operators.table.keyed_changes import TableOperator
from headrace.operators.table.opened import (
    ask_for_watermark,
    close_all,
    open_all,
    results_for,
    tell_watermark,
)


class CalcOperator(TableOperator):
    """Keeps the rows that pass `condition` and makes others of them.

    `expressions` None keeps the columns as they are. `width`, the number of the input's columns,
    lets it see that a projection changes nothing.
    """

    def __init__(
        self, expressions: Sequence[Expression] | None = None, condition: Expression | None = None,
        *, width: int | None = None,
    ):  # fmt: skip
        if expressions is not None and _is_identity(expressions, width):
            expressions = None
        self._passes = None if condition is None else compiled_predicate(condition)
        self._project = None if expressions is None else compiled_row(expressions)
        self._asks_for_watermark = ask_for_watermark((self._passes, self._project))

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        open_all((self._passes, self._project), ctx)

    def close(self) -> None:
        close_all((self._passes, self._project))

    def receive(self, side: int, batch: Batch) -> None:
        rows, stamps = batch.values, batch.timestamps
        if self._asks_for_watermark:
            tell_watermark(self.ctx)
        if self._passes is not None and stamps is None:
            rows = results_for(self._passes, rows, "a filter")
        elif self._passes is not None:
            kept = apply_all(self._passes.function, rows, "a filter")
            rows, stamps = list(compress(rows, kept)), list(compress(stamps or (), kept))
        if self._project is not None:
            rows = results_for(self._project, rows, "a projection")
        if rows:
            self.ctx.emit(rows, stamps)


def _is_identity(expressions: Sequence[Expression], width: int | None) -> bool:
    return width == len(expressions) and all(
        isinstance(expression, Column) and expression.index == place
        for place, expression in enumerate(expressions)
    )
