"""Pattern cases kept as data, our own and those beside the repository; how they become patterns."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace.cep import AfterMatchSkipStrategy, Pattern, WithinType
from headrace.common import Time
from tests.cases.loading import patterns

Case = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT.parent / "shared" / "conformance" / "cep_cases.json"


@dataclass(frozen=True)
class Event:
    id: int
    name: str
    price: float


@dataclass(frozen=True)
class SubEvent(Event):
    volume: float = 0.0


TYPES = {"Event": Event, "SubEvent": SubEvent}


def loaded(*kinds: str) -> list[Case]:
    found = patterns()
    if CASES.is_file():
        found += json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    return [case for case in found if case["kind"] in kinds]


def cases(*kinds: str) -> list[Any]:
    """The cases of some kinds, as parameters of a test."""
    return [pytest.param(case, id=case["id"]) for case in loaded(*kinds)]


def event_of(data: Case) -> Event:
    fields = {name: data[name] for name in ("id", "name", "price", "volume") if name in data}
    return TYPES[data["type"]](**fields)


def events_of(case: Case) -> list[Any]:
    if "elements" in case:
        return [tuple(element) for element in case["elements"]]
    return [event_of(data) for data in case["events"]]


def times_of(case: Case) -> list[int]:
    return [at if data["ts"] is None else data["ts"] for at, data in enumerate(case["events"])]


class Expression:
    """A condition a case words as an expression over `ev` and `match(name)`."""

    def __init__(self, text: str):
        self.text = text
        self._code = compile(text, "<case>", "eval")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


class Simple(Expression):
    def __call__(self, event: Any) -> Any:
        return eval(self._code, {"ev": event})


class Iterative(Expression):
    def __call__(self, event: Any, context: Any) -> Any:
        def match(name: str) -> list[Any]:
            return list(context.get_events_for_pattern(name))

        return eval(self._code, {"ev": event, "match": match})


def condition(text: str) -> Any:
    return Iterative(text) if "match(" in text else Simple(text)


_STEPS = {
    "begin": "begin", "next": "next", "followedBy": "followed_by",
    "followedByAny": "followed_by_any", "notNext": "not_next", "notFollowedBy": "not_followed_by",
    "where": "where", "or": "or_", "until": "until", "oneOrMore": "one_or_more",
    "timesOrMore": "times_or_more", "allowCombinations": "allow_combinations",
}  # fmt: skip


def pattern_of(steps: list[Case], skip: Case | None = None) -> Pattern:
    pattern: Any = None
    for step in steps:
        pattern = _apply(pattern, step, strategy_of(skip))
    return pattern


def _apply(pattern: Any, step: Case, skip: AfterMatchSkipStrategy) -> Any:
    op = step["op"]
    method = _STEPS.get(op, op)
    gap = Time.milliseconds(step["ms"]) if "ms" in step else None
    if "name" in step or "group" in step:
        what = step["name"] if "name" in step else pattern_of(step["group"])
        return Pattern.begin(what, skip) if op == "begin" else getattr(pattern, method)(what)
    match op:
        case "where" | "or" | "until":
            return getattr(pattern, method)(condition(step["cond"]))
        case "subtype":
            return pattern.subtype(TYPES[step["type"]])
        case "times":
            bounds = (step["n"],) if "n" in step else (step["from"], step["to"])
            return pattern.times(*bounds, window_time=gap)
        case "timesOrMore":
            return pattern.times_or_more(step["n"], gap)
        case "oneOrMore":
            return pattern.one_or_more(gap)
        case "within":
            return pattern.within(gap, WithinType[step.get("within_type", "FIRST_AND_LAST")])
        case _:
            return getattr(pattern, method)()


def strategy_of(skip: Case | None) -> AfterMatchSkipStrategy:
    if skip is None:
        return AfterMatchSkipStrategy.no_skip()
    name = skip["strategy"].lower()
    stage = (skip["pattern"],) if "pattern" in skip else ()
    strategy: AfterMatchSkipStrategy = getattr(AfterMatchSkipStrategy, name)(*stage)
    return strategy.throw_exception_on_miss() if skip.get("throw_on_miss") else strategy


def shown(event: Any) -> Any:
    return (event.id, event.name, event.price) if isinstance(event, Event) else event


def expected_matches(case: Case) -> Counter[Any] | None:
    """The matches a case expects, each as a multiset of its events."""
    if "expected" not in case:
        return None
    events = [shown(event) for event in events_of(case)]
    return Counter(as_multiset([events[at] for at in match]) for match in case["expected"])


def as_multiset(events: list[Any]) -> Any:
    return tuple(sorted(events))


def flat(match: dict[str, list[Any]]) -> Any:
    return as_multiset([shown(event) for events in match.values() for event in events])


def named(match: dict[str, list[Any]]) -> Any:
    return tuple(sorted((name, tuple(shown(e) for e in events)) for name, events in match.items()))


def named_as_written(match: Case) -> Any:
    return tuple(sorted((name, tuple(tuple(e) for e in events)) for name, events in match.items()))
