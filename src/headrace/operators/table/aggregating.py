"""Aggregate calls at work: what a group keeps, and how rows change it.

The loop over the calls is unrolled: for each list of calls Python source is made once, in the
worker, that reads columns directly and asks nothing that is known before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from headrace.core.expressions import (
    Accumulator,
    AggregateCall,
    Column,
    Expression,
    Literal,
)
from headrace.core.operator import Context
from headrace.errors import Unsupported
from headrace.operators.functions.session import session_time_zone, time_zone
from headrace.operators.table.batched_calls import BatchAccumulator
from headrace.operators.table.compiled import Compiled, compiled_predicate, compiled_value
from headrace.operators.table.hashable_rows import lookup_form
from headrace.operators.table.opened import close_all, open_all
from headrace.operators.table.user_functions import UserAccumulator

Kept = list[Any]
"""What a group keeps: one thing for each call."""
_ADD, _RETRACT = "add", "retract"


class DistinctAccumulator:
    """Hands each value over once, however often it comes; keeps how often that was."""

    def __init__(self, accumulator: Accumulator):
        self._inner = accumulator

    def create(self) -> list[Any]:
        return [self._inner.create(), {}]

    def add(self, kept: list[Any], *values: Any) -> list[Any]:
        counts, name = kept[1], lookup_form(values)
        count = counts.get(name, 0)
        if count == 0:
            kept[0] = self._inner.add(kept[0], *values)
        self._set(counts, name, count + 1)
        return kept

    def retract(self, kept: list[Any], *values: Any) -> list[Any]:
        counts, name = kept[1], lookup_form(values)
        count = counts.get(name, 0)
        if count == 1:
            kept[0] = self._inner.retract(kept[0], *values)
        self._set(counts, name, count - 1)
        return kept

    def _set(self, counts: dict[Any, int], name: Any, count: int) -> None:
        if count:
            counts[name] = count
        else:
            del counts[name]

    def merge(self, kept: list[Any], other: list[Any]) -> list[Any]:
        counts = kept[1]
        for name, count in other[1].items():
            before = counts.get(name, 0)
            if before <= 0 < before + count:
                kept[0] = self._inner.add(kept[0], *name)
            self._set(counts, name, before + count)
        return kept

    def result(self, kept: list[Any]) -> Any:
        return self._inner.result(kept[0])


def accumulator_of(call: AggregateCall, retracts: bool, ctx: Context | None = None) -> Accumulator:
    """What carries out one call."""
    if call.order:
        raise Unsupported(
            f"{call} has an order of its own (WITHIN GROUP), which streams do not have",
            hint="Order the rows before they are aggregated.",
        )
    types = [argument.type for argument in call.arguments]
    if call.user is not None and call.user.style != "general":
        made: Accumulator = BatchAccumulator(call.user, types, call.type, ctx)
    elif call.user is not None:
        made = UserAccumulator(call.user, types, call.type, ctx)
    else:
        made = call.function.accumulator(types, call.type, retracts)
    return DistinctAccumulator(made) if call.distinct else made


class AggregateHandler:
    """All calls of one aggregation; made with the plan, opened in the worker.

    `retracts` says whether rows may be taken back, for which some calls must keep more.
    """

    create: Callable[[], Kept]
    """What an empty group keeps."""
    add: Callable[[Kept, Any], None]
    """Takes a row in."""
    retract: Callable[[Kept, Any], None]
    """Takes a row back out."""
    add_all: Callable[[Kept, Sequence[Any]], None]
    """Takes several rows in."""
    results: Callable[[Kept], tuple[Any, ...]]
    """The calls' values now."""

    def __init__(self, calls: Sequence[AggregateCall], *, retracts: bool):
        self.calls = tuple(calls)
        self.retracts = retracts
        self.zone = time_zone()
        self.accumulators: list[Accumulator] = []
        self._compiled = {
            name: holder
            for at, call in enumerate(self.calls)
            for name, holder in _holders(at, call)
        }

    def open(self, ctx: Context | None = None) -> None:
        if ctx is not None:
            open_all(self._compiled.values(), ctx)
        with session_time_zone(self.zone):
            self.accumulators = [accumulator_of(call, self.retracts, ctx) for call in self.calls]
        source = _Source(self.calls, self.accumulators, self._compiled)
        self.add = source.compiled(_ADD)
        self.retract = source.compiled(_RETRACT)
        self.add_all = source.compiled(_ADD, many=True)
        self.create = source.compiled_each("create", "{}()", "[{}]")
        self.results = source.compiled_each("result", "{}(kept[{}])", "({},)")

    def close(self) -> None:
        close_all(self._compiled.values())
        for accumulator in self.accumulators:
            inner = getattr(accumulator, "_inner", accumulator)
            if isinstance(inner, UserAccumulator | BatchAccumulator):
                inner.close()

    def merge(self, kept: Kept, other: Kept) -> Kept:
        """What two groups keep together."""
        for at, accumulator in enumerate(self.accumulators):
            kept[at] = accumulator.merge(kept[at], other[at])
        return kept


