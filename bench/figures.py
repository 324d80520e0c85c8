"""What a benchmark hands back: bars to draw, and checks against targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One measured figure. `spread` is the smallest and largest sample, in the same unit."""

    name: str
    value: float
    unit: str
    records: int
    spread: tuple[float, float] | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A figure held to a target: `at least` or `at most` so much."""

    name: str
    value: float
    unit: str
    bound: Literal["at least", "at most"]
    target: float

    @property
    def passed(self) -> bool:
        """Whether the figure keeps its bound."""
        if self.bound == "at least":
            return self.value >= self.target
        return self.value <= self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All that one benchmark showed."""

    benchmark: str
    bars: tuple[Bar, ...]
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether every target was reached."""
        return all(check.passed for check in self.checks)


def ratio(name: str, value: float, target: float) -> Check:
    """A ratio to a peer that must be at least `target`."""
    return Check(name=name, value=value, unit="x", bound="at least", target=target)


def at_most(name: str, value: float, target: float, unit: str = "x") -> Check:
    """A figure that must not be above `target`."""
    return Check(name=name, value=value, unit=unit, bound="at most", target=target)


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """The outcome as plain values."""
    return {
        "passed": outcome.passed,
        "bars": [
            {
                "name": bar.name,
                "value": bar.value,
                "unit": bar.unit,
                "records": bar.records,
                "spread": bar.spread,
                "note": bar.note,
            }
            for bar in outcome.bars
        ],
        "checks": [
            {
                "name": check.name,
                "value": check.value,
                "unit": check.unit,
                "bound": check.bound,
                "target": check.target,
                "passed": check.passed,
            }
            for check in outcome.checks
        ],
    }


def outcome_from_json(benchmark: str, stored: dict[str, Any]) -> Outcome:
    """The inverse of `outcome_to_json`, for a table or plot of earlier runs."""
    bars = tuple(
        Bar(**{**bar, "spread": tuple(bar["spread"]) if bar["spread"] else None})
        for bar in stored["bars"]
    )
    checks = tuple(
        Check(**{name: value for name, value in check.items() if name != "passed"})
        for check in stored["checks"]
    )
    return Outcome(benchmark=benchmark, bars=bars, checks=checks)
