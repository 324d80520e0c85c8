"""Parts of expressions that only exist while a query is being built.

The resolver puts them where an expression needs more than its row: an aggregate, an OVER call, a
subquery, a property of a group window. The relation builder takes them out again, leaving columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from headrace.core.expressions import AggregateCall, Expression
from headrace.graph.relations import Frame, Relation, Window


@dataclass(frozen=True)
class Order:
    """An order by an expression; a `SortKey` once the expression is a column."""

    expression: Expression
    ascending: bool = True
    nulls_first: bool = True


@dataclass(frozen=True)
class AggregateMark(Expression):
    """An aggregate over the rows of a group."""

    call: AggregateCall
    order: tuple[Order, ...] = ()
    """WITHIN GROUP (ORDER BY …)"""

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return (*call_inputs(self.call), *(order.expression for order in self.order))

    def with_inputs(self, inputs: Sequence[Expression]) -> AggregateMark:
        width = len(call_inputs(self.call))
        pairs = zip(self.order, inputs[width:], strict=True)
        order = tuple(replace(old, expression=new) for old, new in pairs)
        return replace(self, call=call_with_inputs(self.call, inputs[:width]), order=order)

    def __str__(self) -> str:
        return str(self.call)


@dataclass(frozen=True)
class OverMark(Expression):
    """An aggregate over the rows around each row."""

    call: AggregateCall
    partition: tuple[Expression, ...]
    order: tuple[Order, ...]
    frame: Frame

    @property
    def inputs(self) -> tuple[Expression, ...]:
        ordered = tuple(order.expression for order in self.order)
        return (*call_inputs(self.call), *self.partition, *ordered)

    def with_inputs(self, inputs: Sequence[Expression]) -> OverMark:
        width = len(call_inputs(self.call))
        parts = width + len(self.partition)
        order = tuple(
            replace(old, expression=new)
            for old, new in zip(self.order, inputs[parts:], strict=True)
        )
        call = call_with_inputs(self.call, inputs[:width])
        return replace(self, call=call, partition=tuple(inputs[width:parts]), order=order)

    def __str__(self) -> str:
        return f"{self.call} OVER"


@dataclass(frozen=True)
class SubqueryMark(Expression):
    """A subquery as a value. Its relation may have `Outer` columns, which mean this row."""

    kind: str
    """"in", "exists" or "scalar"."""
    relation: Relation
    operands: tuple[Expression, ...] = ()
    """Of "in": what is compared with the relation's columns, of the same types."""
    comparison: str = "EQUALS"
    at: object | None = None

    @property
    def inputs(self) -> tuple[Expression, ...]:
        return self.operands

    def with_inputs(self, inputs: Sequence[Expression]) -> SubqueryMark:
        return replace(self, operands=tuple(inputs))

    def __hash__(self) -> int:
        return hash((self.kind, self.operands, id(self.relation)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SubqueryMark):
            return NotImplemented
        same = self.relation is other.relation and self.comparison == other.comparison
        return same and (self.kind, self.operands) == (other.kind, other.operands)

    def __str__(self) -> str:
        return f"{self.kind.upper()}(query)"


@dataclass(frozen=True)
class GroupWindowMark(Expression):
    """TUMBLE(…), HOP(…) or SESSION(…) in GROUP BY, or one of its properties in SELECT."""

    window: Window
    time: Expression
    property: str | None = None
    """None: the window itself; else "window_start", "window_end", "window_time" or "proctime"."""
    at: object | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.property or self.window.kind.upper()


def call_inputs(call: AggregateCall) -> tuple[Expression, ...]:
    """What an aggregate reads: its arguments, then its filter."""
    return call.arguments if call.filter is None else (*call.arguments, call.filter)


def call_with_inputs(call: AggregateCall, inputs: Sequence[Expression]) -> AggregateCall:
    width = len(call.arguments)
    condition = None if call.filter is None else inputs[width]
    return replace(call, arguments=tuple(inputs[:width]), filter=condition)


def contains(expression: Expression, kind: type[Expression]) -> bool:
    return any(isinstance(part, kind) for part in expression.walk())
