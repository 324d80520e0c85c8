"""What a worker keeps for several jobs, and for how long."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.spark import runs_at_work
from headrace.spark.runs_at_work import is_over, note_run
from headrace.spark.shipment import Shipment


@pytest.fixture(autouse=True)
def no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_at_work, "_RUNS", {})


def at_work(run: str, mark: Path | None) -> Shipment:
    shipment = Shipment(run, b"", alive=None if mark is None else str(mark))
    note_run(shipment)
    return shipment


def test_jobs_that_run_at_once_leave_each_other_alone(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    at_work("a", tmp_path / "a")
    other = at_work("b", tmp_path / "b")
    assert not is_over("a", other)
    (tmp_path / "a").rmdir()
    assert is_over("a", other)
    assert not is_over("b", other)


def test_where_marks_cannot_be_seen_time_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(runs_at_work.time, "monotonic", lambda: now)
    at_work("a", tmp_path / "elsewhere")
    other = at_work("b", tmp_path / "elsewhere, too")
    batch = at_work("c", None)
    for shipment in (other, batch):
        now = 1050.0
        assert not is_over("a", shipment)
        now = 1061.0
        assert is_over("a", shipment)
        now = 1000.0
