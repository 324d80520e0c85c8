"""Conditions of MATCH_RECOGNIZE's variables as one function each.

A condition is an expression over slots. Reading them all and then computing the expression costs
two calls more than need be, and reads slots that an AND or OR passes over; here each is read where
it stands, and at most once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.expressions import Column, Expression
from headrace.core.operator import Context
from headrace.operators.functions.session import session_time_zone
from headrace.operators.table.compiled import BatchCompiled, Compiled, user_call
from headrace.operators.table.expression_code import Code
from headrace.operators.table.match_rows import ConditionReader, Row

Holds = Callable[[Row, Any], bool]
"""From the row in question and the context of a partial match to whether the condition holds."""


def fused(reader: ConditionReader, predicate: Compiled[bool], ctx: Context) -> Holds:
    """The function of a condition; it opens the reader."""
    if isinstance(predicate, BatchCompiled):
        return _in_two_steps(reader, predicate, ctx)
    (expression,) = predicate.expressions
    uses = Counter(part.index for part in expression.walk() if isinstance(part, Column))
    repeated = [f"s{at}" for at, count in uses.items() if count > 1]
    with session_time_zone(predicate.zone):
        code = _SlotCode([_text(reader, at, uses[at]) for at in range(len(reader.slots))])
        condition = code.condition(expression)
    if code.functions:  # parts of their own would not see what was read already
        return _in_two_steps(reader, predicate, ctx)
    names = {**code.names, **reader.names(ctx), "unread": object()}
    unread = f"    {' = '.join([*repeated, 'unread'])}\n" if repeated else ""
    source = f"def holds(row, context):\n{unread}    return True if {condition} else False"
    exec(compile(source, "<condition of a variable>", "exec"), names)
    made: Holds = names["holds"]
    return made


def _text(reader: ConditionReader, at: int, uses: int) -> str:
    text = reader.text(at, reader.slots[at])
    return text if uses < 2 else f"(s{at} if s{at} is not unread else (s{at} := {text}))"


class _SlotCode(Code):
    """Text of expressions over slots, which have texts of their own."""

    def __init__(self, slots: Sequence[str]):
        super().__init__(user_call, 0)
        self._slots = slots

    def value(self, expression: Expression) -> str:
        if isinstance(expression, Column):
            return self._slots[expression.index]
        return super().value(expression)


def _in_two_steps(reader: ConditionReader, predicate: Compiled[bool], ctx: Context) -> Holds:
    read, holds = reader.open(ctx), predicate.function

    def test(row: Row, context: Any) -> bool:
        return holds(read(row, context))

    return test
