"""AsyncDataStream: asking something outside about each record, without waiting one by one."""

from __future__ import annotations

from inspect import isasyncgenfunction, iscoroutinefunction
from typing import Any

from headrace.core.async_functions import (
    AsyncFunction,
    AsyncFunctionDescriptor,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
)
from headrace.core.time import Time
from headrace.core.types import TypeInformation
from headrace.datastream.async_retry_strategies import NO_RETRY_STRATEGY
from headrace.datastream.checks import instance_of, type_info
from headrace.datastream.graph_builder import positive
from headrace.datastream.stream import DataStream
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.operators.async_wait import AsyncWaitOperator
from headrace.origin import calling_origin

__all__ = ["AsyncDataStream"]

OutputMode = AsyncFunctionDescriptor.OutputMode


class AsyncDataStream:
    """Applies an AsyncFunction to a stream."""

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """The answers to each record, in the order in which they come."""
        return AsyncDataStream.unordered_wait_with_retry(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type
        )

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """The same; what the strategy says is asked again. The timeout is for all attempts."""
        asked = AsyncFunctionDescriptor(
            async_function, timeout, capacity, async_retry_strategy, OutputMode.UNORDERED
        )
        return _wait(data_stream, asked, output_type, "unordered_wait")

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """The answers to each record, in the order of the records."""
        return AsyncDataStream.ordered_wait_with_retry(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type
        )

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """The same; what the strategy says is asked again. The timeout is for all attempts."""
        asked = AsyncFunctionDescriptor(
            async_function, timeout, capacity, async_retry_strategy, OutputMode.ORDERED
        )
        return _wait(data_stream, asked, output_type, "ordered_wait")


def _wait(
    data_stream: DataStream, asked: AsyncFunctionDescriptor, output_type: Any, method: str
) -> DataStream:
    stream: DataStream = instance_of(data_stream, DataStream, method)
    _check_function(asked.async_function, method)
    _check_strategy(asked.async_retry_strategy, method)
    _check_timeout(asked, method)
    positive(asked.capacity, f"the capacity of {method}()")
    return stream._then(
        "async wait operator", AsyncWaitOperator(asked), type_info(output_type, method)
    )


def _check_function(function: Any, method: str) -> None:
    instance_of(function, AsyncFunction, method)
    name = type(function).__name__
    if isasyncgenfunction(function.async_invoke):
        raise TypeMismatch(
            f"{name}.async_invoke yields its results", origin=calling_origin(),
            hint="Return them as a list: return [...].",
        )  # fmt: skip
    if not iscoroutinefunction(function.async_invoke):
        raise TypeMismatch(
            f"{name}.async_invoke is not declared with 'async def'", origin=calling_origin(),
            hint="Declare it as 'async def async_invoke(self, value)', or use map() or flat_map() "
            "if nothing is awaited.",
        )  # fmt: skip
    if iscoroutinefunction(function.timeout):
        raise TypeMismatch(
            f"{name}.timeout is declared with 'async def'", origin=calling_origin(),
            hint="Declare it as 'def timeout(self, value)': it must answer at once.",
        )  # fmt: skip


def _check_strategy(strategy: Any, method: str) -> None:
    checked = instance_of(
        strategy, AsyncRetryStrategy, method,
        "Use AsyncRetryStrategy.fixed_delay(...) or exponential_backoff(...).",
    )  # fmt: skip
    predicate = checked.get_retry_predicate()
    if not isinstance(predicate, AsyncRetryPredicate):
        raise TypeMismatch(
            f"get_retry_predicate() of {type(checked).__name__} gives {predicate!r}, which is no "
            "AsyncRetryPredicate", origin=calling_origin(),
            hint="RetryPredicate(None, None) repeats nothing.",
        )  # fmt: skip


def _check_timeout(asked: AsyncFunctionDescriptor, method: str) -> None:
    instance_of(asked.timeout, Time, method, "Use Time.seconds(...) or Time.milliseconds(...).")
    millis = asked.timeout.to_milliseconds()
    if millis < 0:
        raise InvalidArgument(
            f"the timeout of {method}() must not be negative, and is {millis} ms",
            origin=calling_origin(),
        )
    if millis == 0 and not isinstance(asked.async_retry_strategy, type(NO_RETRY_STRATEGY)):
        raise InvalidArgument(
            f"{method}_with_retry() needs a timeout above 0: it ends the attempts",
            origin=calling_origin(), hint="Give the time that all attempts may take together.",
        )  # fmt: skip
