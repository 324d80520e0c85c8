"""A job that begins another attempt: others may have begun one, and what it needs may be away."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.errors import JobFailed
from headrace.jobs import stream_job
from headrace.jobs.stream_job import StreamJob
from headrace.runtime.flow.checkpoint import Checkpoint
from headrace.runtime.flow.master import Superseded
from headrace.spark.file_store import LocalStore
from headrace.spark.flow.attempt import StreamSettings
from headrace.spark.flow.checkpoint_files import CheckpointFiles, begin_attempt
from headrace.spark.job_folder import JobFolder, RunNote


class Recorded:
    """What attempts were to finish of those before them."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, int]] = []

    def recover(self, last: Any, attempt: int, **_: Any) -> None:
        self.calls.append((last, attempt))


def job_in(path: Path) -> tuple[Any, Recorded]:
    folder = JobFolder(LocalStore(path), lasting=True)
    if folder.note is None:
        folder.begin(RunNote("job", 0, {}))
    recorded = Recorded()
    job: Any = StreamJob.__new__(StreamJob)
    job._folder, job._settings, job._attempt = folder, StreamSettings(), None
    job._results = SimpleNamespace(commits=recorded, gave_records=False)
    checkpoints = SimpleNamespace(restored=lambda *_: None)
    job._records = SimpleNamespace(checkpoints=checkpoints)
    job._opened, job._spark = SimpleNamespace(plan=None, shipment=None, start=None), None
    return job, recorded


def test_a_start_that_no_longer_counts_recovers_nothing(tmp_path: Path) -> None:
    """What others have prepared meanwhile is theirs: to roll it back would lose it."""
    job, recorded = job_in(tmp_path)
    job._take_over()
    other, others = job_in(tmp_path)
    other._take_over()
    with pytest.raises(Superseded, match="started once more meanwhile"):
        job._take_over()
    assert [number for _, number in recorded.calls] == [1]
    assert [number for _, number in others.calls] == [2]


def test_what_a_living_driver_completes_before_is_gone_on_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elder, _ = job_in(tmp_path)
    number, _ = elder._take_over()
    run = elder._folder.run
    files = CheckpointFiles(run, number, 1, lambda: elder._folder.is_current(run))
    files.save(Checkpoint(10, number))
    younger, recorded = job_in(tmp_path)

    def begin(*args: Any, **options: Any) -> Any:
        files.save(Checkpoint(11, number))
        assert files.is_current()
        files.clean()
        return begin_attempt(*args, **options)

    monkeypatch.setattr(stream_job, "begin_attempt", begin)
    assert younger._take_over()[1].number == 11
    assert [(last.number, attempt) for last, attempt in recorded.calls] == [(11, 2)]


def test_what_is_away_for_a_while_does_not_end_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next try has a number of its own, and is followed by nobody else."""
    job, recorded = job_in(tmp_path)
    away = iter([True, True, False])

    def run(job: Any, number: int, restored: Any) -> int:
        if next(away):
            raise JobFailed("the database is away")
        return number

    monkeypatch.setattr(stream_job, "RoundRun", run)
    for _ in range(2):
        with pytest.raises(JobFailed, match="is away"):
            job._new_attempt()
    assert job._new_attempt() == 3
    assert [number for _, number in recorded.calls] == [1, 2, 3]
