"""Damaged and lost files: a job refuses to go on from them, or goes on with nothing lost.

What is wrong with a job's own notes and Spark's logs is seen before anything runs, see
tests/unit/spark/test_verification.py; here are the files that Spark reads, and the way to the user.
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
from tests.spark.kill_jobs import build, check_output, environment, prepared, run, source

BATCHES = 6
KILLED_IN = 4
"""The version of state after it is 5; those from 2 on are logs of changes, 1 is a snapshot."""

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
            self.folder, BATCHES, HEADRACE_CRASH_AT=f"cleanup.after@{KILLED_IN}",
            HEADRACE_CRASH_MARK=str(folder / "died"),
        )  # fmt: skip
        assert ended.returncode == -9, ended.stderr[-3000:]
        for later in ("offsets", "commits"):  # the next may have been planned
            for name in (str(KILLED_IN + 1), f".{KILLED_IN + 1}.crc"):
                (self.run / "checkpoint" / later / name).unlink(missing_ok=True)
        shutil.copytree(self.folder, self._copy)

    def restore(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self._copy, self.folder)

    def file(self, pattern: str) -> Path:
        found = [path for path in sorted(self.run.glob(pattern)) if not path.name.startswith(".")]
        assert found, pattern
        return found[-1]

    def go_on(self, **options: str) -> None:
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


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize(
    "pattern",
    [
        "../job.json", "plan.json", "positions.json", "checkpoint/metadata", "journal/settled",
        f"checkpoint/offsets/{KILLED_IN}", f"checkpoint/commits/{KILLED_IN}",
        "checkpoint/state/0/_metadata/v2/0",
        "checkpoint/state/0/_stateSchema/default/*",
        f"checkpoint/state/0/0/{KILLED_IN + 1}.changelog",
    ],
)  # fmt: skip
def test_refused(job: KilledJob, pattern: str, damage: str) -> None:
    file = job.file(pattern) if ".." not in pattern else job.run / pattern
    DAMAGES[damage](file)
    with pytest.raises(CorruptState) as caught:
        job.go_on()
    text = str(caught.value)
    assert file.name in text or file.parent.name in text or "commit log has lost" in text
    assert caught.value.hint
    assert str(job.folder) in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "damage"),
    [
        ("checkpoint/state/0/0/3.changelog", "missing"),
        ("checkpoint/state/0/0/3.changelog", "truncated"),
        ("checkpoint/state/0/0/1.zip", "torn"),
        ("checkpoint/state/0/0/1.zip", "bit flipped"),
        ("checkpoint/state/0/0/1.zip", "missing"),
        ("checkpoint/state/0/0/SSTs/*.sst", "torn"),
        ("checkpoint/state/0/0/SSTs/*.sst", "bit flipped"),
        ("checkpoint/state/0/0/SSTs/*.sst", "missing"),
        ("progress.json", "missing"),
    ],
)
def test_refused_or_nothing_lost(job: KilledJob, pattern: str, damage: str) -> None:
    """What Spark can do without, it may do without; nobody may get wrong results."""
    DAMAGES[damage](job.file(pattern))
    try:
        job.go_on()
    except CorruptState:
        return
    check_output(job.folder, BATCHES)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["torn", "empty", "missing"])
def test_fall_back_by_one(job: KilledJob, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    DAMAGES[damage](job.file(f"checkpoint/state/0/0/{KILLED_IN + 1}.changelog"))
    with caplog.at_level(logging.WARNING, "headrace"):
        job.go_on(headrace_checkpointing_fall__back="true")
    assert f"goes on from checkpoint {KILLED_IN - 1}" in caplog.text
    check_output(job.folder, BATCHES)


@pytest.mark.slow
def test_no_fall_back_by_two(job: KilledJob) -> None:
    job.file(f"checkpoint/state/0/0/{KILLED_IN}.changelog").unlink()
    with pytest.raises(CorruptState):
        job.go_on(headrace_checkpointing_fall__back="true")
    assert job.file(f"checkpoint/commits/{KILLED_IN}").exists()


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["checkpoint", "checkpoint/state", "journal", ""])
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
