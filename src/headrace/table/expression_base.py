"""What all expressions of the Table API are made of: a node as SQL's front end makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, Generic, Self, TypeVar, overload

from headrace.errors import TypeMismatch
from headrace.origin import calling_origin
from headrace.sql import unresolved as un

B = TypeVar("B", bound="ExpressionBase")


class ExpressionBase:
    """An expression before names and types are known, with the line that wrote it."""

    def __init__(self, node: un.Unresolved) -> None:
        self._node = node

    @property
    def node(self) -> un.Unresolved:
        """The expression as the resolver takes it."""
        return self._node

    def _made(self, node: un.Unresolved) -> Self:
        if node.at is None:
            node = replace(node, at=calling_origin())
        return self.__class__(node)

    def _apply(self, function: str, *others: Any) -> Self:
        """A function of this and others."""
        arguments = (self._node, *(node_of(other) for other in others if other is not UNSAID))
        return self._made(un.Apply(function, arguments))

    def _before(self, function: str, first: Any) -> Self:
        """A function whose first argument is another."""
        return self._made(un.Apply(function, (node_of(first), self._node)))

    def __bool__(self) -> bool:
        raise TypeMismatch(
            "an expression of a table has no truth value in Python", origin=calling_origin(),
            hint="Combine conditions with & | ~, each in parentheses, not with and, or, not.",
        )  # fmt: skip


class _Unsaid(Enum):
    UNSAID = "unsaid"


UNSAID = _Unsaid.UNSAID
"""Stands for an argument that was left out."""


def said(value: Any) -> Any:
    """An argument where None means that there is none."""
    return UNSAID if value is None else value


def node_of(value: Any) -> un.Unresolved:
    """An expression's node; any other value is a literal."""
    if isinstance(value, ExpressionBase):
        return value.node
    if isinstance(value, un.Unresolved):
        return value
    if isinstance(value, Enum):
        value = value.name
    return un.Value(value, at=calling_origin())


def expression_node(value: Any, method: str) -> un.Unresolved:
    """The node of something that must be an expression."""
    if isinstance(value, ExpressionBase):
        return value.node
    hint = "Columns are named with col('…'), constants made with lit(…)."
    if isinstance(value, str):
        hint = f"Write col({value!r})."
    raise TypeMismatch(
        f"{method}() takes expressions, not {value!r}", origin=calling_origin(), hint=hint
    )


def nodes_of(fields: Sequence[Any], method: str) -> list[un.Unresolved]:
    """The nodes of expressions, of a method that takes several."""
    if len(fields) == 1 and isinstance(fields[0], list | tuple):
        fields = tuple(fields[0])
    return [expression_node(field, method) for field in fields]


class Derived(Generic[B]):
    """A property that is a function of the expression, such as `col("a").upper_case`."""

    def __init__(self, function: str | Callable[[Any], Any], doc: str):
        self._function = function
        self.__doc__ = doc

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: B, owner: type) -> B: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        if callable(self._function):
            return self._function(instance)
        return instance._apply(self._function)
