"""Rows numbered in an order and filtered by their number: only the first ones must be kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.core import logical_types as lt
from headrace.core.expressions import Call, Column, Expression, Literal
from headrace.graph.relations import Deduplicate, Filter, Over, Rank, Relation, Values
from headrace.plan.relational.conditions import conjuncts
from headrace.plan.relational.making import columns, projection, restricted
from headrace.plan.relational.traversal import bottom_up
from headrace.plan.relational.window_columns import window_columns

_FUNCTIONS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
_FLIPPED = {
    "LESS_THAN": "GREATER_THAN",
    "LESS_THAN_OR_EQUAL": "GREATER_THAN_OR_EQUAL",
    "GREATER_THAN": "LESS_THAN",
    "GREATER_THAN_OR_EQUAL": "LESS_THAN_OR_EQUAL",
    "EQUALS": "EQUALS",
}


@dataclass
class _Range:
    """The numbers that conditions leave, and the conditions that say something else."""

    first: int = 1
    last: int | None = None
    last_column: int | None = None
    rest: tuple[Expression, ...] = ()


def recognise_ranks(relation: Relation) -> Relation:
    return bottom_up(relation, _recognised)


def _recognised(relation: Relation) -> Relation:
    if not isinstance(relation, Filter) or not isinstance(relation.input, Over):
        return relation
    over = relation.input
    if len(over.calls) != 1 or over.calls[0].function.name not in _FUNCTIONS:
        return relation
    column = len(over.input.schema)
    found = _range(relation.condition, column, frozenset(over.partition))
    if found.last is None and found.last_column is None:
        return relation
    if found.last is not None and found.last < found.first:
        return Values(schema=relation.schema, rows=())
    rank = Rank(
        schema=over.schema, input=over.input, partition=over.partition, order=over.order,
        function=over.calls[0].function.name, first=found.first,
        last=-1 if found.last is None else found.last, with_rank=True,
        last_column=found.last_column, hints=over.hints,
    )  # fmt: skip
    return restricted(_deduplicated(_windowed(rank)), found.rest)


def _range(condition: Expression, column: int, partition: frozenset[int]) -> _Range:
    found = _Range()
    rest = [part for part in conjuncts(condition) if not _narrow(found, part, column)]
    if found.last is None:
        limit = next((each for each in rest if _variable(found, each, column, partition)), None)
        rest = [part for part in rest if part is not limit]
    found.rest = tuple(rest)
    return found


def _narrow(found: _Range, part: Expression, column: int) -> bool:
    """Takes a condition on the number into the range; False if it is about something else."""
    if not isinstance(part, Call):
        return False
    name, arguments = part.function.name, part.arguments
    if name == "BETWEEN" and len(arguments) == 3 and _is_number(arguments[0], column):
        low, high = (_integer(each) for each in arguments[1:])
        if low is None or high is None:
            return False
        found.first, found.last = max(found.first, low), _least(found.last, high)
        return True
    name, compared = _comparison(part, column)
    bound = None if compared is None else _integer(compared)
    if bound is None:
        return False
    if name in ("LESS_THAN", "LESS_THAN_OR_EQUAL", "EQUALS"):
        found.last = _least(found.last, bound - (name == "LESS_THAN"))
    if name in ("GREATER_THAN", "GREATER_THAN_OR_EQUAL", "EQUALS"):
        found.first = max(found.first, bound + (name == "GREATER_THAN"))
    return True


def _comparison(part: Expression, column: int) -> tuple[str, Expression | None]:
    """How a condition compares the number, and with what; None if it does not."""
    if not isinstance(part, Call) or part.function.name not in _FLIPPED:
        return "", None
    name, (one, other) = part.function.name, part.arguments
    if _is_number(other, column):
        one, other, name = other, one, _FLIPPED[name]
    return name, other if _is_number(one, column) else None


def _variable(found: _Range, part: Expression, column: int, partition: frozenset[int]) -> bool:
    """rank <= column, where the column is the same for a whole partition."""
    name, bound = _comparison(part, column)
    limit = None if bound is None else _uncast(bound)
    if name != "LESS_THAN_OR_EQUAL" or not isinstance(limit, Column):
        return False
    if limit.index not in partition:
        return False
    found.last_column = limit.index
    return True


def _least(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


def _uncast(expression: Expression) -> Expression:
    while isinstance(expression, Call) and expression.function.name == "CAST":
        expression = expression.arguments[0]
    return expression


def _is_number(expression: Expression, column: int) -> bool:
    inner = _uncast(expression)
    return isinstance(inner, Column) and inner.index == column


def _integer(expression: Expression) -> int | None:
    inner = _uncast(expression)
    whole = isinstance(inner, Literal) and isinstance(inner.value, int)
    return int(inner.value) if whole and isinstance(inner, Literal) else None


def _windowed(rank: Rank) -> Rank:
    """Within windows all can be forgotten when a window ends."""
    windows = window_columns(rank.input)
    if windows is None or not windows.rowtime:
        return rank
    starts = windows.starts & set(rank.partition)
    ends = windows.ends & set(rank.partition)
    if not starts or not ends:
        return rank
    partition = tuple(key for key in rank.partition if key not in starts | ends)
    return replace(rank, partition=partition, window_columns=(min(starts), min(ends)))


def _deduplicated(rank: Rank) -> Relation:
    """The first or last row by a time attribute."""
    if rank.function != "ROW_NUMBER" or (rank.first, rank.last) != (1, 1) or len(rank.order) != 1:
        return rank
    key = rank.order[0]
    if rank.last_column is not None or not lt.is_time_attribute(rank.input.types[key.column]):
        return rank
    deduplicate = Deduplicate(
        schema=rank.input.schema, input=rank.input, partition=rank.partition, time=key.column,
        keep_last=not key.ascending, window_columns=rank.window_columns, hints=rank.hints,
    )  # fmt: skip
    one = Literal(rank.types[-1].not_null(), 1)
    return projection(deduplicate, (*columns(deduplicate), one), rank.names)
