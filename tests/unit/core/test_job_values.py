"""Small values about jobs: status, id, restart strategies, futures."""

import pickle
from concurrent.futures import Future
from datetime import timedelta

import pytest

from headrace.core.completable_future import CompletableFuture
from headrace.core.job_id import JobID
from headrace.core.job_status import JobStatus
from headrace.core.restart_strategy import RestartStrategies
from headrace.errors import InvalidArgument


def test_terminal_states() -> None:
    final = {status.name for status in JobStatus if status.is_globally_terminal_state()}
    assert final == {"FAILED", "CANCELED", "FINISHED"}
    assert {s.name for s in JobStatus if s.is_terminal_state()} == final | {"SUSPENDED"}


def test_job_ids() -> None:
    one = JobID()
    assert len(str(one)) == 32
    assert one != JobID()
    assert JobID(str(one).upper()) == one
    assert pickle.loads(pickle.dumps(one)) == one
    assert {one: 1}[JobID(str(one))] == 1
    with pytest.raises(InvalidArgument, match="'xyz' is not a job id"):
        JobID("xyz")


def test_restart_strategies() -> None:
    fixed = RestartStrategies.fixed_delay_restart(3, 10_000)
    assert fixed.get_restart_attempts() == 3
    assert fixed.get_delay_between_attempts_interval() == timedelta(seconds=10)
    assert fixed == RestartStrategies.fixed_delay_restart(3, 10_000)
    assert "#3 restart attempts" in fixed.get_description()
    rate = RestartStrategies.failure_rate_restart(2, 60_000, 500)
    assert rate.get_max_failure_rate() == 2
    assert rate.get_failure_interval() == timedelta(minutes=1)
    assert rate.get_delay_between_attempts_interval() == timedelta(milliseconds=500)
    assert "maximum of 2 failures within 0:01:00" in rate.get_description()
    assert RestartStrategies.no_restart().get_description() == "Restart deactivated."
    assert "default" in RestartStrategies.fall_back_restart().get_description()
    assert RestartStrategies.no_restart() != RestartStrategies.fall_back_restart()


def test_bad_restart_strategies() -> None:
    with pytest.raises(InvalidArgument, match="number of restarts must be at least 0, not -1"):
        RestartStrategies.fixed_delay_restart(-1, 0)
    with pytest.raises(InvalidArgument, match="wait before a restart"):
        RestartStrategies.fixed_delay_restart(1, -1)
    with pytest.raises(InvalidArgument, match="failure interval"):
        RestartStrategies.failure_rate_restart(1, 0, 0)


def test_a_future_that_is_completed_later() -> None:
    source: Future[int] = Future()
    future, seen = CompletableFuture(source), []
    future.add_done_callback(seen.append)
    assert not future.done()
    assert future.exception() is None
    assert repr(future) == "CompletableFuture(waiting)"
    source.set_result(5)
    assert (future.done(), future.result(), seen) == (True, 5, [future])
    assert repr(future) == "CompletableFuture(5)"
    assert CompletableFuture.completed("x").result() == "x"


def test_futures_that_fail_or_are_cancelled() -> None:
    source: Future[int] = Future()
    source.set_exception(ValueError("no"))
    failed = CompletableFuture(source)
    assert isinstance(failed.exception(), ValueError)
    assert repr(failed) == "CompletableFuture(failed: ValueError('no'))"
    with pytest.raises(ValueError, match="no"):
        failed.result()
    waiting: CompletableFuture[int] = CompletableFuture()
    assert waiting.cancel()
    assert waiting.cancelled()
    assert waiting.exception() is not None
