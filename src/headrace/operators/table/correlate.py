"""Each row with the rows that a function makes of it: LATERAL TABLE(…) and UNNEST."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.core.expressions import Expression, TableCall, UserFunction
from headrace.core.operator import Batch, Context
from headrace.core.user_code import apply_all
from headrace.operators.functions.session import session_time_zone
from headrace.operators.stateless import emit_flat
from headrace.operators.table.compiled import compiled_predicate, compiled_values
from headrace.operators.table.keyed_changes import Row, TableOperator
from headrace.operators.table.opened import close_all, open_all
from headrace.operators.table.user_functions import UserTableFunction


class CorrelateOperator(TableOperator):
    """Emits (kind, *the row, *a row of the function) for each of these that passes `condition`.

    With `keeps_unmatched` (a left join) a row without any is emitted once, with NULLs.
    """

    def __init__(
        self, call: TableCall, *, keeps_unmatched: bool = False,
        condition: Expression | None = None,
    ):  # fmt: skip
        self.call = call
        self.keeps_unmatched = keeps_unmatched
        self._arguments = compiled_values(call.arguments)
        self._passes = None if condition is None else compiled_predicate(condition)
        self._nulls = (None,) * len(call.fields)

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        open_all((self._arguments, self._passes), ctx)
        function = self.call.function
        self._made: Callable[..., Iterable[tuple[Any, ...]]]
        self._user: UserTableFunction | None = None
        if isinstance(function, UserFunction):
            types = [argument.type for argument in self.call.arguments]
            with session_time_zone(self._arguments.zone):
                self._user = UserTableFunction(function, types, self.call.fields, ctx)
            self._made = self._user
        else:
            self._made = function.meaning

    def close(self) -> None:
        close_all((self._arguments, self._passes))
        if self._user is not None:
            self._user.close()

    def receive(self, side: int, batch: Batch) -> None:
        name = self.call.function.name
        emit_flat(self.ctx.emit, apply_all(self._joined, batch.values, name), batch.timestamps)

    def _joined(self, row: Row) -> list[Row]:
        made = self._made(*self._arguments.function(row)) or ()
        joined = [(*row, *more) for more in made]
        if self._passes is not None:
            joined = self._passes.each(joined)
        if not joined and self.keeps_unmatched:
            return [(*row, *self._nulls)]
        return joined
