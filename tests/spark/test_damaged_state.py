"""Damaged and lost files: a job refuses to go on from them, or goes on with nothing lost.

What is missing or of another size is seen before anything runs, see
tests/unit/spark/test_verification.py; here are whole jobs, and the way to the user.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.errors import CorruptState, InvalidArgument
from headrace.spark.file_store import LocalStore
from headrace.spark.savepoints.opening import opened
from headrace.spark.savepoints.restore import Restored
from tests.spark.kill_jobs import (
    build,
    check_output,
    environment,
    expected,
    lines_in,
    prepared,
    run,
    source,
)

BATCHES = 6
KILLED_AT = 4
"""The checkpoint after which the job is killed."""

Damage = Callable[[Path], None]


def _cut(keep: Callable[[int], int]) -> Damage:
    return lambda file: _write(file, file.read_bytes()[: keep(file.stat().st_size)])


def _write(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def _flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)


DAMAGES: dict[str, Damage] = {
    "torn": _cut(lambda size: size // 2),
    "empty": _cut(lambda size: 0),
    "truncated": _cut(lambda size: size - 3),
    "bit flipped": _flip,
    "missing": Path.unlink,
}


class KilledJob:
    """A job that was killed after a checkpoint; each test damages a copy and goes on with it."""

    def __init__(self, folder: Path):
        self.folder = folder / "job"
        self._copy = folder / "copy"
        self.run = self.folder / "checkpoints/job-1/run-0"
        prepared(self.folder)
        ended = run(
            self.folder,
            BATCHES,
            HEADRACE_STREAM_MODE="micro-batch",
            KILL_JOBS_OPTIONS="execution.checkpointing.num-retained=3",
            HEADRACE_CRASH_AT=f"cleanup.after@{KILLED_AT}",
            HEADRACE_CRASH_MARK=str(folder / "died"),
        )
        assert ended.returncode == -9, ended.stderr[-3000:]
        shutil.copytree(self.folder, self._copy)

    def restore(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self._copy, self.folder)

    def file(self, pattern: str) -> Path:
        found = [path for path in sorted(self.run.glob(pattern)) if not path.name.startswith(".")]
        assert found, pattern
        return found[-1]

    def go_on(self, **options: str) -> None:
        options["headrace_stream_mode"] = "micro-batch"
        env = environment(self.folder, restart__strategy_type="none", **options)
        build(env, self.folder, source(BATCHES))
        env.execute("damaged")


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> KilledJob:
    return KilledJob(tmp_path_factory.mktemp("killed"))


@pytest.fixture
def job(killed: KilledJob) -> Iterator[KilledJob]:
    killed.restore()
    return killed


@pytest.mark.slow
def test_what_is_whole_goes_on(job: KilledJob) -> None:
    job.go_on()
    check_output(job.folder, BATCHES)


LAST = f"checkpoints/{KILLED_AT}-1"
NEWEST = f"state/1-1-0-{KILLED_AT}"


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("pattern", ["../job.json", "plan.json", LAST, NEWEST])
def test_refused(job: KilledJob, pattern: str, damage: str) -> None:
    file = job.run / pattern
    DAMAGES[damage](file)
    with pytest.raises(CorruptState) as caught:
        job.go_on()
    text = str(caught.value)
    assert file.name in text or f"the last checkpoint is {KILLED_AT - 1}" in text
    assert caught.value.hint
    assert str(job.folder) in text


@pytest.mark.slow
def test_a_journal_that_does_not_say_what_is_committed(job: KilledJob) -> None:
    job.file("journal/settled-*").unlink()
    with pytest.raises(CorruptState, match="settled is missing") as caught:
        job.go_on()
    assert str(job.folder) in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["torn", "missing"])
def test_a_note_that_is_not_needed(job: KilledJob, damage: str) -> None:
    """What an attempt began with does not matter once it has a checkpoint of its own."""
    DAMAGES[damage](job.run / "attempts/1")
    try:
        job.go_on()
    except CorruptState:
        return
    check_output(job.folder, BATCHES)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["torn", "bit flipped", "missing"])
def test_fall_back(job: KilledJob, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    """What was committed since the checkpoint before may be there twice; nothing is missing."""
    DAMAGES[damage](job.run / NEWEST)
    with caplog.at_level(logging.WARNING, "headrace"):
        job.go_on(headrace_checkpointing_fall__back="true")
    assert f"goes on from checkpoint {KILLED_AT - 1}" in caplog.text
    missing = expected(BATCHES) - lines_in(job.folder / "rolled")
    assert not missing


@pytest.mark.slow
def test_nothing_to_fall_back_to(job: KilledJob) -> None:
    for file in job.run.glob("state/1-1-0-*"):
        DAMAGES["bit flipped"](file)
    with pytest.raises(CorruptState):
        job.go_on(headrace_checkpointing_fall__back="true")
    assert (job.run / LAST).exists()


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["state", "checkpoints", "journal", ""])
def test_a_lost_folder(job: KilledJob, lost: str) -> None:
    shutil.rmtree(job.run / lost)
    with pytest.raises(CorruptState):
        job.go_on()


@pytest.fixture(scope="module")
def whole_savepoint(
    killed: KilledJob, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    killed.restore()
    folder = tmp_path_factory.mktemp("savepoints") / "whole"
    opened(spark, str(killed.folder / "checkpoints"), LocalStore(folder)).check()
    return folder


@pytest.fixture
def savepoint(whole_savepoint: Path, tmp_path: Path) -> Path:
    """A copy, elsewhere: a savepoint depends on nothing."""
    shutil.copytree(whole_savepoint, tmp_path / "savepoint")
    return tmp_path / "savepoint"


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_savepoint(savepoint: Path, spark: SparkSession, damage: str) -> None:
    files = [path.relative_to(savepoint) for path in sorted(savepoint.rglob("*.parquet"))]
    assert len(files) > 2
    Restored(spark, LocalStore(savepoint)).check()
    for file in files[:3]:
        kept = (savepoint / file).read_bytes()
        DAMAGES[damage](savepoint / file)
        with pytest.raises(CorruptState, match=file.name):
            Restored(spark, LocalStore(savepoint)).check()
        (savepoint / file).write_bytes(kept)
    DAMAGES[damage](savepoint / "_metadata.json")
    with pytest.raises((CorruptState, InvalidArgument), match=r"_metadata\.json"):
        opened(spark, str(savepoint), LocalStore(savepoint / "transfer"))


@pytest.mark.slow
def test_a_savepoint_without_a_folder(savepoint: Path, spark: SparkSession) -> None:
    for lost in (*(savepoint / "state").glob("*/*"), savepoint / "state"):
        shutil.rmtree(lost)
        with pytest.raises(CorruptState, match="is missing"):
            Restored(spark, LocalStore(savepoint)).check()


@pytest.mark.slow
def test_a_file_that_is_not_part_of_a_savepoint(savepoint: Path, spark: SparkSession) -> None:
    file = next(savepoint.rglob("*.parquet"))
    shutil.copy(file, file.with_name("part-more.parquet"))
    with pytest.raises(CorruptState, match=r"part-more\.parquet is not part of it"):
        Restored(spark, LocalStore(savepoint)).check()


@pytest.mark.slow
def test_no_job_starts_from_a_damaged_savepoint(
    savepoint: Path, killed: KilledJob, tmp_path: Path
) -> None:
    killed.restore()
    _flip(next(savepoint.rglob("*.parquet")))
    env = environment(tmp_path, execution_state__recovery_path=str(savepoint))
    build(env, tmp_path, source(BATCHES))
    with pytest.raises(CorruptState, match="the savepoint in"):
        env.execute("from a savepoint")
    assert not (tmp_path / "rolled").exists()
