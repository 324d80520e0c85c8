"""Regular joins: both sides are remembered, and either may change at any time.

A change on one side is joined with all rows of the other side that match. Where a row without a
partner still gives a result, the first partner takes that result back and the last one to go
brings it again.
"""

from __future__ import annotations

from abc import abstractmethod

from headrace.core.expressions import Expression
from headrace.core.operator import Batch, Context
from headrace.core.table_connector import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.core.user_code import RecordFailure
from headrace.operators.table.changes import ChangingOperator
from headrace.operators.table.hashable_rows import Values
from headrace.operators.table.join_condition import JoinCondition
from headrace.operators.table.join_state import JoinInput, Partner, join_side
from headrace.operators.table.keyed_changes import Row

LEFT_SIDE, RIGHT_SIDE = 0, 1
_STATES = ("left-rows", "right-rows")


class _TwoSidedOperator(ChangingOperator):
    """Two sides with their state, and what rows of them match."""

    def __init__(
        self, left: JoinInput, right: JoinInput, condition: JoinCondition, *,
        counts_partners: tuple[bool, bool], insert_only: bool, per_record: bool,
        emits_before: bool, output_key: tuple[int, ...] | None,
    ):  # fmt: skip
        # Additions alone cannot cancel each other out, so there is nothing to wait for.
        super().__init__(
            per_record=per_record or insert_only, emits_before=emits_before, output_key=output_key
        )
        self.inputs = (left, right)
        self.condition = condition
        self.counts_partners = counts_partners

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._condition = self.condition.open(ctx)
        self._sides = tuple(
            join_side(ctx, name, side, counts)
            for name, side, counts in zip(_STATES, self.inputs, self.counts_partners, strict=True)
        )

    def close(self) -> None:
        self.condition.close()

    def receive(self, side: int, batch: Batch) -> None:
        scope, out = self.ctx.scope, list[Row]()
        key_matches = self._condition.key_matches
        key = row = None
        assert batch.keys is not None
        try:
            for key, row in zip(batch.keys, batch.values, strict=True):
                scope.key = key
                if key_matches(key):
                    self._take_row(side, row[0], row[1:], out)
                else:
                    self._take_alone(side, row[0], row[1:], out)
        except Exception as error:
            raise RecordFailure(error, "join", row, key) from error
        self.give(out)

    def _take_row(self, side: int, kind: int, values: Values, out: list[Row]) -> None:
        others, seen_from = self._sides[1 - side], self._condition.seen_from
        if kind & 1:
            values = self._sides[side].named_by(values)
        elif kind == UPDATE_AFTER:
            old = self._sides[side].replaced_by(values)
            if old is not None:  # the row before it was not taken back: updates come by key
                partners = others.matching(seen_from(side, old))
                self._take(side, UPDATE_BEFORE, old, partners, out)
        self._take(side, kind, values, others.matching(seen_from(side, values)), out)

    @abstractmethod
    def _take(
        self, side: int, kind: int, values: Values, partners: list[Partner], out: list[Row]
    ) -> None:
        """Handle a row that has these partners."""

    @abstractmethod
    def _take_alone(self, side: int, kind: int, values: Values, out: list[Row]) -> None:
        """Handle a row whose key equals nothing, so that it need not be remembered either."""


