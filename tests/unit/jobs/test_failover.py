"""A job that fails is tried again as its strategy says, and its failures are remembered."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable

import pytest

from headrace.core.config import Configuration
from headrace.core.job_status import JobStatus
from headrace.core.user_code import RecordFailure, report
from headrace.errors import (
    CorruptState,
    HeadraceError,
    IncompatibleState,
    InvalidArgument,
    InvalidGraph,
    JobCancelled,
    JobFailed,
    MissingJava,
    NotSerializable,
    SourceUnavailable,
    StateAccessError,
    TypeMismatch,
    Unsupported,
    UserFunctionFailed,
)
from headrace.jobs.failover import ExceptionHistory, retryable, run_with_restarts
from headrace.jobs.restart import FailureRate, FixedDelay, NoRestart, RestartStrategy
from headrace.origin import Origin


def failing(times: int, make: Callable[[int], Exception] = lambda n: ValueError(f"no {n}")) -> (
    tuple[Callable[[int], None], list[int]]
):  # fmt: skip
    """An attempt that fails so many times, and the numbers it was called with."""
    calls: list[int] = []

    def attempt(number: int) -> None:
        calls.append(number)
        if number <= times:
            raise make(number)

    return attempt, calls


def run(
    attempt: Callable[[int], None],
    strategy: RestartStrategy,
    history: ExceptionHistory | None = None,
) -> None:
    run_with_restarts(attempt, strategy, history or ExceptionHistory(), threading.Event())


def test_runs_once_if_nothing_fails() -> None:
    attempt, calls = failing(0)
    run(attempt, NoRestart())
    assert calls == [1]


def test_tries_again_until_it_works(caplog: pytest.LogCaptureFixture) -> None:
    attempt, calls = failing(2)
    history = ExceptionHistory()
    with caplog.at_level(logging.WARNING, "headrace"):
        run(attempt, FixedDelay(5, 0), history)
    assert calls == [1, 2, 3]
    assert [entry.attempt for entry in history.entries()] == [2, 1]
    first, second = caplog.messages
    assert first.startswith("attempt 1 failed, the next begins in 0 s (fixed-delay, at most 5)")
    assert second.endswith("ValueError: no 2")


def test_last_error_says_how_often_was_tried() -> None:
    attempt, calls = failing(9, lambda n: UserFunctionFailed(f"ValueError: no {n}", hint="Do."))
    with pytest.raises(UserFunctionFailed, match="no 3") as caught:
        run(attempt, FixedDelay(2, 0))
    assert calls == [1, 2, 3]
    assert "after 2 restarts (fixed-delay, at most 2)" in str(caught.value)
    assert str(caught.value).endswith("hint: Do.")


def test_foreign_errors_get_a_note() -> None:
    attempt, _ = failing(9)
    with pytest.raises(ValueError, match="no 2") as caught:
        run(attempt, FixedDelay(1, 0))
    assert caught.value.__notes__ == ["  after 1 restart (fixed-delay, at most 1)"]


def test_without_restarts_the_error_is_left_as_it_is() -> None:
    error = JobFailed("gone")
    attempt, _ = failing(9, lambda n: error)
    with pytest.raises(JobFailed) as caught:
        run(attempt, NoRestart())
    assert caught.value is error
    assert error.message == "gone"


def test_what_cannot_heal_is_not_tried_again() -> None:
    attempt, calls = failing(9, lambda n: InvalidGraph("a cycle"))
    history = ExceptionHistory()
    with pytest.raises(InvalidGraph):
        run(attempt, FixedDelay(5, 0), history)
    assert calls == [1]
    assert history.recorded == 1


@pytest.mark.parametrize(
    ("kind", "before_start", "while_running"),
    [
        (CorruptState, False, False),
        (IncompatibleState, False, False),
        (InvalidGraph, False, False),
        (NotSerializable, False, False),
        (Unsupported, False, False),
        (MissingJava, False, False),
        (JobCancelled, False, False),
        (InvalidArgument, False, True),
        (TypeMismatch, False, True),
        (UserFunctionFailed, True, True),
        (StateAccessError, True, True),
        (SourceUnavailable, True, True),
        (JobFailed, True, True),
    ],
)
def test_retryable(kind: type[HeadraceError], before_start: bool, while_running: bool) -> None:
    assert retryable(kind("x"), started=False) is before_start
    assert retryable(kind("x"), started=True) is while_running


def test_other_errors_are_retryable() -> None:
    assert retryable(OSError("disk full"), started=False)


def test_start_decides_about_arguments() -> None:
    attempt, calls = failing(1, lambda n: InvalidArgument("a record's field"))
    with pytest.raises(InvalidArgument):
        run_with_restarts(
            attempt, FixedDelay(5, 0), ExceptionHistory(), threading.Event(),
            started=lambda: False,
        )  # fmt: skip
    assert calls == [1]
    run(attempt, FixedDelay(5, 0))
    assert calls == [1, 1, 2]


def test_stop_ends_the_wait() -> None:
    stopped = threading.Event()
    attempt, calls = failing(9)
    seen: list[JobStatus] = []

    def watch(status: JobStatus) -> None:
        seen.append(status)
        if status is JobStatus.RESTARTING:
            stopped.set()

    run_with_restarts(
        attempt, FixedDelay(5, 3600), ExceptionHistory(), stopped, on_status=watch
    )  # fmt: skip
    assert calls == [1]
    assert seen == [JobStatus.RUNNING, JobStatus.RESTARTING]


def test_errors_while_stopping_are_no_failures() -> None:
    stopped = threading.Event()
    history = ExceptionHistory()

    def attempt(number: int) -> None:
        stopped.set()
        raise JobFailed("the query was stopped")

    with pytest.raises(JobFailed):
        run_with_restarts(attempt, FixedDelay(5, 0), history, stopped)
    assert history.recorded == 0


def test_strategy_hears_the_clock() -> None:
    times = iter([0.0, 1.0, 2.0])
    attempt, calls = failing(9)
    with pytest.raises(ValueError, match="no 3"):
        run_with_restarts(
            attempt, FailureRate(2, interval=10, delay=0), ExceptionHistory(), threading.Event(),
            clock=lambda: next(times),
        )  # fmt: skip
    assert calls == [1, 2, 3]


def user_failure() -> HeadraceError:
    failure = RecordFailure(ValueError("boom"), "map()", record=7)
    error = report(failure, "Bob's map", "my-uid")
    error.origin = Origin("job.py", 12, "raise ValueError")
    return error


def test_entries_name_the_operator() -> None:
    history = ExceptionHistory(wall_clock=lambda: 1.5)
    entry = history.record(3, user_failure())
    assert entry.time_ms == 1500
    assert entry.kind == "headrace.errors.UserFunctionFailed"
    assert (entry.operator, entry.uid) == ("Bob's map", "my-uid")
    assert entry.message.startswith("ValueError: boom")
    assert entry.origin == Origin("job.py", 12, "raise ValueError")
    assert "UserFunctionFailed" in entry.stack


@pytest.mark.parametrize(
    "text", ["of operator a (uid b)", "x\n  in f of operator '\\x' (uid '')", ""]
)
def test_texts_that_only_look_like_ours(text: str) -> None:
    entry = ExceptionHistory().record(1, UserFunctionFailed(text))
    assert (entry.operator, entry.uid) == (None, None)


def test_history_is_bounded() -> None:
    history = ExceptionHistory(size=2)
    for attempt in range(1, 6):
        history.record(attempt, ValueError(str(attempt)))
    assert [entry.attempt for entry in history.entries()] == [5, 4]
    assert history.recorded == 5
    assert history.to_json()["exceptionHistory"]["truncated"] is True


def test_history_size_is_a_setting() -> None:
    sized = ExceptionHistory.configured(
        Configuration.from_dict({"web.exception-history-size": "3"})
    )  # fmt: skip
    usual = ExceptionHistory.configured(Configuration())
    for attempt in range(20):
        sized.record(attempt, ValueError())
        usual.record(attempt, ValueError())
    assert (len(sized.entries()), len(usual.entries())) == (3, 16)


def test_json_has_flinks_fields() -> None:
    history = ExceptionHistory(wall_clock=lambda: 2.0)
    history.record(1, user_failure())
    history.record(2, OSError("disk full"))
    found = json.loads(json.dumps(history.to_json(limit=1)))["exceptionHistory"]
    assert found["truncated"] is True
    (newest,) = found["entries"]
    assert newest["exceptionName"] == "builtins.OSError"
    first = history.to_json()["exceptionHistory"]["entries"][1]
    assert set(first) == {
        "concurrentExceptions", "endpoint", "exceptionName", "failureLabels", "stacktrace",
        "taskManagerId", "taskName", "timestamp",
    }  # fmt: skip
    assert (first["taskName"], first["timestamp"]) == ("Bob's map", 2000)
    assert first["failureLabels"] == {
        "attempt": "1", "operator.uid": "my-uid", "origin": "job.py:12  raise ValueError",
    }  # fmt: skip
