"""Join conditions as equal keys and the rest."""

from __future__ import annotations

from headrace.core.expressions import Call, Column, Expression, columns_of, shifted
from headrace.plan.relational.conditions import all_of, conjuncts

Equi = tuple[tuple[Expression, ...], tuple[Expression, ...], tuple[bool, ...], Expression | None]

_EQUALITIES = {"EQUALS": False, "IS_NOT_DISTINCT_FROM": True}


def equi_condition(condition: Expression | None, left_width: int) -> Equi:
    """The keys of the left row, those of the right row that they must equal, for each pair whether
    NULLs are equal, and what else must hold over both rows (None: nothing)."""
    left: list[Expression] = []
    right: list[Expression] = []
    null_safe: list[bool] = []
    rest: list[Expression] = []
    for part in conjuncts(condition):
        pair = _pair(part, left_width)
        if pair is None:
            rest.append(part)
        else:
            left.append(pair[0])
            right.append(pair[1])
            null_safe.append(pair[2])
    return tuple(left), tuple(right), tuple(null_safe), all_of(rest)


def _pair(part: Expression, left_width: int) -> tuple[Expression, Expression, bool] | None:
    if isinstance(part, Call) and part.function.name in _EQUALITIES:
        null_safe = _EQUALITIES[part.function.name]
        sides = _sides(part.arguments[0], part.arguments[1], left_width)
        return None if sides is None else (*sides, null_safe)
    return _null_or_equal(part, left_width)


def _sides(
    first: Expression, second: Expression, left_width: int
) -> tuple[Expression, Expression] | None:
    """Both sides of an equality, the left row's first, as expressions over their own rows."""
    for one, other in ((first, second), (second, first)):
        mine, theirs = columns_of(one), columns_of(other)
        own = mine and theirs and max(mine) < left_width <= min(theirs)
        if own:
            return one, shifted(other, lambda index: index - left_width)
    return None


def _null_or_equal(part: Expression, left_width: int) -> tuple[Expression, Expression, bool] | None:
    """(a IS NULL AND b IS NULL) OR a = b, which is a key whose NULLs are equal."""
    if not isinstance(part, Call) or part.function.name != "OR":
        return None
    for nulls, equal in (part.arguments, part.arguments[::-1]):
        if not isinstance(equal, Call) or equal.function.name != "EQUALS":
            continue
        tested = {
            each.arguments[0]
            for each in conjuncts(nulls)
            if isinstance(each, Call) and each.function.name == "IS_NULL"
        }
        if len(conjuncts(nulls)) == 2 and tested == set(equal.arguments):
            sides = _sides(equal.arguments[0], equal.arguments[1], left_width)
            return None if sides is None else (*sides, True)
    return None


def column_keys(keys: tuple[Expression, ...]) -> tuple[int, ...] | None:
    """The keys as columns; None if one is computed."""
    if all(isinstance(key, Column) for key in keys):
        return tuple(key.index for key in keys if isinstance(key, Column))
    return None
