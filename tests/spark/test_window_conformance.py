"""Window cases whose results are Flink's as streams on Spark, with a micro-batch for each step.

Cases with processing-time steps are left out: a script cannot tell Spark's workers what time it
is. They run in process (tests/windows/test_conformance.py), where the clock is the test's.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from headrace.core.operator import MAX_TIMESTAMP
from headrace.datastream import StreamExecutionEnvironment
from headrace.testing import assert_same_records
from tests.cases.loading import one_set
from tests.windows.case_run import CaseRun
from tests.windows.cases import Case, cases, expectation
from tests.windows.conformance import windowing
from tests.windows.scripted_jobs import (
    LATE,
    PANE,
    Advance,
    Result,
    Script,
    Send,
    of_kind,
    scripted_job,
)


def in_event_time() -> list[Any]:
    chosen = one_set([param.values[0] for param in cases("operator")])
    return [pytest.param(case, id=case["id"]) for case in chosen if _in_event_time(case)]


def _in_event_time(case: Case) -> bool:
    return not any("processing_time" in step for step in case.get("steps", ()))


def script_of(case: Case) -> Script:
    batches = [_steps(step) for step in case["steps"]]
    return Script([batch for batch in batches if batch], partial(windowing, case["config"]))


def _steps(step: Case) -> list[Send | Advance]:
    if "element" in step:
        return [Send(tuple(step["element"]), step["ts"])]
    if "watermark" in step and step["watermark"] < MAX_TIMESTAMP:  # the end comes by itself
        return [Advance(step["watermark"])]
    return []  # every micro-batch ends with a checkpoint, so a snapshot is nothing special


@pytest.fixture(scope="module")
def results() -> dict[str, list[Result]]:
    """What each case gave; all of them are one job, for a job costs seconds on Spark."""
    chosen = [param.values[0] for param in in_event_time()]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_MODE", "stream")
        found = list(scripted_job(env, [script_of(case) for case in chosen]).execute_and_collect())
    return {case["id"]: [result for result in found if result[0] == number]
            for number, case in enumerate(chosen)}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", in_event_time())
def test_operator_on_spark(case: Case, results: dict[str, list[Result]]) -> None:
    """What the case expects step by step, then what the end of the input brings in process."""
    run = CaseRun(case)
    turns, late = [], []
    for step in case["steps"]:
        run.do(step, "in process")
        turns.append(expectation(step.get("expect", ())))
        late += expectation(step.get("expect_late", ()))
    turns.append(run.finish())
    found = results[case["id"]]
    panes = [(value, time) for _, value, time in of_kind(found, PANE)]
    assert_same_records(panes, [record for turn in turns for record in turn], "panes")
    keys = {_key(value) for value, _ in panes}
    for key in keys:
        own = iter([record for record in panes if _key(record[0]) == key])
        for number, turn in enumerate(turns, start=1):
            expected = [record for record in turn if _key(record[0]) == key]
            part = [next(own) for _ in expected]
            assert_same_records(part, expected, f"{key}, step {number}")
    aside = [(value, time) for _, value, time in of_kind(found, LATE.tag_id)]
    assert_same_records(aside, late, "late records")


def _key(value: tuple[Any, ...]) -> str:
    return str(value[0]).split("-")[0]
