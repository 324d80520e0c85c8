"""What an event must be like: from what users write to what the automaton asks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.core.functions import FilterFunction
from headrace.core.pattern_functions import IterativeCondition, SimpleCondition
from headrace.core.patterns import Condition, Test
from headrace.errors import TypeMismatch
from headrace.origin import calling_origin

__all__ = ["IterativeCondition", "SimpleCondition"]

AnyCondition = (
    Callable[[Any], Any] | Callable[[Any, Any], Any] | IterativeCondition[Any]
    | SimpleCondition[Any] | FilterFunction
)  # fmt: skip


def condition_of(written: Any, method: str) -> Condition:
    """A condition, a FilterFunction, or something callable: of an event, or of it and a context."""
    if isinstance(written, IterativeCondition):
        return Test(written.filter, iterative=True)
    if isinstance(written, SimpleCondition | FilterFunction):
        return Test(written.filter)
    if isinstance(written, type) or not callable(written):
        raise TypeMismatch(
            f"{method}() needs a condition, not {written!r}", origin=calling_origin(),
            hint="Pass a function of the event, lambda event: event.price > 3, or of the event and "
            "a context, or an instance of IterativeCondition.",
        )  # fmt: skip
    return Test(written, iterative=_parameters(written, method) == 2)


def _parameters(function: Callable[..., Any], method: str) -> int:
    """How many arguments a condition is called with."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return 1  # what is written in C, such as itemgetter, does not tell
    positional = [parameter for parameter in signature.parameters.values()
                  if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
                  and parameter.default is parameter.empty]  # fmt: skip
    if len(positional) in (1, 2):
        return len(positional)
    for count in (1, 2):
        try:
            signature.bind(*[None] * count)
        except TypeError:
            continue
        return count
    raise TypeMismatch(
        f"the condition given to {method}() takes {len(positional)} arguments",
        origin=calling_origin(),
        hint="It is called with the event, or with the event and a context.",
    )


def _is_one(kinds: type | tuple[type, ...], event: Any) -> bool:
    return isinstance(event, kinds)


def of_type(kind: Any) -> Condition:
    """Holds for instances of a class."""
    if not isinstance(kind, type):
        raise TypeMismatch(
            f"subtype() needs a class, not {kind!r}", origin=calling_origin(),
            hint="Pass the class itself: subtype(Withdrawal).",
        )  # fmt: skip
    return Test(partial(_is_one, kind))
