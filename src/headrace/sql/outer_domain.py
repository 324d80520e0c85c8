"""Subqueries whose outer columns cannot be pulled out: they are computed for all values there are.

The distinct values that the outer columns have are a relation of their own, the domain. Every part
of the subquery gets them as further columns, so that nothing in it is outer any more; its rows
belong to the outer rows that have the same values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatchmethod

from headrace.core.expressions import Column, Expression, Outer, SortKey, rewritten, shifted
from headrace.errors import Unsupported
from headrace.graph.relations import (
    ANTI,
    INNER,
    LEFT,
    SEMI,
    Aggregate,
    Filter,
    Join,
    Project,
    Rank,
    Relation,
    SetOperation,
    Sort,
)
from headrace.sql.calls import TRUE, all_of, call
from headrace.sql.decorrelation import (
    Pulled,
    empty_row,
    keyed_by_outer,
    nearer,
    outer_columns,
    pulled,
)
from headrace.sql.marks import call_inputs, call_with_inputs
from headrace.sql.relations import (
    columns,
    distinct,
    joined,
    projected,
    restricted,
    with_columns,
)


def pulled_for(relation: Relation, around: Relation, *, keyed: bool = False) -> Pulled:
    """A subquery of rows of `around`, without outer columns; `keyed`: its conditions must be
    equalities."""
    try:
        found = pulled(relation)
        if keyed:
            keyed_by_outer(found)
        return found
    except Unsupported:
        indexes = outer_columns(relation)
        if not indexes:  # what is outer here is so for the query around as well
            return Pulled(nearer(relation), empty=empty_row(relation))
        return _Spread(around, indexes).pulled(relation)


class _Spread:
    """Carries the values of some columns of the relation around a subquery through it."""

    def __init__(self, around: Relation, indexes: Sequence[int]):
        fields = columns(around)
        names = [around.names[index] for index in indexes]
        self._domain = distinct(projected(around, [fields[index] for index in indexes], names))
        self._place = {index: at for at, index in enumerate(indexes)}

    def pulled(self, relation: Relation) -> Pulled:
        wide = self.spread(relation)
        width = len(relation.schema)
        own = columns(wide)[width:]
        conditions = [
            call("IS_NOT_DISTINCT_FROM", own[at], Outer(own[at].type, index))
            for index, at in self._place.items()
        ]
        return Pulled(wide, tuple(conditions))

    def spread(self, relation: Relation) -> Relation:
        """The relation's columns, then the domain's."""
        if not outer_columns(relation):
            return joined(nearer(relation), self._domain, INNER)
        return self._spread(relation)

    def _inner(self, expression: Expression, first: int) -> Expression:
        """The expression where outer columns are those of the domain, from column `first` on."""

        def place(part: Expression) -> Expression:
            if not isinstance(part, Outer):
                return part
            if part.depth == 1:
                return Column(part.type, first + self._place[part.index])
            return replace(part, depth=part.depth - 1)

        return rewritten(expression, place)

    @property
    def _width(self) -> int:
        return len(self._domain.schema)

    @singledispatchmethod
    def _spread(self, relation: Relation) -> Relation:
        raise Unsupported(
            f"a subquery cannot use outer columns below {type(relation).__name__}",
            hint="write the query with JOIN instead",
        )

    @_spread.register
    def _(self, relation: Filter) -> Relation:
        below = self.spread(relation.input)
        return restricted(below, self._inner(relation.condition, len(relation.schema)))

    @_spread.register
    def _(self, relation: Project) -> Relation:
        below = self.spread(relation.input)
        first = len(relation.input.schema)
        parts = [self._inner(each, first) for each in relation.expressions]
        names = (*relation.names, *self._domain.names)
        return projected(below, (*parts, *columns(below)[first:]), names)

    @_spread.register
    def _(self, relation: Join) -> Relation:
        if relation.kind not in (INNER, LEFT, SEMI, ANTI):
            raise Unsupported(
                f"a subquery cannot use outer columns below a {relation.kind} join",
                hint="write the query with JOIN instead",
            )
        left_width, right_width = len(relation.left.schema), len(relation.right.schema)
        left, right = self.spread(relation.left), nearer(relation.right)
        wide = left_width + self._width
        parts = []
        if outer_columns(relation.right):
            right = self.spread(relation.right)
            parts = self._same(left, left_width, right, right_width)
        condition = relation.condition
        if condition is not None:
            moved = shifted(condition, lambda at: at if at < left_width else at + self._width)
            parts.append(self._inner(moved, left_width))
        join = joined(left, right, relation.kind, all_of(parts), null_aware=relation.null_aware)
        if relation.kind in (SEMI, ANTI):
            return join
        order = [*range(left_width), *range(wide, wide + right_width), *range(left_width, wide)]
        return _chosen(join, order)

    def _same(self, left: Relation, first: int, right: Relation, second: int) -> list[Expression]:
        """That rows of both sides are for the same values; the domain's columns begin at `first`
        and `second`."""
        width = len(left.schema)
        return [
            call(
                "IS_NOT_DISTINCT_FROM",
                columns(left)[first + at],
                replace(columns(right)[second + at], index=width + second + at),
            )
            for at in range(self._width)
        ]

    @_spread.register
    def _(self, relation: Aggregate) -> Relation:
        from headrace.sql.aggregation import aggregation

        if relation.grouping_sets is not None:
            raise Unsupported("a subquery with GROUPING SETS cannot use outer columns")
        below = self.spread(relation.input)
        width, own = len(relation.input.schema), len(relation.keys)
        added = range(width, width + self._width)
        calls = [
            call_with_inputs(each, [self._inner(part, width) for part in call_inputs(each)])
            for each in relation.calls
        ]
        wide = aggregation(below, (*relation.keys, *added), calls)
        results = range(own + self._width, len(wide.schema))
        made = _chosen(wide, [*range(own), *results, *range(own, own + self._width)])
        empty = empty_row(relation)
        return made if empty is None else self._for_all_values(made, empty)

    def _for_all_values(self, relation: Relation, empty: Sequence[Expression]) -> Relation:
        """An aggregation without keys has a row for all values, also where it has no rows."""
        own = len(empty)
        found = with_columns(relation, [TRUE])
        on = all_of(self._same(self._domain, 0, found, own))
        join = joined(self._domain, found, LEFT, on)
        fields = columns(join)
        is_missing = call("IS_NULL", fields[-1])
        values = [
            call("CASE", is_missing, nothing, fields[self._width + at])
            for at, nothing in enumerate(empty)
        ]
        return projected(join, (*values, *fields[: self._width]), relation.names)

    @_spread.register
    def _(self, relation: Sort) -> Relation:
        below = self.spread(relation.input)
        if relation.fetch is None and not relation.offset:
            return below
        if relation.fetch is None:
            raise Unsupported("a subquery with OFFSET but no LIMIT cannot use outer columns")
        width = len(relation.schema)
        return Rank(
            schema=below.schema, input=below, partition=tuple(range(width, width + self._width)),
            order=relation.keys or (SortKey(0),), function="ROW_NUMBER", first=relation.offset + 1,
            last=relation.offset + relation.fetch, with_rank=False,
        )  # fmt: skip

    @_spread.register
    def _(self, relation: SetOperation) -> Relation:
        branches = tuple(self.spread(each) for each in relation.branches)
        types = branches[0].schema[len(relation.schema) :]
        return replace(relation, schema=(*relation.schema, *types), branches=branches)


def _chosen(relation: Relation, order: Sequence[int]) -> Relation:
    fields = columns(relation)
    return projected(relation, [fields[at] for at in order], [relation.names[at] for at in order])