class JoinOperator(_TwoSidedOperator):
    """Inner, left, right and full joins. Columns: left, then right."""

    def __init__(
        self, kind: str, left: JoinInput, right: JoinInput, condition: Expression | None = None, *,
        null_safe: tuple[bool, ...] = (), insert_only: bool = False, per_record: bool = False,
        emits_before: bool = True, output_key: tuple[int, ...] | None = None,
    ):  # fmt: skip
        self.outer = (kind in ("left", "full"), kind in ("right", "full"))
        super().__init__(
            left, right, JoinCondition(condition, null_safe), counts_partners=self.outer,
            insert_only=insert_only and kind == "inner", per_record=per_record,
            emits_before=emits_before, output_key=output_key,
        )  # fmt: skip
        self._nulls = ((None,) * len(left.types), (None,) * len(right.types))

    def _padded(self, kind: int, side: int, values: Values) -> Row:
        if side == LEFT_SIDE:
            return (kind, *values, *self._nulls[1])
        return (kind, *self._nulls[0], *values)

    def _take_alone(self, side: int, kind: int, values: Values, out: list[Row]) -> None:
        if self.outer[side]:
            out.append(self._padded(DELETE if kind & 1 else INSERT, side, values))

    def _take(
        self, side: int, kind: int, values: Values, partners: list[Partner], out: list[Row]
    ) -> None:
        if kind & 1:
            self._sides[side].remove(values)
        if not partners:
            self._take_alone(side, kind, values, out)
        elif kind & 1:
            self._join(DELETE if self.outer[side] else kind, side, values, partners, out)
            self._lose_partner(1 - side, partners, out)
        else:
            self._find_partner(1 - side, partners, out)
            self._join(INSERT if any(self.outer) else kind, side, values, partners, out)
        if not kind & 1:
            self._sides[side].add(values, len(partners))

    def _join(
        self, kind: int, side: int, values: Values, partners: list[Partner], out: list[Row]
    ) -> None:
        if side == LEFT_SIDE:
            out.extend([(kind, *values, *other) for other, _ in partners])
        else:
            out.extend([(kind, *other, *values) for other, _ in partners])

    def _find_partner(self, side: int, rows: list[Partner], out: list[Row]) -> None:
        """Each of these rows of a side has one more partner; the first one ends its padding."""
        if not self.outer[side]:
            return
        for values, partners in rows:
            if partners == 0:
                out.append(self._padded(DELETE, side, values))
            self._sides[side].set_partners(values, partners + 1)

    def _lose_partner(self, side: int, rows: list[Partner], out: list[Row]) -> None:
        """Each of these rows of a side has one partner less; after the last one it is padded."""
        if not self.outer[side]:
            return
        for values, partners in rows:
            if partners == 1:
                out.append(self._padded(INSERT, side, values))
            self._sides[side].set_partners(values, partners - 1)


class SemiJoinOperator(_TwoSidedOperator):
    """Left rows that have a partner (semi), or have none (anti). Columns: left.

    `null_aware` is for NOT IN: the comparison is then part of the condition, not of the key, and a
    right row for which it is NULL is a partner, too.
    """

    def __init__(
        self, left: JoinInput, right: JoinInput, condition: Expression | None = None, *,
        anti: bool = False, null_aware: bool = False, null_safe: tuple[bool, ...] = (),
        insert_only: bool = False, per_record: bool = False, emits_before: bool = True,
        output_key: tuple[int, ...] | None = None,
    ):  # fmt: skip
        super().__init__(
            left, right, JoinCondition(condition, null_safe, unknown_matches=null_aware),
            counts_partners=(True, False), insert_only=insert_only and not anti,
            per_record=per_record, emits_before=emits_before, output_key=output_key,
        )  # fmt: skip
        self.anti = anti

    def _take_alone(self, side: int, kind: int, values: Values, out: list[Row]) -> None:
        if side == LEFT_SIDE and self.anti:
            out.append((kind, *values))

    def _take(
        self, side: int, kind: int, values: Values, partners: list[Partner], out: list[Row]
    ) -> None:
        if side == LEFT_SIDE and self.anti is not bool(partners):
            out.append((kind, *values))
        if kind & 1:
            self._sides[side].remove(values)
        else:
            self._sides[side].add(values, len(partners))
        if side == RIGHT_SIDE:
            self._count(kind, partners, out)

    def _count(self, kind: int, rows: list[Partner], out: list[Row]) -> None:
        """A right row has come or gone: left rows may now have their first or no partner."""
        step, turns_at = (-1, 1) if kind & 1 else (1, 0)
        if self.anti:
            kind = INSERT if kind & 1 else DELETE
        for values, partners in rows:
            if partners == turns_at:
                out.append((kind, *values))
            self._sides[LEFT_SIDE].set_partners(values, partners + step)
