"""GROUP BY without windows: a row per group, changed whenever its result changes.

A group counts its rows, so that it is known to be gone when the last one is taken back. Without
calls it is DISTINCT.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import AggregateCall
from headrace.core.operator import Batch, Context
from headrace.core.state import ValueStateDescriptor
from headrace.core.table_connector import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.core.types import Types
from headrace.core.user_code import RecordFailure
from headrace.operators.table.aggregating import AggregateHandler, Kept
from headrace.operators.table.expand import GroupingSets
from headrace.operators.table.keyed_changes import Row, TableOperator, with_ttl

_COUNT, _KEPT, _BEFORE = 0, 1, 2
Group = list[Any]
"""How many rows it has, what it keeps, and its result when the micro-batch began (None: new)."""


class GroupAggregateOperator(TableOperator):
    """Rows in, keyed by the grouping columns; out: (kind, *key, *results).

    With `grouping` the key's last part is the number of a grouping set, which is not emitted.
    `row_if_empty` emits one row for no input at all when the input ends, as batch queries without
    GROUP BY do; the operator must then have a parallelism of 1. With `partial` the input is what
    a LocalAggregateOperator emits, and there is no `per_record`.
    """

    keyed = True

    def __init__(
        self, calls: Sequence[AggregateCall], *, retracts: bool = True, per_record: bool = False,
        emits_before: bool = True, ttl_ms: int | None = None, grouping: GroupingSets | None = None,
        row_if_empty: bool = False, partial: bool = False,
    ):  # fmt: skip
        self.calls = tuple(calls)
        of_rows = [call for call in self.calls if call.function.kind != "grouping"]
        self._handler = AggregateHandler(of_rows, retracts=retracts)
        self.retracts = retracts
        self.per_record = per_record
        self.emits_before = emits_before
        self.ttl_ms = ttl_ms
        self.grouping = grouping
        self.row_if_empty = row_if_empty
        self.partial = partial

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._handler.open(ctx)
        groups: ValueStateDescriptor[tuple[int, Kept]] = ValueStateDescriptor(
            "groups", Types.TUPLE([Types.LONG(), Types.PICKLED_BYTE_ARRAY()])
        )
        self._state = ctx.keyed_state(with_ttl(groups, self.ttl_ms))
        self._touched: dict[Any, Group] = {}

    def close(self) -> None:
        self._handler.close()

    def receive(self, side: int, batch: Batch) -> None:
        assert batch.keys is not None
        out: list[Row] = []
        self._at: tuple[Any, Any] = None, None
        try:
            if self.partial:
                self._merge(batch)
            elif self.per_record:
                self._answer_each(batch, out)
            elif self.retracts:
                self._collect(batch)
            else:
                self._collect_additions(batch)
        except RecordFailure:
            raise
        except Exception as error:
            row, key = self._at
            raise RecordFailure(error, "an aggregation", row, key) from error
        self.emit_rows(out)

    # Record by record.

    def _answer_each(self, batch: Batch, out: list[Row]) -> None:
        add, retract = self._handler.add, self._handler.retract
        assert batch.keys is not None
        for key, row in zip(batch.keys, batch.values, strict=True):
            self._at = row, key
            group = self._load(key)
            if row[0] & 1:
                if group[_COUNT] == 0:
                    continue  # its group has expired, or never was
                retract(group[_KEPT], row)
                group[_COUNT] -= 1
            else:
                add(group[_KEPT], row)
                group[_COUNT] += 1
            self._settle(key, group, out)

    # Once per micro-batch.

    def _collect(self, batch: Batch) -> None:
        add, retract, touched = self._handler.add, self._handler.retract, self._touched
        assert batch.keys is not None
        for key, row in zip(batch.keys, batch.values, strict=True):
            group = touched.get(key)
            if group is None:
                self._at = row, key
                group = touched[key] = self._load(key)
            if row[0] & 1:
                self._at = row, key
                if group[_COUNT] == 0:
                    continue  # its group has expired, or never was
                retract(group[_KEPT], row)
                group[_COUNT] -= 1
                if group[_COUNT] == 0:
                    group[_KEPT] = self._handler.create()
            else:
                add(group[_KEPT], row)
                group[_COUNT] += 1

    def _collect_additions(self, batch: Batch) -> None:
        """Sort the rows by group first: each group's rows then go through one tight loop."""
        rows_of: dict[Any, list[Row]] = {}
        assert batch.keys is not None
        for key, row in zip(batch.keys, batch.values, strict=True):
            rows = rows_of.get(key)
            if rows is None:
                rows_of[key] = [row]
            else:
                rows.append(row)
        add_all, touched = self._handler.add_all, self._touched
        for key, rows in rows_of.items():
            self._at = rows[0], key
            group = touched.get(key)
            if group is None:
                group = touched[key] = self._load(key)
            add_all(group[_KEPT], rows)
            group[_COUNT] += len(rows)

    def _merge(self, batch: Batch) -> None:
        merge, touched = self._handler.merge, self._touched
        assert batch.keys is not None
        for key, row in zip(batch.keys, batch.values, strict=True):
            self._at = row, key
            group = touched.get(key)
            if group is None:
                group = touched[key] = self._load(key)
            group[_KEPT] = merge(group[_KEPT], row[-1])
            group[_COUNT] += row[-2]

    def _load(self, key: Any) -> Group:
        self.ctx.scope.key = key
        found = self._state.value()
        if found is None:
            return [0, self._handler.create(), None]
        count, kept = found
        return [count, kept, self._handler.results(kept)]

    def _settle(self, key: Any, group: Group, out: list[Row]) -> None:
        """Write the current key's group back, and tell how its result has changed."""
        count, kept, before = group
        if count == 0:
            self._state.clear()
            if before is not None:
                out.append(self._row(DELETE, key, before))
            return
        self._state.update((count, kept))
        now = self._handler.results(kept)
        if before is None:
            out.append(self._row(INSERT, key, now))
        elif before != now or self.ttl_ms:
            # With a time to live, results go out although they are the same: others' state of them
            # would expire.
            if self.emits_before:
                out.append(self._row(UPDATE_BEFORE, key, before))
            out.append(self._row(UPDATE_AFTER, key, now))

    def _row(self, kind: int, key: Any, results: tuple[Any, ...]) -> Row:
        grouping = self.grouping
        if grouping is None:
            return (kind, *key, *results)
        of_rows = iter(results)
        number = key[-1]
        return (kind, *key[:-1], *[
            grouping.value(call, number) if call.function.kind == "grouping" else next(of_rows)
            for call in self.calls
        ])  # fmt: skip

    def flush(self) -> None:
        if not self._touched:
            return
        touched, self._touched = self._touched, {}
        out: list[Row] = []
        key: Any = None
        try:
            for key, group in touched.items():
                self.ctx.scope.key = key
                self._settle(key, group, out)
        except Exception as error:
            raise RecordFailure(error, "the results of an aggregation", key=key) from error
        self.emit_rows(out)

    def end_round(self) -> None:
        self.flush()

    def finish(self) -> None:
        self.flush()
        if self.row_if_empty and self.ctx.task.partition == 0:
            self.ctx.scope.key = ()
            if self._state.value() is None:
                results = self._handler.results(self._handler.create())
                self.emit_rows([self._row(INSERT, (), results)])
