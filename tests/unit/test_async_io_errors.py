"""Async I/O: what goes wrong is said where it can be mended, and leaves nothing running."""

from __future__ import annotations

import asyncio
import threading

import pytest

from headrace.common import Time, Types
from headrace.datastream import AsyncFunction
from headrace.datastream.async_data_stream import AsyncDataStream
from headrace.datastream.async_retry_strategies import NO_RETRY_STRATEGY
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import (
    InvalidArgument,
    JobFailed,
    StateAccessError,
    TypeMismatch,
    UserFunctionFailed,
)
from headrace.testing import OperatorHarness
from tests.unit.test_async_io import LONG, Slow, Stuck, repeated, waiting


class Broken(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(0)
        return [1 // value]


def test_a_failure_names_line_operator_record_and_key():
    with waiting(Broken()) as harness, pytest.raises(UserFunctionFailed) as failure:
        harness.send_all([2, 1, 0, 3])
    text = str(failure.value)
    assert "ZeroDivisionError" in text
    assert "in async_invoke of operator 'async wait operator'" in text
    assert "record: 0" in text
    assert "test_async_io_errors.py" in text
    assert "return [1 // value]" in text

    def keyed(stream):
        return AsyncDataStream.ordered_wait(stream.key_by(lambda n: n % 2), Broken(), LONG)

    with OperatorHarness(keyed) as harness, pytest.raises(UserFunctionFailed, match="key:    0"):
        harness.send_all([1, 2, 0])


def test_a_failed_batch_leaves_nothing_running():
    class First(Stuck):
        async def async_invoke(self, value):
            if value == "fail":
                raise ValueError(value)
            return await super().async_invoke(value)

    with waiting(First()) as harness:
        with pytest.raises(UserFunctionFailed, match="ValueError: fail"):
            harness.send_all([2, 4, "fail"])
        harness.send("who")
        assert harness.take_outputs() == [[2, 4]]


@pytest.mark.parametrize(
    ("answer", "shown", "hint"),
    [
        (None, "None", r"Return \[\] if there is no result"),
        (5, "int", r"Return \[result\]"),
        ("text", "str", r"Return \[result\]"),
        ({"a": 1}, "dict", r"Return \[result\]"),
    ],
)
def test_an_answer_that_is_no_list(answer, shown, hint):
    class Bare(AsyncFunction):
        async def async_invoke(self, value):
            return answer

    message = f"(?s)async_invoke of Bare must return a list of results, not {shown}.*record: 7.*"
    for retry in (None, repeated()):
        with (
            waiting(Bare(), retry=retry) as harness,
            pytest.raises(TypeMismatch, match=message + r"test_async_io_errors.py.*" + hint),
        ):
            harness.send(7)


def test_a_timeout_that_is_no_list():
    class Bare(Stuck):
        def timeout(self, value):
            return value

    with (
        waiting(Bare(), timeout=Time.milliseconds(10)) as harness,
        pytest.raises(TypeMismatch, match="timeout of Bare must return a list"),
    ):
        harness.send(2)


def test_a_call_cancelled_from_inside():
    class Inside(AsyncFunction):
        async def async_invoke(self, value):
            raise asyncio.CancelledError

    with (
        waiting(Inside()) as harness,
        pytest.raises(UserFunctionFailed, match=r"(?s)cancelled by something.*record: 1"),
    ):
        harness.send(1)


def test_sys_exit_ends_the_task_and_not_only_its_loop():
    class Leaving(AsyncFunction):
        async def async_invoke(self, value):
            raise SystemExit(3)

    with waiting(Leaving()) as harness, pytest.raises(SystemExit):
        harness.send(1)


def test_a_stopped_loop_is_noticed():
    class Stopping(AsyncFunction):
        async def async_invoke(self, value):
            asyncio.get_running_loop().stop()
            await asyncio.sleep(1000)

    harness = waiting(Stopping())
    with pytest.raises(JobFailed, match="event loop of an async function was stopped"):
        harness.send(1)


@pytest.mark.parametrize("step", ["open", "close"])
def test_failures_of_open_and_close(step):
    def fail(self, *_):
        raise OSError("no such host")

    function = type("Failing", (Slow,), {step: fail})()
    before = set(threading.enumerate())  # one of a harness that nobody closed may be among them
    with pytest.raises(UserFunctionFailed, match=f"(?s)OSError: no such host.*in {step} of"):
        waiting(function).close()
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if thread.name.startswith("async wait")]


def test_a_keyed_stream_may_be_used_but_not_keyed_state():
    class Stateful(AsyncFunction):
        def open(self, runtime_context):
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

        async def async_invoke(self, value):
            return [self.count.value()]

    def build(function):
        return lambda stream: AsyncDataStream.ordered_wait(
            stream.key_by(lambda n: n % 3), function, LONG
        )

    with OperatorHarness(build(Slow()), parallelism=2) as harness:
        harness.send_all(range(10))
        assert sorted(harness.take_outputs()) == [(n, n * n) for n in range(10)]
    with pytest.raises(StateAccessError), OperatorHarness(build(Stateful())) as harness:
        harness.send(1)


# What is refused when the job is built.


class Plain(AsyncFunction):
    def async_invoke(self, value):
        return [value]


class Generator(AsyncFunction):
    async def async_invoke(self, value):
        yield value


class AsyncTimeout(Slow):
    async def timeout(self, value):
        return []


class NoPredicate(type(NO_RETRY_STRATEGY)):
    def get_retry_predicate(self):
        return None


@pytest.mark.parametrize(
    ("changed", "kind", "message"),
    [
        (
            {"function": Plain()},
            TypeMismatch,
            "Plain.async_invoke is not declared with 'async def'",
        ),
        ({"function": Generator()}, TypeMismatch, "yields its results"),
        ({"function": AsyncTimeout()}, TypeMismatch, "AsyncTimeout.timeout is declared with"),
        ({"function": Slow}, TypeMismatch, r"(?s)not the class Slow.*Write Slow\(\)"),
        ({"function": len}, TypeMismatch, "needs a AsyncFunction"),
        ({"timeout": Time.seconds(-1)}, InvalidArgument, "must not be negative, and is -1000 ms"),
        ({"timeout": 5}, TypeMismatch, r"(?s)needs a Time, not 5.*Time.seconds"),
        ({"timeout": Time.seconds(0), "retry": repeated()}, InvalidArgument, "timeout above 0"),
        ({"capacity": 0}, InvalidArgument, "capacity of ordered_wait.. must be a whole number"),
        ({"capacity": 1.5}, InvalidArgument, "capacity of ordered_wait.. must be a whole number"),
        ({"retry": 3}, TypeMismatch, "needs a AsyncRetryStrategy, not 3"),
        ({"retry": NoPredicate()}, TypeMismatch, "gives None, which is no AsyncRetryPredicate"),
        ({"output_type": "int"}, TypeMismatch, "no TypeInformation"),
    ],
)
def test_refused(changed, kind, message):
    arguments = {"function": Slow(), **changed}
    with pytest.raises(kind, match=message) as failure:
        waiting(**arguments)
    assert "test_async_io.py" in str(failure.value)


def test_only_streams_can_be_waited_for():
    with pytest.raises(TypeMismatch, match="needs a DataStream"):
        AsyncDataStream.unordered_wait([1], Slow(), LONG)
