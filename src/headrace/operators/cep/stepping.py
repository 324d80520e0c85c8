"""Moving all partial matches of a key on by one event, as one generated function.

For each state the function asks conditions one after the other, each at most once and only where an
answer is needed, until it is clear which edges hold; what follows from that is written out behind
the last question. So a partial match costs no call but those of its conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.core.patterns import Always, Both, Condition, Either, Inverse, Test
from headrace.operators.cep.automaton import State
from headrace.operators.cep.decisions import Option, Step, decision, options_of, plan_of
from headrace.operators.cep.shared_buffer import Link, Run, Stamp

Advance = Callable[[list[Run], Any, Any, Stamp, list[Run], list[Run]], bool]
"""From the partial matches of a key, an event, the context and the event's stamp, to those that go
on and those that are complete, which are added to two lists; says whether anything has changed."""
_MOST_ENDS = 64
"""How many ways there may be through the questions of a state before a table is cheaper."""
_INDENT = "    "
_Known = dict[Test, bool]


def advance_of(states: tuple[State, ...]) -> Advance:
    """The function for an automaton; runs know their state by its position."""
    return _Writer(states).function()


class _TooMany(Exception):
    """A state asks more than should be written out."""


class _Writer:
    def __init__(self, states: tuple[State, ...]):
        self._states = states
        self._numbers = {state: at for at, state in enumerate(states)}
        self._tests: dict[Test, str] = {}
        self._scope: dict[str, Any] = {"new": tuple.__new__, "Link": Link, "Run": Run}
        self._ends = 0

    def function(self) -> Advance:
        exec(compile(self.source(), "<steps of a pattern>", "exec"), self._scope)
        made: Advance = self._scope["advance"]
        return made

    def source(self) -> str:
        lines = [
            "def advance(runs, event, context, stamp, kept, done):",
            "    changed = False",
            "    for run in runs:",
            "        state, last, start = run",
            "        context.last = last",
            "        context.seen = None",
        ]
        word = "if"
        for at, state in enumerate(self._states):
            if state.edges:
                lines.append(f"        {word} state == {at}:")
                lines += [f"            {line}" for line in self._state(at, state)]
                word = "elif"
        return "\n".join([*lines, "    return changed"])

    def _state(self, at: int, state: State) -> list[str]:
        options = options_of(state)
        self._ends = 0
        try:
            return list(self._questions(state, options, {}, 0, 0))
        except _TooMany:
            return self._by_table(at, state, options)

    def _questions(
        self, state: State, options: list[Option], known: _Known, at: int, bits: int
    ) -> Iterator[str]:
        """What is still to be asked from option number `at` on, given the answers so far."""
        while at < len(options):
            option = options[at]
            for condition, bit in ((option.holds, 1), (option.completes, 2)):
                answer = _answer(condition, known)
                if isinstance(answer, Test):
                    yield f"if {self._call(answer)}:"
                    yield from self._branch(state, options, {**known, answer: True}, at, bits)
                    yield "else:"
                    yield from self._branch(state, options, {**known, answer: False}, at, bits)
                    return
                if not answer:
                    break
                bits |= bit << 2 * at
            at += 1
        yield from self._end(state, options, bits)

    def _branch(
        self, state: State, options: list[Option], known: _Known, at: int, bits: int
    ) -> Iterator[str]:
        for line in self._questions(state, options, known, at, bits):
            yield _INDENT + line

    def _end(self, state: State, options: list[Option], bits: int) -> Iterator[str]:
        self._ends += 1
        if self._ends > _MOST_ENDS:
            raise _TooMany
        plan = plan_of(state, options, bits)
        if plan.stays:
            yield "kept.append(run)"
            return
        yield "changed = True"
        for step in plan.steps:
            yield from self._step(step)

    def _step(self, step: Step) -> Iterator[str]:
        last = "last"
        if step.takes:
            yield f"link = new(Link, (last, {step.stage!r}, stamp, event))"
            last = "link"
        if step.target is not None:
            yield f"kept.append(new(Run, ({self._numbers[step.target]}, {last}, start)))"
        if step.completed:
            yield f"done += [new(Run, (-1, {last}, start))] * {step.completed}"

    def _call(self, test: Test) -> str:
        name = self._tests.get(test)
        if name is None:
            name = self._tests[test] = f"test{len(self._tests)}"
            self._scope[name] = test.function
        return f"{name}(event, context)" if test.iterative else f"{name}(event)"

    def _by_table(self, at: int, state: State, options: list[Option]) -> list[str]:
        """Look up what follows from the edges that hold, when that was found out."""
        plans: dict[int, tuple[bool, list[tuple[bool, str, int, int]]]] = {}
        decide = decision(options)

        def moves(event: Any, context: Any) -> tuple[bool, list[tuple[bool, str, int, int]]]:
            bits = decide(event, context)
            if bits not in plans:
                plan = plan_of(state, options, bits)
                plans[bits] = plan.stays, [
                    (step.takes, step.stage, -1 if step.target is None else
                     self._numbers[step.target], step.completed)
                    for step in plan.steps
                ]  # fmt: skip
            return plans[bits]

        self._scope[f"moves{at}"] = moves
        return [
            f"stays, steps = moves{at}(event, context)",
            "if stays:",
            "    kept.append(run)",
            "    continue",
            "changed = True",
            "for takes, stage, target, completed in steps:",
            "    link = new(Link, (last, stage, stamp, event)) if takes else last",
            "    if target >= 0:",
            "        kept.append(new(Run, (target, link, start)))",
            "    done += [new(Run, (-1, link, start))] * completed",
        ]


def _answer(condition: Condition, known: _Known) -> bool | Test:
    """Whether a condition holds as far as the answers tell, else the next question."""
    match condition:
        case Always():
            return True
        case Test():
            return known.get(condition, condition)
        case Inverse(inner):
            answer = _answer(inner, known)
            return answer if isinstance(answer, Test) else not answer
        case Both(first, second):
            answer = _answer(first, known)
            return _answer(second, known) if answer is True else answer
        case Either(first, second):
            answer = _answer(first, known)
            return _answer(second, known) if answer is False else answer
