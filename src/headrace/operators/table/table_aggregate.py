"""flat_aggregate: a function of the user that gives any number of rows for each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import AggregateCall
from headrace.core.logical_types import Field
from headrace.core.operator import Context
from headrace.core.state import ValueStateDescriptor
from headrace.core.table_connector import DELETE, INSERT
from headrace.core.types import Types
from headrace.errors import TypeMismatch
from headrace.operators.functions.session import session_time_zone
from headrace.operators.table.compiled import compiled_predicate, compiled_values
from headrace.operators.table.keyed_changes import KeyedChangesOperator, Row, with_ttl
from headrace.operators.table.opened import close_all, open_all
from headrace.operators.table.user_functions import UserTableAggregate


class TableAggregateOperator(KeyedChangesOperator):
    """Emits (kind, *key, *row) for the rows of a group.

    When a group changes, its old rows are deleted and its new ones inserted; a function with
    `emit_update_with_retract` says itself which rows go and come.
    """

    step = "a table aggregation"

    def __init__(self, call: AggregateCall, fields: Sequence[Field], **options: Any):
        super().__init__(**options)
        if call.user is None:
            raise TypeMismatch(f"{call} is no table aggregate function of the user")
        self.call = call
        self.fields = tuple(fields)
        self._arguments = compiled_values(call.arguments)
        self._passes = None if call.filter is None else compiled_predicate(call.filter)

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        open_all((self._arguments, self._passes), ctx)
        assert self.call.user is not None
        types = [argument.type for argument in self.call.arguments]
        with session_time_zone(self._arguments.zone):
            self._function = UserTableAggregate(self.call.user, types, self.fields, ctx)
        groups: ValueStateDescriptor[tuple[int, Any]] = ValueStateDescriptor(
            "groups", Types.TUPLE([Types.LONG(), Types.PICKLED_BYTE_ARRAY()])
        )
        self._state = ctx.keyed_state(with_ttl(groups, self.ttl_ms))

    def close(self) -> None:
        close_all((self._arguments, self._passes))
        self._function.close()

    def change(self, key: Any, rows: Sequence[Row], out: list[Row]) -> None:
        function, found = self._function, self._state.value()
        count, kept = (0, function.create()) if found is None else found
        itself = function.updates_itself
        before = [] if found is None or itself else function.rows(kept)
        count = self._take(rows, count, kept)
        if count == 0:
            self._state.clear()
            if itself and found is not None:
                out += self._updates(key, kept)
            out += ((DELETE, *key, *row) for row in before)
            return
        if itself:
            out += self._updates(key, kept)
        else:
            now = function.rows(kept)
            if self.per_record or now != before:
                out += ((DELETE, *key, *row) for row in before)
                out += ((INSERT, *key, *row) for row in now)
        self._state.update((count, kept))

    def _take(self, rows: Sequence[Row], count: int, kept: Any) -> int:
        function, arguments, passes = self._function, self._arguments.function, self._passes
        for row in rows:
            takes_back = row[0] & 1
            if takes_back and count == 0:
                continue  # its group has expired, or never was
            count += -1 if takes_back else 1
            if passes is not None and not passes.function(row):
                continue
            if takes_back:
                function.retract(kept, arguments(row))
            else:
                function.add(kept, arguments(row))
        return count

    def _updates(self, key: Any, kept: Any) -> list[Row]:
        told = self._function.update(kept)
        return [(DELETE if gone else INSERT, *key, *row) for gone, row in told]
