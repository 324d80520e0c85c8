"""Putting conditions together; what is always or never so disappears."""

from __future__ import annotations

from headrace.core.patterns import Always, Both, Condition, Either, Inverse

_ALWAYS = Always()
_NEVER = Inverse(_ALWAYS)


def never() -> Condition:
    """Holds for no event."""
    return _NEVER


def both(first: Condition, second: Condition) -> Condition:
    """Where two conditions hold."""
    if _NEVER in (first, second):
        return _NEVER
    if first == _ALWAYS:
        return second
    return first if second == _ALWAYS else Both(first, second)


def either(first: Condition, second: Condition) -> Condition:
    """Where at least one of two conditions holds."""
    if _ALWAYS in (first, second):
        return _ALWAYS
    if first == _NEVER:
        return second
    return first if second == _NEVER else Either(first, second)


def inverse(condition: Condition) -> Condition:
    """Where a condition does not hold."""
    return condition.condition if isinstance(condition, Inverse) else Inverse(condition)
