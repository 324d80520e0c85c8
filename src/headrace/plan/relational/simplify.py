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

_OF_SAME = {
    "EQUALS": True,
    "LESS_THAN_OR_EQUAL": True,
    "GREATER_THAN_OR_EQUAL": True,
    "NOT_EQUALS": False,
    "LESS_THAN": False,
    "GREATER_THAN": False,
}
"""What a comparison of a value with itself says."""
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
        expressions = tuple(folded(each) for each in relation.expressions)
        return _changed(relation, expressions=expressions)
    if isinstance(relation, Filter):
        return _filter(relation)
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
    if _is_empty(relation.input):
        return Values(schema=relation.schema, rows=())
    return _changed(relation, condition=condition)


def _is_empty(relation: Relation) -> bool:
    if isinstance(relation, Join):
        return relation.kind == INNER and any(_is_empty(each) for each in relation.inputs)
    return isinstance(relation, Values) and not relation.rows


def folded(expression: Expression) -> Expression:
    """The expression with its constant parts computed."""
    return rewritten(rewritten(expression, _same_sides), _fold)


def _same_sides(part: Expression) -> Expression:
    """x = x is true, as Flink plans it: also of a number that is none and equals nothing else."""
    if not isinstance(part, Call) or part.function.name not in _OF_SAME or len(part.arguments) != 2:
        return part
    one, other = part.arguments
    if one != other or not isinstance(one.type, APPROXIMATE) or not _is_repeatable(one):
        return part
    told = _OF_SAME[part.function.name]
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
    except (HeadraceError, ArithmeticError, ValueError, TypeError, KeyError):
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
