"""Calls whose Python text is more than a call: they skip arguments, or have a quicker form."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.core.expressions import Call, Literal

if TYPE_CHECKING:
    from headrace.operators.table.expression_code import Code


def _and(code: Code, call: Call) -> str:
    left, right = call.arguments
    if not code.nullable(left) and not code.nullable(right):
        return f"({code.value(left)} and {code.value(right)})"
    one, other = code.temporary(), code.temporary()
    return (
        f"(False if ({one} := {code.value(left)}) is False else "
        f"{other} if ({other} := {code.value(right)}) is False or {one} else None)"
    )


def _or(code: Code, call: Call) -> str:
    left, right = call.arguments
    if not code.nullable(left) and not code.nullable(right):
        return f"({code.value(left)} or {code.value(right)})"
    one, other = code.temporary(), code.temporary()
    return (
        f"(True if ({one} := {code.value(left)}) else "
        f"{other} if ({other} := {code.value(right)}) or {one} is False else None)"
    )


def _case(code: Code, call: Call) -> str:
    *branches, otherwise = call.arguments
    pairs = zip(branches[::2], branches[1::2], strict=True)
    text = " else ".join(f"{code.value(then)} if {code.condition(when)}" for when, then in pairs)
    return f"({text} else {code.value(otherwise)})"


def _coalesce(code: Code, call: Call) -> str:
    *first, last = call.arguments
    parts = []
    for argument in first:
        name = code.temporary()
        parts.append(f"{name} if ({name} := {code.value(argument)}) is not None else ")
    return f"({''.join(parts)}{code.value(last)})"


def _in(code: Code, call: Call) -> str | None:
    """Membership in a set, where the list is made of constants without NULL."""
    value, *options = call.arguments
    constants = [option.value for option in options if isinstance(option, Literal)]
    if len(constants) < len(options) or None in constants:
        return None
    try:
        name = code.bound(frozenset(constants))
    except TypeError:
        return None
    test = "not in" if call.function.name == "NOT_IN" else "in"
    if not code.nullable(value):
        return f"({code.value(value)} {test} {name})"
    one = code.temporary()
    return f"(None if ({one} := {code.value(value)}) is None else {one} {test} {name})"


def _between(code: Code, call: Call) -> str | None:
    value, low, high = call.arguments
    if code.nullable(low) or code.nullable(high):
        return None
    negation = "not " if call.function.name == "NOT_BETWEEN" else ""
    texts = code.value(low), code.value(high)
    if not code.nullable(value):
        return f"({negation}{texts[0]} <= {code.value(value)} <= {texts[1]})"
    one = code.temporary()
    test = f"{negation}{texts[0]} <= {one} <= {texts[1]}"
    return f"(None if ({one} := {code.value(value)}) is None else {test})"


def _tuple(code: Code, call: Call) -> str:
    return f"({''.join(f'{code.value(argument)}, ' for argument in call.arguments)})"


def _dict(code: Code, call: Call) -> str:
    texts = list(map(code.value, call.arguments))
    pairs = zip(texts[::2], texts[1::2], strict=True)
    return f"{{{', '.join(f'{key}: {value}' for key, value in pairs)}}}"


def _is_true(code: Code, call: Call) -> str:
    return f"(True if {code.condition(call.arguments[0])} else False)"


VALUES: dict[str, Callable[[Code, Call], str | None]] = {
    "AND": _and,
    "OR": _or,
    "CASE": _case,
    "IF": _case,
    "COALESCE": _coalesce,
    "IFNULL": _coalesce,
    "IN": _in,
    "NOT_IN": _in,
    "BETWEEN": _between,
    "NOT_BETWEEN": _between,
    "IS_TRUE": _is_true,
    "ARRAY": _tuple,
    "ROW": _tuple,
    "MAP": _dict,
}
"""Calls that do not evaluate all their arguments, or have a quicker form."""

CONDITIONS: dict[str, Callable[[Code, Call], str]] = {
    "AND": lambda code, call: f"({' and '.join(map(code.condition, call.arguments))})",
    "OR": lambda code, call: f"({' or '.join(map(code.condition, call.arguments))})",
    "NOT": lambda code, call: f"({code.value(call.arguments[0])} is False)",
    "IS_TRUE": lambda code, call: code.condition(call.arguments[0]),
}

LOGIC = frozenset(
    (
        "AND", "OR", "NOT", "IN", "NOT_IN", "BETWEEN", "NOT_BETWEEN", "CASE", "IF", "COALESCE",
        "IFNULL",
    )
)  # fmt: skip
"""They are NULL only if an argument is."""
ARITHMETIC = frozenset(("PLUS", "MINUS", "TIMES", "NEGATE", "CAST"))
"""So are these, unless decimals are too large."""
NEVER_NULL = frozenset(
    (
        "IS_NULL", "IS_NOT_NULL", "IS_TRUE", "IS_NOT_TRUE", "IS_FALSE", "IS_NOT_FALSE",
        "IS_UNKNOWN", "IS_NOT_UNKNOWN", "IS_DISTINCT_FROM", "IS_NOT_DISTINCT_FROM",
        "ARRAY", "ROW", "MAP",
    )
)  # fmt: skip
