"""The oracle itself is held against Flink's own cases, as far as it knows their parts."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.testing import assert_same_records
from tests.windows.cases import Case, cases, expectation
from tests.windows.oracle import Oracle, Pane, Part, Record, Spec

_ASSIGNERS = {
    "tumbling_event_time": ("tumbling", "size_ms", "offset_ms"),
    "sliding_event_time": ("sliding", "size_ms", "slide_ms", "offset_ms"),
    "session_event_time": ("session", "gap_ms"),
}
_TRIGGERS = {
    "event_time": ("default",),
    "count": ("count", "n"),
    "continuous_event_time": ("continuous", "interval_ms"),
}


def _part(names: tuple[str, ...], config: Case) -> Part:
    return (names[0], *(config.get(name, 0) for name in names[1:]))


def spec_of(config: Case) -> Spec | None:
    """What a case configures, in the oracle's terms; None if it has none for it."""
    trigger = config["trigger"]
    purging = trigger["type"] == "purging"
    inner = trigger["inner"] if purging else trigger
    assigner = config["assigner"]
    if assigner["type"] not in _ASSIGNERS or inner["type"] not in _TRIGGERS:
        return None
    return Spec(
        _part(_ASSIGNERS[assigner["type"]], assigner), _part(_TRIGGERS[inner["type"]], inner),
        purging, _evictor(config.get("evictor")), config["lateness_ms"],
    )  # fmt: skip


def _evictor(part: Case | None) -> Part | None:
    if part is None:
        return None
    return part["type"], part.get("n", part.get("size_ms")), part.get("evict_after", False)


def _told(pane: Pane, function: str) -> tuple[Any, int]:
    total = sum(pane.numbers)
    if function.startswith("reduce"):
        return (pane.key, total), pane.timestamp
    return (f"{pane.key}-{total}", *pane.window), pane.timestamp


@pytest.mark.parametrize("case", cases("operator"))
def test_foretells_flinks_cases(case: Case) -> None:
    config = case["config"]
    spec = spec_of(config)
    if spec is None:
        pytest.skip("the oracle has no such part")
    oracle = Oracle(spec)
    expected, late = [], []
    for step in case["steps"]:
        match step:
            case {"element": [key, number], "ts": time}:
                oracle.take(Record(key, number, time))
            case {"watermark": time}:
                oracle.take(time)
            case {"expect": records}:
                expected += expectation(records)
                panes = [_told(pane, config["function"]) for pane in oracle.panes]
                assert_same_records(panes, expected, case["id"])
            case {"expect_late": records}:
                late += expectation(records)
    if config.get("late_output"):  # otherwise they are only counted
        found = [((record.key, record.number), record.time) for record in oracle.late]
        assert_same_records(found, late, case["id"])
