"""Retry strategies of asynchronous functions."""

import pytest

from headrace.core.async_functions import (
    AsyncFunction,
    AsyncFunctionDescriptor,
    AsyncRetryStrategy,
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from headrace.core.time import Time
from headrace.errors import InvalidArgument


class Echo(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        return [value]


def test_no_retry() -> None:
    strategy = AsyncRetryStrategy.no_restart()
    assert not strategy.can_retry(1)
    assert strategy.get_backoff_time_millis(1) == -1
    assert strategy.get_retry_predicate().result_predicate() is None


def test_fixed_delay() -> None:
    strategy = AsyncRetryStrategy.fixed_delay(2, 100, empty_result_predicate, None)
    assert [strategy.can_retry(attempt) for attempt in (1, 2, 3)] == [True, True, False]
    assert strategy.get_backoff_time_millis(2) == 100
    predicate = strategy.get_retry_predicate()
    assert predicate.result_predicate() is empty_result_predicate
    assert predicate.exception_predicate() is None


def test_exponential_backoff_stops_growing() -> None:
    strategy = AsyncRetryStrategy.exponential_backoff(
        6, 100, 1000, 2.0, None, has_exception_predicate
    )
    waits = [strategy.get_backoff_time_millis(attempt) for attempt in range(1, 7)]
    assert waits == [100, 200, 400, 800, 1000, 1000]
    # Records wait side by side, so asking for one must not change another's answer.
    assert strategy.get_backoff_time_millis(2) == 200


def test_predicates() -> None:
    assert empty_result_predicate([])
    assert empty_result_predicate(None)
    assert not empty_result_predicate([1])
    assert has_exception_predicate(ValueError())
    assert exception_type_predicate(ValueError(), ValueError)
    assert not exception_type_predicate(ValueError(), KeyError)


def test_bad_numbers() -> None:
    with pytest.raises(InvalidArgument, match="max_attempts must be above 0, not 0"):
        AsyncRetryStrategy.fixed_delay(0, 100, None, None)
    with pytest.raises(InvalidArgument, match="multiplier must be above 0"):
        AsyncRetryStrategy.exponential_backoff(1, 1, 1, 0, None, None)


def test_timeout_fails_by_default() -> None:
    with pytest.raises(TimeoutError, match="the record 5"):
        Echo().timeout(5)


def test_descriptor() -> None:
    mode = AsyncFunctionDescriptor.OutputMode.ORDERED
    function, retry = Echo(), AsyncRetryStrategy.no_restart()
    descriptor = AsyncFunctionDescriptor(function, Time.seconds(1), 10, retry, mode)
    assert (descriptor.async_function, descriptor.capacity) == (function, 10)
    assert (descriptor.output_mode, descriptor.timeout) == (mode, Time.seconds(1))
