"""Following a few events through an automaton with all that happens to each match.

It moves by the same options as `Nfa`, but remembers every edge, which costs too much for a job.
Matches are not skipped here: each is told of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.operators.cep.automaton import Automaton, Kind, State
from headrace.operators.cep.decisions import decision, options_of, plan_of
from headrace.operators.cep.nfa import MatchContext
from headrace.operators.cep.shared_buffer import Link

Trace = tuple[tuple[int, Any, str, str, str], ...]
"""Number of the event, the event, what was done with it, in which state, and the state after."""
_Run = tuple[State, Link | None, int, Trace]
"""State, last event, time of the first one, and what happened so far."""


def traced(
    automaton: Automaton, events: Sequence[Any], times: Sequence[int]
) -> tuple[list[Trace], list[Trace], list[Trace]]:
    """The histories of matches, of partial matches at the end, of those that timed out."""
    tracer = _Tracer(automaton)
    for number, (event, time) in enumerate(zip(events, times, strict=True)):
        tracer.expire(time)
        tracer.process(number, event, time)
    return tracer.matches, [trace for *_, trace in tracer.runs], tracer.timed_out


class _Tracer:
    def __init__(self, automaton: Automaton):
        self._automaton = automaton
        self._context = MatchContext(lambda: 0)
        self._options = {state: options_of(state) for state in automaton.states}
        self._decide = {state: decision(found) for state, found in self._options.items()}
        self.runs: list[_Run] = []
        self.matches: list[Trace] = []
        self.timed_out: list[Trace] = []

    def expire(self, time: int) -> None:
        kept = []
        for run in self.runs:
            state, last, start, trace = run
            limits = [(start, self._automaton.within_ms)]
            if last is not None:
                limits.append((last.stamp[0], state.gap_ms))
            if all(limit is None or time - since < limit for since, limit in limits):
                kept.append(run)
            else:
                (self.matches if state.kind is Kind.PENDING else self.timed_out).append(trace)
        self.runs = kept

    def process(self, number: int, event: Any, time: int) -> None:
        runs, self.runs = self.runs, []
        self._context.time = time
        for run in (*runs, (self._automaton.start, None, time, ())):
            self._move(run, number, event, time)

    def _move(self, run: _Run, number: int, event: Any, time: int) -> None:
        state, last, start, trace = run
        self._context.last, self._context.seen = last, None
        options = self._options[state]
        bits = self._decide[state](event, self._context)
        plan = plan_of(state, options, bits)
        if plan.stays:
            self.runs.append((state, last, start, (*trace, _told(number, event, "ignored", state))))
        for step in plan.steps:
            link = Link(last, step.stage, (time, number), event) if step.takes else last
            action = "taken" if step.takes else "ignored"
            after = step.target or self._automaton.states[0]
            told = (*trace, (number, event, action, step.state, after.name))
            if step.target is not None:
                self.runs.append((step.target, link, start, told))
            self.matches += [told] * step.completed


def _told(number: int, event: Any, action: str, state: State) -> tuple[int, Any, str, str, str]:
    return number, event, action, state.name, state.name
