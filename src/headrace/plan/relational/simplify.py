"""Constants are computed once, conditions that are always or never true go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.core.expressions import (
    Call,
    Expression,
    Literal,
    ScalarFunction,
    UserCall,
    is_constant,
    rewritten,
)
from headrace.core.logical_types import APPROXIMATE
from headrace.errors import HeadraceError
from headrace.graph.relations import (
    INNER,
    Aggregate,
    Correlate,
    Filter,
    Join,
    Project,
    Relation,
    TemporalJoin,
    Values,
)
from headrace.operators.table.compiled import compiled_value
from headrace.plan.relational.conditions import is_true
from headrace.plan.relational.traversal import bottom_up

_FAILURES = (HeadraceError, ArithmeticError, ValueError, TypeError, KeyError)
"""What functions raise that cannot give a value."""
_OF_SAME = {
    "EQUALS": True,
    "LESS_THAN_OR_EQUAL": True,
    "GREATER_THAN_OR_EQUAL": True,
    "NOT_EQUALS": False,
    "LESS_THAN": False,
    "GREATER_THAN": False,
}
"""What a comparison of a value with itself says, unless it is NULL."""
_OF_SAME_OR_NULL = {"IS_NOT_DISTINCT_FROM": True, "IS_DISTINCT_FROM": False, "NULLIF": None}
"""What is said of a value and itself, also of NULL."""
_OF_NO_ROWS = {"COUNT": 0, "SUM": None, "MIN": None, "MAX": None}
"""The aggregates that Flink's planner computes itself where it sees that there are no rows."""
_IF_NOT_NULL = {
    True: ScalarFunction(
        name="IS_SAME", meaning=lambda _one, _other: True, spark="IF({0} IS NULL, NULL, TRUE)"
    ),
    False: ScalarFunction(
        name="IS_NOT_SAME", meaning=lambda _one, _other: False, spark="IF({0} IS NULL, NULL, FALSE)"
    ),
}


def simplify(relation: Relation) -> Relation:
    return bottom_up(relation, _simplified)


def _simplified(relation: Relation) -> Relation:
    if isinstance(relation, Project):
        if _is_empty(relation.input):
            return Values(schema=relation.schema, rows=())
        expressions = tuple(folded(each) for each in relation.expressions)
        return _changed(relation, expressions=expressions)
    if isinstance(relation, Filter):
        return _filter(relation)
    if isinstance(relation, Aggregate) and _is_empty(relation.input):
        return _aggregate_of_nothing(relation)
    if isinstance(relation, Join | Correlate) and relation.condition is not None:
        condition = folded(relation.condition)
        always = is_true(condition)
        return _changed(relation, condition=None if always else condition)
    if isinstance(relation, TemporalJoin):
        return _changed(relation, condition=folded(relation.condition))
    return relation


def _changed(relation: Relation, **changes: Any) -> Relation:
    same = all(getattr(relation, name) == value for name, value in changes.items())
    return relation if same else replace(relation, **changes)


def _filter(relation: Filter) -> Relation:
    condition = folded(relation.condition)
    if is_true(condition):
        return relation.input
    if isinstance(condition, Literal):
        return Values(schema=relation.schema, rows=())
    if _is_empty(relation.input) or _keeps_nothing(relation.input, condition):
        return Values(schema=relation.schema, rows=())
    return _changed(relation, condition=condition)


def _keeps_nothing(relation: Relation, condition: Expression) -> bool:
    """Whether a condition holds for none of the rows that are written in the query."""
    if not isinstance(relation, Values) or not _is_repeatable(condition):
        return False
    try:
        holds = compiled_value(condition)
        return not any(holds((0, *row)) for row in relation.rows)
    except _FAILURES:
        return False  # it fails when the query runs


def _aggregate_of_nothing(relation: Aggregate) -> Relation:
    """Without GROUP BY one row, also in a stream, of the aggregates that Flink knows itself."""
    named = [call.function.name for call in relation.calls]
    if relation.keys or relation.grouping_sets is not None or not _OF_NO_ROWS.keys() >= set(named):
        return relation
    return Values(schema=relation.schema, rows=(tuple(_OF_NO_ROWS[name] for name in named),))


def _is_empty(relation: Relation) -> bool:
    if isinstance(relation, Join):
        return relation.kind == INNER and any(_is_empty(each) for each in relation.inputs)
    return isinstance(relation, Values) and not relation.rows


def folded(expression: Expression) -> Expression:
    """The expression with its constant parts computed."""
    return rewritten(rewritten(expression, _same_sides), _fold)


def _same_sides(part: Expression) -> Expression:
    """x = x is true, as Flink plans it: also of a number that is none and equals nothing else."""
    if not isinstance(part, Call) or len(part.arguments) != 2:
        return part
    name, (one, other) = part.function.name, part.arguments
    if one != other or not isinstance(one.type, APPROXIMATE) or not _is_repeatable(one):
        return part
    if name in _OF_SAME_OR_NULL:
        return Literal(part.type, _OF_SAME_OR_NULL[name])
    if name not in _OF_SAME:
        return part
    told = _OF_SAME[name]
    if not one.type.nullable:
        return Literal(part.type, told)
    return replace(part, function=_IF_NOT_NULL[told])


def _is_repeatable(expression: Expression) -> bool:
    return all(
        part.function.deterministic
        for part in expression.walk()
        if isinstance(part, Call | UserCall)
    )


def _fold(part: Expression) -> Expression:
    if not isinstance(part, Call):
        return part
    known = _logical(part)
    if known is not None:
        return known
    if not all(isinstance(each, Literal) for each in part.arguments) or not is_constant(part):
        return part
    if not part.arguments:
        return part
    try:
        value = compiled_value(part)((0,))
    except _FAILURES:
        # It fails where a row asks for it, as it would without being computed before.
        return part
    return Literal(part.type, value)


def _logical(part: Call) -> Expression | None:
    """TRUE AND x, FALSE OR x and the like, which need no value of x."""
    name = part.function.name
    if name not in ("AND", "OR"):
        return None
    neutral = name == "AND"
    for one, other in (part.arguments, part.arguments[::-1]):
        if isinstance(one, Literal) and one.value is neutral:
            return other
        if isinstance(one, Literal) and one.value is (not neutral):
            return one
    return part.arguments[0] if part.arguments[0] == part.arguments[1] else None
