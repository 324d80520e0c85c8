"""Jobs whose tasks run on and on, in Spark's real-time mode: exactly once, whatever happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.spark.real_time_jobs import FILES, IN_FILES, JOBS, LINES, NATIVE, TICKS

pytestmark = pytest.mark.timeout(700)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of all jobs, in one program of their own."""
    folder = tmp_path_factory.mktemp("real-time")
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.real_time_jobs", str(folder), *JOBS], cwd=ROOT,
        text=True, capture_output=True, timeout=600, check=False, env={**os.environ},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    found = {name: json.loads((folder / f"{name}.json").read_text()) for name in JOBS}
    return {**found, "stderr": done.stderr}


def test_a_source_that_ends(results):
    found = results["to_the_end"]
    assert found["flowed"]
    assert (found["once"], found["twice"]) == (6000, 6000)
    assert found["once exact"]
    assert found["twice exact"]


def test_files_that_follow_each_other_in_time_are_read_one_after_the_other(results):
    found = results["in_order"]
    assert found["flowed"]
    assert found["late"] == 0
    assert found["lines"] == FILES * LINES


def test_without_alignment(results):
    found = results["at_least_once"]
    assert (found["once"], found["twice"]) == (6000, 6000)
    assert found["once exact"]
    assert found["twice exact"]


def test_the_mode_is_chosen_with_a_reason(results):
    found = results["chosen"]
    assert found["why not"] is None
    assert found["kept"] == [{"why_not": None}]
    assert found["flowed"]
    assert found["once exact"]
    said = [line for line in results["stderr"].splitlines() if line.startswith("headrace: the job")]
    assert len(said) == 1
    assert "in real time: its sources" in said[0]


def test_one_folder_at_any_parallelism_and_in_both_modes(results):
    found = results["moved_about"]
    assert found["flowed"] == [True, True, False, True]
    assert found["once"] == found["twice"] > 0
    assert found["once exact"]
    assert found["twice exact"]


def test_savepoints(results):
    found = results["saved"]
    assert found["flowed"]
    assert found["aside"].startswith("savepoint-")
    assert 0 < found["asked"]["by key"] <= found["asked"]["all"]
    assert found["before"]["once exact"]
    assert found["before"]["twice exact"]
    assert found["after"]["once exact"]
    assert found["after"]["twice exact"]
    assert found["after"]["once"] == found["after"]["twice"] > found["before"]["once"]


def test_barriers_overtake_what_waits_for_a_slow_function(results):
    found = results["overtaken"]
    done = [entry for entry in found["checkpoints"] if entry["status"] == "COMPLETED"]
    assert any(entry["persisted_data"] for entry in done)
    assert all(
        entry["tasks"]["twice"]["persisted_data"] <= entry["persisted_data"] for entry in done
    )
    assert found["behind"] > 0
    assert found["in flight"] == [True, True]
    assert found["once"] == found["twice"] > 0
    assert found["once exact"]
    assert found["twice exact"]


def test_what_only_spark_reads_flows_too(results):
    """Files go on behind the rows that were read of them: after a failure, and in both modes."""
    found = results["read_by_spark"]
    assert found["flowed"] == [True, False, True]
    # Of the table there is no part: its rows come in any order.
    assert found["read in part"] == ["1.json"]
    assert found["once"] == found["twice"] == 2 * TICKS + NATIVE + IN_FILES + 20
    assert found["once exact"]
    assert found["twice exact"]


def test_what_nobody_takes_makes_sources_pause(results):
    found = results["left_waiting"]
    assert found["pauses"]
    assert found["right"] == [True, True]


def test_a_function_that_fails_is_told_with_its_line(results):
    error = results["failing"]["error"]
    assert "ZeroDivisionError" in error
    assert "real_time_jobs.py" in error
    assert "Traceback" not in results["stderr"]


def test_answers_leave_while_others_are_owed_and_are_not_collected_twice(results):
    found = results["asked"]
    assert found["found"] >= 20
    assert "the job cannot start again: it has no checkpoint" in found["error"]
    assert "ValueError: on purpose" in found["error"]
