"""Which failures Spark's further attempts at a task repeat without running it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.core.user_code import RecordFailure
from headrace.errors import (
    CorruptState,
    HeadraceError,
    SourceUnavailable,
    StateAccessError,
    TypeMismatch,
    UserFunctionFailed,
)
from headrace.origin import Origin
from headrace.spark import fail_fast, failed_attempts
from headrace.spark.failed_attempts import fails_again
from headrace.spark.failures import WorkerFailure, from_spark, reported

LINE = Origin("job.py", 3)


def raised(error: Exception) -> Exception:
    """The error as it is when a line of the user has raised it."""
    try:
        raise error
    except Exception as caught:
        return caught


@pytest.mark.parametrize(
    ("error", "cause", "again"),
    [
        (UserFunctionFailed("x", origin=LINE), ValueError(), True),
        (UserFunctionFailed("x", origin=LINE), raised(ConnectionError("the user's own")), True),
        (UserFunctionFailed("x"), ValueError("in a function without a file"), True),
        (UserFunctionFailed("x", origin=LINE), OSError("a disk headrace writes to"), False),
        (UserFunctionFailed("x"), MemoryError(), False),
        (TypeMismatch("x"), None, True),
        (StateAccessError("x"), None, True),
        (SourceUnavailable("x"), None, False),
        (CorruptState("x"), None, False),
    ],
)
def test_what_fails_again_the_same_way(
    error: HeadraceError, cause: Exception | None, again: bool
) -> None:
    assert fails_again(error, cause) is again


class Task:
    """Stands for the attempt at a task that this process works on."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch):
        self.attempt, self.stage = 0, 5
        self.runs = 0
        context = SimpleNamespace(
            attemptNumber=lambda: self.attempt,
            stageId=lambda: self.stage,
            partitionId=lambda: 1,
            getLocalProperty=lambda _name: "group",
        )
        patch.setattr(failed_attempts, "TaskContext", SimpleNamespace(get=lambda: context))
        patch.setattr(
            failed_attempts, "SparkFiles", SimpleNamespace(_root_directory=str(root))
        )  # fmt: skip

    def run(self, error: Exception | None) -> None:
        with reported():
            self.runs += 1
            if error is not None:
                raise RecordFailure(error, "map", 7)


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    return Task(tmp_path, monkeypatch)


def test_further_attempts_say_the_same_and_run_nothing(task: Task) -> None:
    with pytest.raises(WorkerFailure) as first:
        task.run(ValueError("two"))
    task.attempt = 1
    with pytest.raises(WorkerFailure) as second:
        task.run(None)
    assert task.runs == 1
    for raised in (first.value, second.value):
        error = from_spark(raised)
        assert type(error) is UserFunctionFailed
        assert "ValueError: two" in error.message
        assert "record: 7" in error.message


def test_a_job_that_starts_again_runs_its_tasks(task: Task) -> None:
    with pytest.raises(WorkerFailure):
        task.run(ValueError("two"))
    task.stage = 6
    task.run(None)
    task.attempt = 1
    task.run(None)
    assert task.runs == 3


def test_what_may_pass_is_tried_again(task: Task) -> None:
    with pytest.raises(WorkerFailure), reported():
        raise SourceUnavailable("the disk is away")
    task.attempt = 1
    task.run(None)
    assert task.runs == 1


def test_the_driver_ends_a_job_by_the_note_of_its_task(task: Task, tmp_path: Path) -> None:
    cancelled = threading.Event()

    def run_in(group: str, work: Callable[[], Any]) -> Any:
        context = SimpleNamespace(
            getLocalProperty=lambda _: group,
            cancelJobGroup=lambda name: cancelled.set() if name == group else None,
        )
        files = SimpleNamespace(getRootDirectory=lambda: str(tmp_path))
        apache = SimpleNamespace(spark=SimpleNamespace(SparkFiles=files))
        jvm = SimpleNamespace(org=SimpleNamespace(apache=apache))
        spark: Any = SimpleNamespace(sparkContext=context, _jvm=jvm)
        return fail_fast.run_in_group(spark, work)

    def fail() -> bool:
        with pytest.raises(WorkerFailure):
            task.run(ValueError("two"))
        return cancelled.wait(0.5)

    def fail_and_end() -> None:
        assert fail() or cancelled.wait(60)
        raise RuntimeError("the job was cancelled")

    with pytest.raises(UserFunctionFailed, match="ValueError: two"):
        run_in("group", fail_and_end)
    cancelled.clear()
    assert not run_in("group", lambda: cancelled.wait(0.5)), "it was ended by an earlier note"
    task.stage = 6
    assert not run_in("another group", fail)
