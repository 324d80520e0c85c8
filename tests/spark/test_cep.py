"""Patterns on Spark: cases whose results are Flink's, and a job that loses its worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import HeadraceError
from tests.cases.loading import one_set
from tests.cep.cases import (
    Case,
    event_of,
    events_of,
    expected_matches,
    flat,
    loaded,
    named,
    named_as_written,
    times_of,
)
from tests.cep.streams import as_written, delay_of, matching
from tests.spark.cep_jobs import MATCH, TIMEOUT, Found, build, expected, labelled
from tests.spark.fault_jobs import Numbers, Once, kill_this_process, restart_at_once
from tests.spark.forgetful_workers import Forgetful
from tests.windows.scripted_jobs import PANE, Advance, Script, Send, of_kind, scripted_job

CASES = one_set(loaded("nfa", "stream"))
REFUSED = [case for case in CASES if "expect_error" in case]
RUN = [case for case in CASES if "expect_error" not in case]


def on_arrival(case: Case) -> bool:
    """Whether events are matched as they come, whatever their times are."""
    return case.get("time") == "processing" or case.get("timestamps_not_sorted", False)


def script_of(case: Case, forgetful: Forgetful | None = None) -> Script:
    """A micro-batch for each event."""
    run = {**case, "time": "processing"} if on_arrival(case) else case
    return Script(_batches(case), lambda records: labelled(matching(run, records), forgetful))


def _batches(case: Case) -> list[list[Send | Advance]]:
    if "steps" in case:
        return [[Advance(step["watermark"])] if "watermark" in step else
                [Send(event_of(step["event"]), step["ts"])] for step in case["steps"]]  # fmt: skip
    if on_arrival(case):
        return [[Send(event, at)] for at, event in enumerate(events_of(case))]
    behind = delay_of(case) if case["kind"] == "stream" else 1
    times = times_of(case)
    found: list[list[Send | Advance]] = [
        [Send(event, time), Advance(max(times[: at + 1]) - behind)]
        for at, (event, time) in enumerate(zip(events_of(case), times, strict=True))
    ]
    return found if case["kind"] == "stream" else [*found, [Advance(times[-1])]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Found, int]]]:
    """What each case gave; all of them are one job, for a job costs seconds on Spark."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    forgetful = Forgetful(tmp_path_factory.mktemp("patterns") / "forget")
    forgetful.begin()
    scripts = [script_of(case, forgetful) for case in RUN]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_MODE", "stream")
        found = list(scripted_job(env, scripts).execute_and_collect())
    # The last one is not kept: the tasks have come to their end.
    forgetful.end(at_least=max(len(script.micro_batches) for script in scripts) - 1)
    made: dict[str, list[tuple[Found, int]]] = {case["id"]: [] for case in RUN}
    for number, value, time in of_kind(found, PANE):
        made[RUN[number]["id"]].append((value, time))
    return made


@pytest.mark.slow
@pytest.mark.parametrize("case", RUN, ids=lambda case: case["id"])
def test_case(case: Case, results: dict[str, list[tuple[Found, int]]]) -> None:
    """After every event all that is known is what Spark's state store holds."""
    end = None if case["kind"] == "stream" or on_arrival(case) else times_of(case)[-1]
    found = {
        kind: [value for (label, value), time in results[case["id"]]
               if label == kind and (end is None or time <= end)]
        for kind in (MATCH, TIMEOUT)
    }  # fmt: skip
    check_matches(case, found[MATCH])
    check_timeouts(case, found[TIMEOUT])


def check_matches(case: Case, found: list[Any]) -> None:
    if case["kind"] == "stream":
        assert Counter(found) == Counter(as_written(case["expected_output"]))
    if "expected" in case:
        assert Counter(map(flat, found)) == expected_matches(case)
    if "observed_named" in case:
        assert Counter(map(named, found)) == Counter(map(named_as_written, case["observed_named"]))
    if "expected_match_count" in case:
        assert len(found) == case["expected_match_count"]


def check_timeouts(case: Case, found: list[Any]) -> None:
    if "expected_timeout_output" in case:
        assert Counter(found) == Counter(as_written(case["expected_timeout_output"]))
    if "expected_timeouts" in case:
        expected = Counter((_named(case, entry["match"]), entry["timeout_ts"])
                           for entry in case["expected_timeouts"])  # fmt: skip
        assert Counter((named(match), time) for match, time in found) == expected


def _named(case: Case, match: Case) -> Any:
    """A match that is written with events, or with their places."""
    if case["kind"] == "stream":
        return named_as_written(match)
    events = events_of(case)
    return named({name: [events[at] for at in places] for name, places in match.items()})


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["id"])
def test_case_that_fails(
    case: Case, env: StreamExecutionEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_MODE", "batch")  # each is a job of its own
    with pytest.raises(HeadraceError, match="skip"):
        list(scripted_job(env, [script_of(case)]).execute_and_collect())


@pytest.mark.slow
def test_killed_worker(
    env: StreamExecutionEnvironment, mode: str, tmp_path: Path,
    lines_of: Callable[[Path], Counter[Any]],
) -> None:  # fmt: skip
    source = Numbers(limit=200, step=40)
    markers = tmp_path / "markers"
    markers.mkdir()
    disturb = Once(markers, 1, kill_this_process)
    restart_at_once(env)
    build(env, source, tmp_path / "out", disturb, at=150)
    env.execute()
    assert disturb.happened == 1
    for name, lines in expected(source).items():
        assert lines.total() > 3
        assert lines_of(tmp_path / "out" / name) == lines
