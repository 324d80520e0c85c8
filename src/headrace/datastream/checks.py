"""Checking the functions users hand to the API, where they hand them over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.functions import Function, KeySelector, Partitioner
from headrace.core.types import TypeInformation
from headrace.errors import TypeMismatch
from headrace.origin import calling_origin


def function_or_callable(function: Any, kind: type[Function], method: str) -> Any:
    """`function` if it is a `kind` or can be called; a clear error if not."""
    if isinstance(function, kind):
        return function
    if isinstance(function, type) and issubclass(function, Function):
        raise TypeMismatch(
            f"{method}() was given the class {function.__name__}, not an instance of it",
            origin=calling_origin(), hint=f"Write {function.__name__}().",
        )  # fmt: skip
    if isinstance(function, Function):
        raise TypeMismatch(
            f"{method}() needs a {kind.__name__}, not a {type(function).__name__}",
            origin=calling_origin(), hint=_other_method(function),
        )  # fmt: skip
    if not callable(function):
        raise TypeMismatch(
            f"{method}() needs a {kind.__name__} or something callable, not {function!r}",
            origin=calling_origin(),
        )
    return function


def instance_of(function: Any, kind: type[Any], method: str, hint: str | None = None) -> Any:
    """`function` if it is a `kind`; a clear error if not."""
    if isinstance(function, kind):
        return function
    if isinstance(function, type):
        shown, advice = f"the class {function.__name__}", f"Write {function.__name__}()."
    else:
        shown, advice = repr(function), hint or f"Pass an instance of a {kind.__name__}."
    raise TypeMismatch(
        f"{method}() needs a {kind.__name__}, not {shown}", origin=calling_origin(), hint=advice
    )


def _other_method(function: Function) -> str:
    for name in ("map", "flat_map", "filter", "reduce"):
        if hasattr(function, name):
            return f"It has a {name}() method: use stream.{name}(...)."
    return "Use stream.process(...) for process functions."


def type_info(declared: Any, method: str) -> TypeInformation | None:
    """A declared output type, checked."""
    if declared is None or isinstance(declared, TypeInformation):
        return declared
    raise TypeMismatch(
        f"the output type given to {method}() is {declared!r}, which is no TypeInformation",
        origin=calling_origin(), hint="Use Types.STRING(), Types.TUPLE([...]), …",
    )  # fmt: skip


def key_function(selector: Any, method: str) -> Callable[[Any], Any]:
    """A key selector as a plain callable."""
    checked = function_or_callable(selector, KeySelector, method)
    return checked.get_key if isinstance(checked, KeySelector) else checked


def partition_function(partitioner: Any) -> Callable[[Any, int], int]:
    function = function_or_callable(partitioner, Partitioner, "partition_custom")
    return function.partition if isinstance(function, Partitioner) else function
