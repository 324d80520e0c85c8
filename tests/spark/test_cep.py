"""Patterns on Spark: Flink's own cases, and a job that loses its worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headrace.datastream import StreamExecutionEnvironment
from tests.cep.cases import (
    Case,
    events_of,
    expected_matches,
    flat,
    loaded,
    named,
    named_as_written,
    times_of,
)
from tests.cep.streams import matching
from tests.spark.cep_jobs import build, expected
from tests.spark.fault_jobs import Numbers, Once, kill_this_process
from tests.windows.scripted_jobs import PANE, Advance, Result, Script, Send, of_kind, scripted_job

ONE_IN = 8
"""All cases run in process (tests/cep/test_conformance.py); a share of them runs here."""


def chosen() -> list[Case]:
    usable = [case for case in loaded("nfa")
              if "expected" in case and not case.get("timestamps_not_sorted")]  # fmt: skip
    return usable[::ONE_IN]


def script_of(case: Case) -> Script:
    """An event in each micro-batch; the last one brings the watermark to the last event."""
    times = times_of(case)
    batches: list[list[Send | Advance]] = [
        [Send(event, time), Advance(time - 1)]
        for event, time in zip(events_of(case), times, strict=True)
    ]
    return Script([*batches, [Advance(times[-1])]], partial(matching, case))


@pytest.fixture(scope="module")
def results() -> dict[str, list[Result]]:
    """What each case gave; all of them are one job, for a job costs seconds on Spark."""
    cases = chosen()
    if not cases:
        pytest.skip("there are no conformance cases")
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_MODE", "stream")
        found = list(scripted_job(env, [script_of(case) for case in cases]).execute_and_collect())
    return {case["id"]: [result for result in found if result[0] == number]
            for number, case in enumerate(cases)}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", chosen(), ids=lambda case: case["id"])
def test_case_on_spark(case: Case, results: dict[str, list[Result]]) -> None:
    last = times_of(case)[-1]
    found = [value for _, value, time in of_kind(results[case["id"]], PANE) if time <= last]
    assert Counter(map(flat, found)) == expected_matches(case)
    if "observed_named" in case:
        assert Counter(map(named, found)) == Counter(map(named_as_written, case["observed_named"]))


@pytest.mark.slow
def test_killed_worker(
    env: StreamExecutionEnvironment, mode: str, tmp_path: Path,
    lines_of: Callable[[Path], Counter[Any]],
) -> None:  # fmt: skip
    source = Numbers(limit=200, step=40)
    markers = tmp_path / "markers"
    markers.mkdir()
    disturb = Once(markers, 1, kill_this_process)
    build(env, source, tmp_path / "out", disturb, at=150)
    env.execute()
    assert disturb.happened == 1
    for name, lines in expected(source).items():
        assert lines.total() > 3
        assert lines_of(tmp_path / "out" / name) == lines
