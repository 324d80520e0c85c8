"""Flink's own window cases: as they are written, and with a new operator after every step."""

from __future__ import annotations

from functools import partial

import pytest

from headrace.datastream.window import TimeWindow
from tests.windows.case_run import CaseRun
from tests.windows.cases import Case, cases
from tests.windows.conformance import assigner_of


@pytest.mark.parametrize("renewed", ["as written", "restored", "restored from a full snapshot"])
@pytest.mark.parametrize("case", cases("operator"))
def test_operator(case: Case, renewed: str) -> None:
    run = CaseRun(case)
    with run.harness:
        for number, step in enumerate(case["steps"], start=1):
            run.do(step, f"step {number}")
            if renewed != "as written":
                compact = renewed == "restored from a full snapshot"
                run.harness.restore(run.harness.snapshot(compact=compact))
        if not any("expect_late" in step for step in case["steps"]):
            run.do({"expect_late": []}, "at the end")


@pytest.mark.parametrize("parallelisms", [(2, 5, 1, 3), (1, 3)], ids=str)
@pytest.mark.parametrize("case", cases("operator"))
def test_operator_at_another_parallelism_after_every_step(
    case: Case, parallelisms: tuple[int, ...]
) -> None:
    run = CaseRun(case, parallelisms[0])
    with run.harness:
        for number, step in enumerate(case["steps"], start=1):
            run.do(step, f"step {number}")
            run.harness.rescale(parallelisms[number % len(parallelisms)])
        if not any("expect_late" in step for step in case["steps"]):
            run.do({"expect_late": []}, "at the end")


@pytest.mark.parametrize("case", cases("assigner"))
def test_assigner(case: Case) -> None:
    assigner = assigner_of(case["assigner"])
    for fact in case["facts"]:
        found = assigner.assign_windows("a record", fact["ts"], None)
        assert sorted((window.start, window.end) for window in found) == [
            tuple(bounds) for bounds in fact["windows"]
        ], fact


@pytest.mark.parametrize("case", cases("window_start"))
def test_window_start(case: Case) -> None:
    for fact in case["facts"]:
        start = partial(TimeWindow.get_window_start_with_offset, window_size=fact["size"])
        assert start(fact["ts"], fact["offset"]) == fact["start"], fact
