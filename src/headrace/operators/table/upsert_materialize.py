"""What a sink with a primary key is told when several rows of a query claim the same key.

Changes of two upstream keys that end in one sink key may arrive in any order, so all rows that
claim it are remembered; the one that came last is the one the sink has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.logical_types import LogicalType
from headrace.core.operator import Context
from headrace.core.state import ValueStateDescriptor
from headrace.core.table_connector import DELETE, INSERT, UPDATE_AFTER
from headrace.core.types import Types
from headrace.errors import InvalidArgument
from headrace.operators.table.hashable_rows import selector
from headrace.operators.table.keyed_changes import (
    KeyedChangesOperator,
    Row,
    as_insert,
    of_kind,
    with_ttl,
)
from headrace.operators.table.state_types import row_state_type

DEDUPLICATE, NOTHING, ERROR = "DEDUPLICATE", "NOTHING", "ERROR"


class UpsertMaterializeOperator(KeyedChangesOperator):
    """Keyed by the sink's primary key. Emits +I, +U and -D, one row per key.

    `upsert_key` are columns by which the query's own updates name a row; None: the whole row.
    `conflict` says what happens if two rows claim a key: the later one wins ("DEDUPLICATE"), the
    first one stays ("NOTHING"), or the job fails ("ERROR"). The last two look at what is left at
    the end of a micro-batch, when changes that belong together have arrived.
    """

    step = "the rows of a sink's key"

    def __init__(
        self, types: Sequence[LogicalType], *, upsert_key: Sequence[int] | None = None,
        conflict: str = DEDUPLICATE, per_record: bool = False, **options: Any,
    ):  # fmt: skip
        super().__init__(per_record=per_record and conflict == DEDUPLICATE, **options)
        self.types = tuple(types)
        self.upsert_key = None if upsert_key is None else tuple(upsert_key)
        self.conflict = conflict

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        rows: ValueStateDescriptor[list[Row]] = ValueStateDescriptor(
            "rows", Types.LIST(row_state_type(self.types))
        )
        self._state = ctx.keyed_state(with_ttl(rows, self.ttl_ms))
        self._same: Callable[[Row], Any] = as_insert
        if self.upsert_key is not None:
            self._same = selector(column + 1 for column in self.upsert_key)

    def change(self, key: Any, rows: Sequence[Row], out: list[Row]) -> None:
        claims = self._state.value() or []
        before = self._winner(claims)
        for row in rows:
            self._apply(row, claims)
        if claims:
            self._state.update(claims)
        else:
            self._state.clear()
        now = self._winner(claims)
        if now is None:
            if before is not None:
                out.append((DELETE, *before[1:]))
        elif before is None:
            out.append(of_kind(INSERT, now))
        elif now != before or self._said_again(rows, now):
            out.append(of_kind(UPDATE_AFTER, now))
        if self.conflict == ERROR and len(claims) > 1:
            raise _conflict(key, claims)

    def _said_again(self, rows: Sequence[Row], now: Row) -> bool:
        """Record by record, a row that comes again is passed on again."""
        return self.per_record and not rows[0][0] & 1 and as_insert(rows[0]) == now

    def _winner(self, claims: list[Row]) -> Row | None:
        if not claims:
            return None
        return claims[-1] if self.conflict == DEDUPLICATE else claims[0]

    def _apply(self, row: Row, claims: list[Row]) -> None:
        wanted = self._same(row)
        place = next((at for at, r in enumerate(claims) if self._same(r) == wanted), None)
        if row[0] & 1:
            if place is not None:  # otherwise it has expired
                del claims[place]
        elif place is not None and self.upsert_key is not None:
            claims[place] = as_insert(row)
        else:
            claims.append(as_insert(row))


def _conflict(key: Any, claims: list[Row]) -> InvalidArgument:
    return InvalidArgument(
        f"{len(claims)} rows have the primary key {key!r}, a sink can only hold one of them: "
        f"{[row[1:] for row in claims[:2]]!r}",
        hint="Aggregate or deduplicate by the key, or write ON CONFLICT DO NOTHING or DO "
        "DEDUPLICATE.",
    )
