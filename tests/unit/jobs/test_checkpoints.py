"""The record of checkpoints, the watch over them, and the settings of recovery."""

from __future__ import annotations

import json
import math
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.config import Configuration
from headrace.jobs.checkpoint_entry import CheckpointFigures, CheckpointStatus, OperatorFigures
from headrace.jobs.checkpoint_summary import Summary
from headrace.jobs.checkpoints import CheckpointHistory


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def history(clock: Clock) -> CheckpointHistory:
    return CheckpointHistory({"source": 2, "totals": 4}, wall_clock=clock)


FIGURES = CheckpointFigures(1000, 100, {
    "source": OperatorFigures(bytes_written=10, entries_changed=1, entries=2, state_size=20),
    "totals": OperatorFigures(bytes_written=90, entries_changed=5, entries=50, state_size=980),
})  # fmt: skip


def test_completed_checkpoint(history: CheckpointHistory, clock: Clock) -> None:
    history.begin(1)
    assert [entry.status for entry in history.entries()] == [CheckpointStatus.IN_PROGRESS]
    clock.now += 0.25
    assert history.complete(1, FIGURES, "/checkpoints/1")
    (entry,) = history.entries()
    assert (entry.id, entry.status) == (1, CheckpointStatus.COMPLETED)
    assert (entry.trigger_ms, entry.end_to_end_ms) == (1_000_000, 250)
    assert (entry.state_size, entry.bytes_written) == (1000, 100)
    assert entry.operators["totals"].entries_changed == 5
    assert entry.external_path == "/checkpoints/1"
    assert history.latest("completed") is entry


def test_failed_checkpoint(history: CheckpointHistory) -> None:
    history.begin(3)
    assert history.fail(3, "disk full")
    assert not history.fail(3, "again")
    assert not history.complete(3)
    (entry,) = history.entries()
    assert (entry.id, entry.status, entry.failure) == (3, CheckpointStatus.FAILED, "disk full")
    assert history.latest("failed") is entry
    assert history.latest("completed") is None


def test_history_is_bounded_and_counts_go_on(history: CheckpointHistory) -> None:
    for number in range(1, 26):
        history.begin(number)
        if number % 5 == 0:
            history.fail(number, "no")
        else:
            history.complete(number)
    history.begin(26)
    assert [entry.id for entry in history.entries()] == list(range(26, 15, -1))
    counts = history.counts()
    assert (counts.total, counts.completed, counts.failed, counts.in_progress) == (26, 20, 5, 1)


def test_history_size_is_a_setting() -> None:
    history = CheckpointHistory.configured(
        Configuration.from_dict({"web.checkpoints.history": "2"})
    )  # fmt: skip
    for number in range(1, 6):
        history.begin(number)
        history.complete(number)
    assert [entry.id for entry in history.entries()] == [5, 4]
    assert history.find(5) is not None
    assert history.find(1) is None


def test_one_that_is_taken_again_has_the_same_id(history: CheckpointHistory) -> None:
    history.begin(6)
    history.fail(6, "the worker died")
    history.begin(6)
    history.complete(6)
    assert [(e.id, e.status.name) for e in history.entries()] == [(6, "COMPLETED"), (6, "FAILED")]
    found = history.find(6)
    assert found is not None
    assert found.status is CheckpointStatus.COMPLETED


def test_begun_anew_without_an_end(history: CheckpointHistory) -> None:
    history.begin(6)
    history.begin(6)
    counts = history.counts()
    assert (counts.total, counts.failed, counts.in_progress) == (2, 1, 1)


def test_savepoint_and_restore(history: CheckpointHistory, clock: Clock) -> None:
    history.restored(8, "/savepoints/a", is_savepoint=True)
    clock.now += 5
    history.add_savepoint(9, "/savepoints/b", trigger_ms=1_003_000, figures=FIGURES)
    savepoint = history.latest("savepoint")
    assert savepoint is not None
    assert (savepoint.id, savepoint.end_to_end_ms, savepoint.is_savepoint) == (9, 2000, True)
    restored = history.latest_restored()
    assert restored is not None
    assert restored.to_json() == {
        "id": 8, "restore_timestamp": 1_000_000, "is_savepoint": True,
        "external_path": "/savepoints/a",
    }  # fmt: skip
    counts = history.counts()
    assert (counts.restored, counts.total, counts.completed) == (1, 1, 1)


