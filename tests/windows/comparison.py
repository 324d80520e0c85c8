"""Comparing what a job gave with what the oracle says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from headrace.testing import assert_same_records
from tests.windows.oracle import Oracle, Pane
from tests.windows.programs import Program
from tests.windows.scripted_jobs import LATE, PANE, Result, of_kind


def assert_as_foretold(results: Sequence[Result], program: Program, oracle: Oracle) -> None:
    """The same panes in the same order per key, and the same late records."""
    panes = [(program.settled(value), time) for _, value, time in of_kind(results, PANE)]
    assert_same_records(panes, [program.result(pane) for pane in oracle.panes], "panes")
    if program.function != "aggregate":  # only its results do not tell their key
        for key in {pane.key for pane in oracle.panes}:
            own = [pane for pane in panes if pane[0][0] == key]
            _assert_in_order(own, program, [pane for pane in oracle.panes if pane.key == key])
    late = [(value, time) for _, value, time in of_kind(results, LATE.tag_id)]
    expected = [((record.key, (record.number,)), record.time) for record in oracle.late]
    assert_same_records(late, expected if program.late_output else [], "late records")


def dropped(metrics: Mapping[str, Mapping[str, Any]]) -> int:
    """How many late records the operators of a job say they have dropped."""
    counters = [counted["numLateRecordsDropped"] for counted in metrics.values()
                if "numLateRecordsDropped" in counted]  # fmt: skip
    return sum(counter["count"] for counter in counters)


def _assert_in_order(found: list[Any], program: Program, panes: list[Pane]) -> None:
    """What is due at the same time may come in any order."""
    start = 0
    for moment, group in groupby(panes, key=lambda pane: pane.moment):
        expected = [program.result(pane) for pane in group]
        part = found[start : start + len(expected)]
        assert_same_records(part, expected, f"panes of one key in their turn, at {moment}")
        start += len(expected)
