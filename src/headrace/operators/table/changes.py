"""What is left of the changes of a micro-batch when opposite ones cancel out.

Kinds of changes that add a row are even, those that take one back odd.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.core.operator import Context
from headrace.core.table_connector import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.operators.table.hashable_rows import Selector, Values, lookup_form, selector
from headrace.operators.table.keyed_changes import Row, TableOperator


class NetChanges:
    """Collects changes; each row that stays changed comes out once, removals first.

    With the columns of a key that no two rows share, a removal and an addition of the same key
    come out as an update. Then those before updates are left out unless they are wanted.
    """

    def __init__(self, key: tuple[int, ...] | None = None, *, emits_before: bool = True):
        self._select = None if key is None else selector(key)
        self._emits_before = emits_before
        self._counts: dict[Values, int] = {}

    def add_all(self, changes: Iterable[Row]) -> None:
        counts = self._counts
        for change in changes:
            values = lookup_form(change[1:])
            count = counts.get(values, 0) + (-1 if change[0] & 1 else 1)
            if count:
                counts[values] = count
            else:
                del counts[values]

    def take(self) -> list[Row]:
        counts, self._counts = self._counts, {}
        removed = [values for values, count in counts.items() for _ in range(-count)]
        added = [values for values, count in counts.items() for _ in range(count)]
        if self._select is None:
            return [*((DELETE, *values) for values in removed),
                    *((INSERT, *values) for values in added)]  # fmt: skip
        return self._as_updates(removed, added, self._select)

    def _as_updates(
        self, removed: list[Values], added: list[Values], select: Selector
    ) -> list[Row]:
        before = {lookup_form(select(values)): values for values in removed}
        after = {lookup_form(select(values)) for values in added}
        out: list[Row] = [
            (DELETE, *values) for values in removed if lookup_form(select(values)) not in after
        ]
        for values in added:
            old = before.get(lookup_form(select(values)))
            if old is None:
                out.append((INSERT, *values))
                continue
            if self._emits_before:
                out.append((UPDATE_BEFORE, *old))
            out.append((UPDATE_AFTER, *values))
        return out


class ChangingOperator(TableOperator):
    """A keyed operator whose results change: told record by record, or once per micro-batch."""

    keyed = True

    def __init__(
        self, *, per_record: bool = False, emits_before: bool = True,
        output_key: tuple[int, ...] | None = None,
    ):  # fmt: skip
        self.per_record = per_record
        self.emits_before = emits_before
        self.output_key = output_key

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._net = NetChanges(self.output_key, emits_before=self.emits_before)

    def give(self, changes: list[Row]) -> None:
        """Hand over what records have changed."""
        if not changes:
            return
        if not self.per_record:
            self._net.add_all(changes)
            return
        if not self.emits_before:
            changes = [change for change in changes if change[0] != UPDATE_BEFORE]
        self.emit_rows(changes)

    def end_round(self) -> None:
        self.emit_rows(self._net.take())

    def finish(self) -> None:
        # What comes after this operator must have its rows before it is told to finish.
        self.end_round()
