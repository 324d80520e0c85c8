"""Telling how matches came about: which event took which edge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headrace.core.user_code import shown
from headrace.errors import InvalidArgument
from headrace.operators.cep.automaton import Automaton
from headrace.operators.cep.compiler import END
from headrace.operators.cep.tracing import Trace, traced
from headrace.origin import calling_origin

__all__ = ["Explanation"]


@dataclass(frozen=True)
class Explanation:
    """What became of some events; printed, it tells each match event by event."""

    matches: tuple[Trace, ...]
    partial: tuple[Trace, ...]
    """What had begun and was not complete at the end."""
    timed_out: tuple[Trace, ...]

    def __str__(self) -> str:
        kinds = (("match", self.matches), ("partial match", self.partial),
                 ("timed out", self.timed_out))  # fmt: skip
        told = [line for title, traces in kinds for at, trace in enumerate(traces, 1)
                for line in _lines(f"{title} {at}", trace)]  # fmt: skip
        return "\n".join(told) if told else "no event begins a match"


def _lines(title: str, trace: Trace) -> list[str]:
    found = [f"{title}:"]
    for number, event, action, state, target in trace:
        found.append(
            f"  event {number} {shown(event)}  {action} at {_named(state)} → {_named(target)}"
        )
    return found


def _named(state: str) -> str:
    return "a match" if state == END else repr(state)


def explained(
    automaton: Automaton, events: Iterable[Any], timestamps: Iterable[int] | None
) -> Explanation:
    """Match events at these times, or at times 0, 1, 2, …"""
    values = list(events)
    times = list(range(len(values))) if timestamps is None else list(timestamps)
    if len(times) != len(values):
        raise InvalidArgument(
            f"{len(values)} events were given {len(times)} timestamps", origin=calling_origin()
        )
    matches, partial, timed_out = traced(automaton, values, times)
    return Explanation(tuple(matches), tuple(partial), tuple(timed_out))
