"""Comparisons that know more than two values, and NULL."""

from __future__ import annotations

from typing import Any


def between(value: Any, low: Any, high: Any) -> bool | None:
    """value >= low AND value <= high, in the logic of three values."""
    above = None if value is None or low is None else value >= low
    below = None if value is None or high is None else value <= high
    if above is False or below is False:
        return False
    return None if above is None or below is None else True


def not_between(value: Any, low: Any, high: Any) -> bool | None:
    found = between(value, low, high)
    return None if found is None else not found


def between_symmetric(value: Any, one: Any, other: Any) -> bool | None:
    """BETWEEN with the bounds in either order."""
    found = between(value, one, other), between(value, other, one)
    if True in found:
        return True
    return None if None in found else False


def not_between_symmetric(value: Any, one: Any, other: Any) -> bool | None:
    found = between_symmetric(value, one, other)
    return None if found is None else not found


def contained(value: Any, *options: Any) -> bool | None:
    if value is None:
        return None
    if value in options:
        return True
    return None if None in options else False


def not_contained(value: Any, *options: Any) -> bool | None:
    found = contained(value, *options)
    return None if found is None else not found


def null_if_equal(value: Any, *compared: Any) -> Any:
    """The value unless it equals the other; where they are compared as another type, both follow
    as that."""
    one, other = compared if len(compared) == 2 else (value, *compared)
    return None if value is not None and one == other else value


def conjunction(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def disjunction(left: bool | None, right: bool | None) -> bool | None:
    if left or right:
        return True
    return None if left is None or right is None else False


def first_not_null(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def case(*arguments: Any) -> Any:
    """CASE with everything evaluated; generated code evaluates only what it needs."""
    *branches, otherwise = arguments
    pairs = zip(branches[::2], branches[1::2], strict=True)
    return next((then for when, then in pairs if when), otherwise)


def greatest(*values: Any) -> Any:
    return max(values)


def least(*values: Any) -> Any:
    return min(values)
