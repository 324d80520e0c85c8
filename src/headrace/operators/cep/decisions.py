"""What a state does with an event, as one generated function and a table of plans.

Which states an event may proceed to is known when the pattern is compiled, so the edges behind
them are listed with the state itself. The generated function asks each condition at most once and
says by bits which edges hold; for each combination of bits that occurs there is one plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace.core.patterns import Always, Both, Condition, Either, Inverse, Test
from headrace.operators.cep.automaton import Action, Edge, Kind, State
from headrace.operators.cep.boolean import both, either, never

Decide = Callable[[Any, Any], int]
"""From an event and the context of a partial match to the bits of the edges that hold."""


@dataclass(frozen=True, slots=True)
class Option:
    """An edge that takes or ignores, and when it holds for a match at some state."""

    edge: Edge
    holds: Condition
    completes: Condition
    """When the match is complete right after it, since all that may follow is optional."""


class Step(NamedTuple):
    """What becomes of a partial match."""

    takes: bool
    stage: str
    target: State | None
    """Where it waits for the next event; None if it does not."""
    completed: int
    """How many matches are complete with it."""
    state: str
    """The name of the state whose edge it is."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What an event does to a partial match, for one combination of edges."""

    stays: bool
    """Nothing."""
    steps: tuple[Step, ...]
    edges: tuple[Edge, ...]


def options_of(state: State) -> list[Option]:
    """The edges an event may use at a state, also those of states it may proceed to."""
    found: list[Option] = []
    _collect(state, Always(), (state,), found)
    return found


def _collect(
    state: State, reached: Condition, path: tuple[State, ...], found: list[Option]
) -> None:
    for edge in state.edges:
        holds = both(reached, edge.condition)
        if edge.action is not Action.PROCEED and holds != never():
            takes = edge.action is Action.TAKE
            completes = _completion(edge.target, (edge.target,)) if takes else never()
            found.append(Option(edge, holds, completes))
    for edge in reversed(state.edges):
        holds = both(reached, edge.condition)
        onward = edge.action is Action.PROCEED and edge.target not in path
        if onward and holds != never():
            _collect(edge.target, holds, (*path, edge.target), found)


def _completion(state: State, path: tuple[State, ...]) -> Condition:
    """When the final state can be proceeded to."""
    result = never()
    for edge in state.edges:
        if edge.action is not Action.PROCEED or edge.target in path:
            continue
        final = edge.target.kind is Kind.FINAL
        onward = Always() if final else _completion(edge.target, (*path, edge.target))
        result = either(result, both(edge.condition, onward))
    return result


def plan_of(state: State, options: list[Option], bits: int) -> Plan:
    """What to do when the edges with these bits hold."""
    chosen = [(option, bits >> 2 * at & 2) for at, option in enumerate(options)
              if bits >> 2 * at & 1]  # fmt: skip
    edges = tuple(option.edge for option, _ in chosen)
    if state.kind is Kind.START:  # it goes on waiting for first events whatever happens
        chosen = [(option, end) for option, end in chosen if option.edge.action is Action.TAKE]
    elif [(edge.action, edge.target) for edge in edges] == [(Action.IGNORE, state)]:
        return Plan(True, (), edges)
    stops = any(option.edge.target.kind is Kind.STOP for option, _ in chosen)
    steps = [_step(option.edge, bool(end), stops) for option, end in chosen]
    return Plan(False, tuple(step for step in steps if step.target or step.completed), edges)


def _step(edge: Edge, completes: bool, stops: bool) -> Step:
    target = edge.target
    final = target.kind is Kind.FINAL
    stays = not final and not stops and target.kind is not Kind.STOP
    completed = int(final) + int(completes and target.kind is not Kind.STOP)
    return Step(
        edge.action is Action.TAKE, edge.source.stage, target if stays else None, completed,
        edge.source.name,
    )  # fmt: skip


def decision(options: list[Option]) -> Decide:
    """The function that finds the bits: of option n, bit 2n that it holds, bit 2n+1 that the match
    is complete with it."""
    return _Generator(options).function()


class _Generator:
    def __init__(self, options: list[Option]):
        self._options = options
        uses: Counter[Test] = Counter()
        for option in options:
            _count(option.holds, uses)
            _count(option.completes, uses)
        self._tests = list(uses)
        self._repeated = {test for test, count in uses.items() if count > 1}

    def function(self) -> Decide:
        scope: dict[str, Any] = {f"test{at}": test.function for at, test in enumerate(self._tests)}
        exec(compile(self.source(), "<pattern>", "exec"), scope)
        made: Decide = scope["decide"]
        return made

    def source(self) -> str:
        lines = ["def decide(event, context):"]
        answers = [f"answer{self._tests.index(test)}" for test in self._repeated]
        if answers:
            lines.append(f"    {' = '.join(answers)} = None")
        lines.append("    bits = 0")
        for at, option in enumerate(self._options):
            lines.append(f"    if {self._text(option.holds)}:")
            lines.append(f"        bits |= {1 << 2 * at}")
            if option.completes != never():
                lines.append(f"        if {self._text(option.completes)}:")
                lines.append(f"            bits |= {2 << 2 * at}")
        return "\n".join([*lines, "    return bits"])

    def _text(self, condition: Condition) -> str:
        match condition:
            case Always():
                return "True"
            case Both(first, second):
                return f"({self._text(first)} and {self._text(second)})"
            case Either(first, second):
                return f"({self._text(first)} or {self._text(second)})"
            case Inverse(inner):
                return f"(not {self._text(inner)})"
            case Test():
                return self._call(condition)

    def _call(self, test: Test) -> str:
        at = self._tests.index(test)
        call = f"test{at}(event, context)" if test.iterative else f"test{at}(event)"
        if test not in self._repeated:
            return call
        answer = f"answer{at}"
        return f"({answer} if {answer} is not None else ({answer} := True if {call} else False))"


def _count(condition: Condition, uses: Counter[Test]) -> None:
    match condition:
        case Both(first, second) | Either(first, second):
            _count(first, uses)
            _count(second, uses)
        case Inverse(inner):
            _count(inner, uses)
        case Test():
            uses[condition] += 1


def is_iterative(options: list[Option]) -> bool:
    """Whether a condition wants to see what has been matched so far."""
    uses: Counter[Test] = Counter()
    for option in options:
        _count(option.holds, uses)
        _count(option.completes, uses)
    return any(test.iterative for test in uses)
