"""Kafka to keyed state to Kafka, exactly once: whatever is killed when, nobody sees it."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from headrace.core.crash_points import KAFKA_STEPS, STEPS
from headrace.testing.servers import KafkaBroker
from headrace.testing.servers.kafka_topics import Topics
from tests.spark.conftest import wait_until
from tests.spark.kafka_kill_jobs import begin, expected

FULL = os.environ.get("HEADRACE_KILL_MATRIX") == "full"
RECORDS = 1200
MICRO_BATCH = {"HEADRACE_STREAM_MODE": "micro-batch"}
REAL_TIME = {"HEADRACE_STREAM_MODE": "real-time", "KAFKA_JOBS_SLOW": "0.006"}


class Job:
    """The job, the topics it uses, and what they must hold."""

    def __init__(self, topics: Topics, folder: Path):
        self.topics = topics
        self.folder = folder
        self.input = topics.create(partitions=3, name="in")
        self.output = topics.create(partitions=2, name="out")
        topics.send(self.input, range(RECORDS))

    def begin(self, **environ: str):
        return begin(self.folder, self.topics.servers, self.input, self.output, **environ)

    def live(self, **environ: str) -> tuple[int, str, str]:
        process = self.begin(**environ)
        try:
            out, messages = process.communicate(timeout=200)
        except BaseException:
            process.kill()
            raise
        return process.returncode, out, messages

    def die_at(self, point: str, parallelism: int = 2, **environ: str) -> None:
        """A life that ends at a point, with all its processes; then nothing wrong is to be seen."""
        mark = self.folder.parent / f"died-{len(list(self.folder.parent.glob('died-*')))}"
        code, out, messages = self.live(
            **environ,
            KAFKA_JOBS_PARALLELISM=str(parallelism),
            HEADRACE_CRASH_AT=point,
            HEADRACE_CRASH_MARK=str(mark),
        )
        assert code == -signal.SIGKILL, (point, out, messages[-3000:])
        seen = Counter(self.topics.values(self.output))
        assert not seen - expected(RECORDS), point

    def finish(self, **environ: str) -> None:
        """A life to the end; then all is there once, and nobody waits for a transaction."""
        code, out, messages = self.live(**environ)
        assert code == 0, messages[-3000:]
        assert out.endswith("finished\n")
        self.check()

    def check(self) -> None:
        assert Counter(self.topics.values(self.output)) == expected(RECORDS)
        assert not self.topics.has_open_transactions(self.output)


@pytest.fixture
def job(broker: KafkaBroker, tmp_path: Path) -> Job:
    return Job(Topics(broker.bootstrap_servers), tmp_path / "job")


def last_number(folder: Path) -> int:
    """The last complete checkpoint of the current run."""
    runs = sorted(folder.glob("checkpoints/job-1/run-*"), key=lambda run: int(run.name[4:]))
    found = [path.name.partition("-")[0] for path in runs[-1].glob("checkpoints/*")] if runs else []
    return max((int(number) for number in found if number.isdigit()), default=0)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_in_micro_batches(job: Job) -> None:
    job.die_at("sink-pre-commit.after@2", **MICRO_BATCH)
    job.die_at(f"metadata.after@{last_number(job.folder) + 1}", **MICRO_BATCH)
    # It finds a checkpoint that was not committed, and dies while it writes that anew.
    job.die_at(f"kafka-anew.before@{last_number(job.folder)}", **MICRO_BATCH)
    job.die_at(f"kafka-commit.after@{last_number(job.folder) + 1}", **MICRO_BATCH)
    job.die_at(f"sink-commit.after@{last_number(job.folder) + 1}", **MICRO_BATCH)
    job.finish(**MICRO_BATCH)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_in_real_time_at_another_parallelism_each_time(job: Job) -> None:
    job.die_at("sink-pre-commit.before@2", 4, **REAL_TIME)
    job.die_at("metadata.before@1", 1, **REAL_TIME)
    job.die_at(f"kafka-commit.before@{last_number(job.folder) + 2}", 1, **REAL_TIME)
    # What it finds, it has to write anew, and dies once more while it does so.
    job.die_at(f"kafka-anew.after@{last_number(job.folder)}", 3, **REAL_TIME)
    job.finish(**REAL_TIME)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", [MICRO_BATCH, REAL_TIME], ids=["micro-batch", "real time"])
def test_workers_that_die_while_they_commit(job: Job, mode: dict[str, str]) -> None:
    """The driver finds out whether they had committed, and writes anew what is missing."""
    # After a restart a checkpoint may have nothing to commit.
    points = ["kafka-commit.before@2", *(f"kafka-commit.after@{n}" for n in (4, 5))]
    mark = job.folder.parent / "died"
    job.finish(
        **mode,
        HEADRACE_CRASH_WHOM="process",
        HEADRACE_CRASH_AT=",".join([*points, "sink-pre-commit.after@7"]),
        HEADRACE_CRASH_MARK=str(mark),
    )
    died = {path.name.rpartition("@")[0] for path in mark.parent.glob("died.*")}
    assert died >= {"died.kafka-commit.before", "died.kafka-commit.after"}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_driver_that_wakes_up_late_commits_nothing(job: Job) -> None:
    """Its checkpoint is complete and not committed; its successor has done so meanwhile."""
    point, mark = "sink-commit.before@3", job.folder.parent / "stopped"
    late = job.begin(
        **REAL_TIME,
        HEADRACE_CRASH_AT=point,
        HEADRACE_CRASH_MARK=str(mark),
        HEADRACE_CRASH_SIGNAL="SIGSTOP",
    )
    try:
        wait_until(lambda: Path(f"{mark}.{point}").exists())
        job.finish(**REAL_TIME)
        _wake(late.pid)
        _, messages = late.communicate(timeout=120)
        assert late.returncode != 0
        assert "no longer counts" in messages
        job.check()
    finally:
        _wake(late.pid, signal.SIGKILL)
        late.communicate()


def _wake(session: int, how: signal.Signals = signal.SIGCONT) -> None:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.getsid(int(entry.name)) == session:
                    os.kill(int(entry.name), how)
            except (ProcessLookupError, PermissionError):
                continue


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", [MICRO_BATCH, REAL_TIME], ids=["micro-batch", "real time"])
def test_a_broker_that_is_away_for_a_while(
    job: Job, broker: KafkaBroker, mode: dict[str, str]
) -> None:
    """The job waits, and goes on."""
    process = job.begin(**{**mode, "KAFKA_JOBS_SLOW": "0.006"})
    try:
        wait_until(lambda: job.topics.ends(job.output) != [0, 0])
        broker.kill()
        broker.start()
        out, messages = process.communicate(timeout=200)
        assert out.endswith("finished\n"), messages[-3000:]
        assert "attempt 1 failed" not in messages
    finally:
        process.kill()
        process.communicate()
    job.check()


def test_every_step_has_its_point() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert not [step for step in KAFKA_STEPS if f"{step}@" not in source]


@pytest.mark.skipif(not FULL, reason="HEADRACE_KILL_MATRIX=full runs every step by itself")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [1, 3, 5])
@pytest.mark.parametrize("step", [*(s for s in STEPS if s != "barrier-overtakes"), *KAFKA_STEPS])
def test_one_kill(job: Job, step: str, number: int) -> None:
    """Each step that a checkpoint comes by on its way from Kafka to Kafka."""
    if step.startswith("kafka-anew"):
        job.die_at(f"metadata.after@{number}", **MICRO_BATCH)
    job.die_at(f"{step}@{number}", **MICRO_BATCH)
    job.finish(**MICRO_BATCH)