def test_clock_that_goes_back(history: CheckpointHistory, clock: Clock) -> None:
    history.begin(0)
    clock.now -= 10
    history.complete(0)
    assert history.entries()[0].end_to_end_ms == 0


def fields(value: Any) -> set[str]:
    return set(value)


STATISTICS = {"min", "max", "avg", "p50", "p90", "p95", "p99", "p999"}
TASK = {
    "alignment_buffered", "checkpointed_size", "end_to_end_duration", "id", "latest_ack_timestamp",
    "num_acknowledged_subtasks", "num_subtasks", "persisted_data", "processed_data", "state_size",
    "status",
}  # fmt: skip
ENTRY = TASK | {
    "checkpoint_type", "className", "is_savepoint", "savepointFormat", "tasks",
    "trigger_timestamp",
}  # fmt: skip
SUMMARY = {
    "alignment_buffered", "checkpointed_size", "end_to_end_duration", "persisted_data",
    "processed_data", "state_size",
}  # fmt: skip


def test_json_has_flinks_fields(history: CheckpointHistory, clock: Clock) -> None:
    history.restored(0)
    history.begin(1)
    clock.now += 1
    history.complete(1, FIGURES, "/checkpoints/1")
    history.begin(2)
    history.fail(2, "disk full")
    history.begin(3)
    found = json.loads(json.dumps(history.to_json(), allow_nan=False))
    assert found["counts"] == {
        "restored": 1, "total": 3, "in_progress": 1, "completed": 1, "failed": 1,
    }  # fmt: skip
    assert fields(found["latest"]) == {"completed", "savepoint", "failed", "restored"}
    assert found["latest"]["savepoint"] is None
    assert fields(found["summary"]) == SUMMARY
    assert all(fields(summary) == STATISTICS for summary in found["summary"].values())
    pending, failed, completed = found["history"]
    assert fields(pending) == ENTRY
    assert fields(failed) == ENTRY | {"failure_message", "failure_timestamp"}
    assert fields(completed) == ENTRY | {"discarded", "external_path"}
    assert [entry["className"] for entry in found["history"]] == [
        "in_progress", "failed", "completed",
    ]  # fmt: skip
    assert (completed["num_subtasks"], completed["num_acknowledged_subtasks"]) == (6, 6)
    assert (pending["num_acknowledged_subtasks"], pending["latest_ack_timestamp"]) == (0, -1)
    assert completed["latest_ack_timestamp"] == 1_001_000
    totals = completed["tasks"]["totals"]
    assert fields(totals) >= TASK
    assert (totals["checkpointed_size"], totals["state_size"], totals["entries"]) == (90, 980, 50)
    assert history.details(1) == completed
    assert history.details(77) is None


def test_summary_of_nothing() -> None:
    empty = json.loads(json.dumps(CheckpointHistory().to_json(), allow_nan=False))
    assert empty["summary"]["state_size"] == {
        "min": 0, "max": 0, "avg": 0,
        **dict.fromkeys(("p50", "p90", "p95", "p99", "p999"), "NaN"),
    }  # fmt: skip
    assert empty["history"] == []
    assert math.isnan(Summary().quantile(0.5))


@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=200))
def test_summary(values: list[int]) -> None:
    summary = Summary()
    for value in values:
        summary.add(value)
    assert (summary.min, summary.max) == (min(values), max(values))
    assert summary.avg == sum(values) // len(values)
    cuts = statistics.quantiles(values, n=20, method="exclusive")
    assert summary.quantile(0.5) == pytest.approx(cuts[9])
    # Beyond the outermost values the standard library extrapolates; a quantile here does not.
    assert summary.quantile(0.95) == pytest.approx(min(cuts[18], max(values)))


def test_failed_attempt_fails_its_checkpoint(history: CheckpointHistory) -> None:
    def attempt() -> None:
        with history.of_attempt():
            history.begin(1)
            history.complete(1, FIGURES)
            history.begin(2)
            raise OSError("disk full\nmore")

    with pytest.raises(OSError, match="disk full"):
        attempt()
    failed = history.latest("failed")
    assert failed is not None
    assert (failed.id, failed.failure) == (2, "the job failed: disk full")
    assert history.counts().in_progress == 0


def test_stopped_attempt_leaves_nothing_in_progress(history: CheckpointHistory) -> None:
    with history.of_attempt():
        history.begin(1)
    failed = history.latest("failed")
    assert failed is not None
    assert failed.failure == "the job ended before"