def _holders(at: int, call: AggregateCall) -> Iterator[tuple[str, Compiled[Any]]]:
    """The expressions of a call that need code of their own, by the name they have in it."""
    if call.filter is not None:
        yield f"filter{at}", compiled_predicate(call.filter)
    for place, expression in enumerate(call.arguments):
        if not isinstance(expression, Column | Literal):
            yield f"value{at}_{place}", compiled_value(expression)


class _Source:
    """Python text that hands a row to each call."""

    def __init__(
        self, calls: Sequence[AggregateCall], accumulators: Sequence[Accumulator],
        holders: Mapping[str, Compiled[Any]],
    ):  # fmt: skip
        self._calls = calls
        self._accumulators = accumulators
        self._names: dict[str, Any] = {name: each.function for name, each in holders.items()}

    def compiled(self, method: str, *, many: bool = False) -> Callable[..., None]:
        body = [
            line for at, call in enumerate(self._calls) for line in self._call(at, call, method)
        ]
        if many:
            lines = ["def run(kept, rows):"]
            lines += [f"    k{at} = kept[{at}]" for at in range(len(self._calls))]
            lines += ["    for row in rows:", *("    " + line for line in body or ["    pass"])]
            lines += [f"    kept[{at}] = k{at}" for at in range(len(self._calls))]
        else:
            stored = [_stored(line) for line in body]
            lines = ["def run(kept, row):", *(stored or ["    pass"])]
        names = dict(self._names)
        exec(compile("\n".join(lines), f"<aggregates {method}>", "exec"), names)
        made: Callable[..., None] = names["run"]
        return made

    def compiled_each(self, method: str, one: str, all_: str) -> Callable[..., Any]:
        """A function that calls a method of each accumulator."""
        names = {f"m{at}": getattr(each, method) for at, each in enumerate(self._accumulators)}
        parts = ", ".join(one.format(name, at) for at, name in enumerate(names))
        body = all_.format(parts) if names else all_.replace("{},", "").replace("{}", "")
        kept = "kept" if "kept" in one else ""
        exec(compile(f"def run({kept}):\n    return {body}", f"<{method}>", "exec"), names)
        made: Callable[..., Any] = names["run"]
        return made

    def _call(self, at: int, call: AggregateCall, method: str) -> list[str]:
        self._names[f"{method}{at}"] = getattr(self._accumulators[at], method)
        lines, indent = [], "    "
        if call.filter is not None:
            lines.append(f"{indent}if filter{at}(row):")
            indent += "    "
        arguments = [self._value(f"value{at}_{place}", e) for place, e in enumerate(call.arguments)]
        skips_null = call.function.skips_null or call.ignore_nulls
        if arguments and skips_null and not _never_null(call.arguments[0]):
            lines.append(f"{indent}first = {arguments[0]}")
            lines.append(f"{indent}if first is not None:")
            indent += "    "
            arguments[0] = "first"
        handed = ", ".join([f"k{at}", *arguments])
        lines.append(f"{indent}k{at} = {method}{at}({handed})")
        return lines

    def _value(self, name: str, expression: Expression) -> str:
        if isinstance(expression, Column):
            return f"row[{expression.index + 1}]"
        if isinstance(expression, Literal):
            self._names[name] = expression.value
            return name
        return f"{name}(row)"


def _never_null(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is not None


def _stored(line: str) -> str:
    """The same line for what is kept in the list, not in a variable of its own."""
    before, equals, after = line.partition(" = ")
    target = before.strip()
    if not equals or not target.startswith("k"):
        return line
    place = f"kept[{target[1:]}]"
    indent = before[: len(before) - len(target)]
    return f"{indent}{place} = {after.replace(f'({target}', f'({place}', 1)}"
