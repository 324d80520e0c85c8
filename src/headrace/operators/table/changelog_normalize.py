"""Making a full changelog of upserts: what a row was before is remembered by key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import Expression
from headrace.core.logical_types import LogicalType
from headrace.core.operator import Context
from headrace.core.state import ValueStateDescriptor
from headrace.core.table_connector import DELETE, UPDATE_AFTER, UPDATE_BEFORE
from headrace.operators.table.compiled import compiled_predicate
from headrace.operators.table.keyed_changes import (
    KeyedChangesOperator,
    Row,
    as_insert,
    of_kind,
    with_ttl,
)
from headrace.operators.table.opened import (
    ask_for_watermark,
    close_all,
    open_all,
    tell_watermark,
)
from headrace.operators.table.state_types import row_state_type


class ChangelogNormalizeOperator(KeyedChangesOperator):
    """Keyed by the primary key: the last row of each key, with -U, repeated rows left out.

    With a `condition` only rows that pass it are told of; one that stops passing is deleted.
    """

    step = "the normalization of a changelog"

    def __init__(
        self, types: Sequence[LogicalType], *, condition: Expression | None = None, **options: Any
    ):
        super().__init__(**options)
        self.types = tuple(types)
        self._passes = None if condition is None else compiled_predicate(condition)
        self._asks_for_watermark = ask_for_watermark((self._passes,))

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        open_all((self._passes,), ctx)
        last: ValueStateDescriptor[Row] = ValueStateDescriptor(
            "last-row", row_state_type(self.types)
        )
        self._last = ctx.keyed_state(with_ttl(last, self.ttl_ms))

    def close(self) -> None:
        close_all((self._passes,))

    def change(self, key: Any, rows: Sequence[Row], out: list[Row]) -> None:
        if self._asks_for_watermark:
            tell_watermark(self.ctx)
        before = self._last.value()
        row = rows[-1]
        if row[0] & 1:
            # A -U may be the last word: where updates are by key, no +U need follow it.
            self._last.clear()
            if before is not None and self._shown(before):
                out.append(of_kind(DELETE, before))
            return
        now = as_insert(row)
        if now == before and not self.ttl_ms:
            return
        self._last.update(now)
        was_shown = before is not None and self._shown(before)
        if self._shown(now):
            if was_shown:
                assert before is not None
                if self.emits_before:
                    out.append(of_kind(UPDATE_BEFORE, before))
                out.append(of_kind(UPDATE_AFTER, now))
            else:
                out.append(now)
        elif was_shown:
            assert before is not None
            out.append(of_kind(DELETE, before))

    def _shown(self, row: Row) -> bool:
        return self._passes is None or self._passes.function(row)
