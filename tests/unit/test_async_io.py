"""Async I/O: every record gets its own answer, exactly once, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import contextvars
import random
import threading
import time
from collections import Counter
from typing import ClassVar

import pytest

from headrace.common import Time, Types
from headrace.datastream import AsyncFunction, AsyncRetryStrategy, KeyedProcessFunction
from headrace.datastream.async_data_stream import AsyncDataStream
from headrace.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from headrace.datastream.async_retry_strategies import NO_RETRY_STRATEGY
from headrace.errors import UserFunctionFailed
from headrace.testing import OperatorHarness
from tests.unit.waiting import wait_until

MODES = ["ordered", "unordered"]
LONG = Time.seconds(300)
"""More than anything takes that is answered."""


def waiting(function, mode="ordered", *, timeout=LONG, retry=None, build=None, **options):
    """A harness around an async function."""
    waits = getattr(AsyncDataStream, f"{mode}_wait_with_retry")
    strategy = retry or NO_RETRY_STRATEGY

    def default(stream):
        return waits(stream, function, timeout, strategy, **options)

    return OperatorHarness(build or default)


def repeated(times=3, pause=1, result=empty_result_predicate, error=has_exception_predicate):
    return AsyncRetryStrategy.fixed_delay(times, pause, result, error)


def answered(harness, values, mode):
    """What comes out, in the order of the records where that is promised."""
    harness.send_all(values)
    found = harness.take_outputs()
    return found if mode == "ordered" else sorted(found)


def hurry(part=2.0):
    """Move the clock of the running loop ahead by that part of `LONG`.

    So that a timeout is over when a test says so, and not because a machine was busy.
    """
    loop = asyncio.get_running_loop()
    shown = loop.time
    loop.time = lambda: shown() + part * LONG.to_milliseconds() / 1000


class Slow(AsyncFunction):
    """Answers after a random while."""

    async def async_invoke(self, value):
        await asyncio.sleep(random.random() * 0.02)
        return [(value, value * value)]


class Counting(AsyncFunction):
    """Says how many calls were open at the same time."""

    def open(self, runtime_context):
        self.now = self.most = 0

    async def async_invoke(self, value):
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.001)
        self.now -= 1
        return [self.most]


# The order, the time and the number of results.


@pytest.mark.parametrize("mode", MODES)
def test_thousands_of_calls_do_not_mix_up_rows(mode):
    with waiting(Slow(), mode, capacity=2000) as harness:
        found = answered(harness, range(20_000), mode)
    assert found == [(n, n * n) for n in range(20_000)]


def test_unordered_results_come_as_they_complete():
    class Backwards(AsyncFunction):
        def open(self, runtime_context):
            self.answered = [asyncio.Event() for _ in range(6)]
            self.answered[5].set()

        async def async_invoke(self, value):
            await self.answered[value + 1].wait()
            self.answered[value].set()
            return [value]

    with waiting(Backwards(), "unordered") as harness:
        harness.send_all(range(5), [10, 11, 12, 13, 14])
        assert harness.take_records() == [(4, 14), (3, 13), (2, 12), (1, 11), (0, 10)]


@pytest.mark.parametrize("mode", MODES)
def test_any_number_of_results_with_the_time_of_their_record(mode):
    class Repeat(AsyncFunction):
        async def async_invoke(self, value):
            return (value for _ in range(value))

    with waiting(Repeat(), mode) as harness:
        harness.send_all([0, 3, 1], [5, 6, None])
        assert Counter(harness.take_records()) == {(3, 6): 3, (1, None): 1}


def test_results_are_out_before_the_watermark_passes():
    """A timer for the time of the last record finds all results there."""

    class Collected(KeyedProcessFunction):
        def open(self, runtime_context):
            self.seen = []

        def process_element(self, value, ctx):
            assert ctx.timestamp() > ctx.timer_service().current_watermark()
            self.seen.append(value)
            ctx.timer_service().register_event_time_timer(ctx.timestamp())

        def on_timer(self, timestamp, ctx):
            yield timestamp, len(self.seen)

    def build(stream):
        slow = AsyncDataStream.unordered_wait(stream, Slow(), LONG)
        return slow.key_by(lambda _: 0).process(Collected())

    with OperatorHarness(build) as harness:
        harness.send_all(range(10), range(100, 110))
        harness.advance_watermark(109)
        assert harness.take_outputs() == [(stamp, 10) for stamp in range(100, 110)]


@pytest.mark.parametrize("capacity", [1, 7, 100])
def test_capacity_limits_open_calls(capacity):
    with waiting(Counting(), capacity=capacity) as harness:
        harness.send_all(range(300))
        assert max(harness.take_outputs()) == capacity


def test_two_async_operators_in_a_chain():
    def build(stream):
        once = AsyncDataStream.ordered_wait(stream, Slow(), LONG)
        numbers = once.map(lambda pair: pair[1])
        return AsyncDataStream.ordered_wait(numbers, Slow(), LONG, 5, Types.PICKLED_BYTE_ARRAY())

    with OperatorHarness(build) as harness:
        harness.send_all(range(20))
        assert harness.take_outputs() == [(n * n, n**4) for n in range(20)]


# Retries.


class Unsure(AsyncFunction):
    """Fails, says nothing or takes long at random; the answer tells the number of attempts."""

    def open(self, runtime_context):
        self.attempts = Counter()

    async def async_invoke(self, value):
        self.attempts[value] += 1
        await asyncio.sleep(random.random() * 0.004)
        chance = random.random()
        if chance < 0.2:
            raise ConnectionError(value)
        return [] if chance < 0.4 else [(value, -value)]


@pytest.mark.parametrize("mode", MODES)
def test_one_result_for_each_record_although_calls_fail_at_random(mode):
    with waiting(Unsure(), mode, retry=repeated(50), capacity=2000) as harness:
        found = answered(harness, range(5000), mode)
    assert found == [(n, -n) for n in range(5000)]


@pytest.mark.parametrize("mode", MODES)
def test_one_result_for_each_record_although_calls_time_out_at_random(mode):
    class Late(AsyncFunction):
        async def async_invoke(self, value):
            try:
                await asyncio.sleep(10 if random.random() < 0.1 else 0.001)
            except asyncio.CancelledError:
                if value % 2:
                    raise
            return [(value, "in time")]  # half of the late ones answer although cancelled

        def timeout(self, value):
            return [(value, "late")]

    with waiting(Late(), mode, timeout=Time.milliseconds(500), capacity=2000) as harness:
        found = answered(harness, range(10_000), mode)
    assert [value for value, _ in found] == list(range(10_000))
    assert Counter(how for _, how in found).keys() == {"late", "in time"}


class Attempts(AsyncFunction):
    async def async_invoke(self, value):
        self.made = getattr(self, "made", 0) + 1
        if value == "error":
            raise KeyError(self.made)
        return [] if self.made <= int(value) else [self.made]


def test_retries_stop_when_the_strategy_says_so():
    with waiting(Attempts(), retry=repeated(3)) as harness:
        harness.send("2")
        assert harness.take_outputs() == [3]
    with waiting(Attempts(), retry=repeated(3)) as harness:
        harness.send("99")
        assert harness.take_outputs() == []  # the fourth answer counts, though it is empty
    with (
        waiting(Attempts(), retry=repeated(3)) as harness,
        pytest.raises(UserFunctionFailed, match="KeyError: 4"),
    ):
        harness.send("error")


def test_predicates_decide_what_is_repeated():
    strategy = repeated(error=lambda error: exception_type_predicate(error, ValueError))
    with (
        waiting(Attempts(), retry=strategy) as harness,
        pytest.raises(UserFunctionFailed, match="KeyError: 1"),
    ):
        harness.send("error")
    with waiting(Attempts(), retry=repeated(result=None)) as harness:
        harness.send("1")
        assert harness.take_outputs() == []


def test_a_predicate_that_fails_is_not_repeated():
    strategy = repeated(result=lambda results: results[0] > 0)
    with (
        waiting(Attempts(), retry=strategy) as harness,
        pytest.raises(UserFunctionFailed, match="IndexError"),
    ):
        harness.send("1")


def test_backoff_is_waited_for():
    growing = AsyncRetryStrategy.exponential_backoff(5, 20, 60, 2.0, empty_result_predicate, None)
    with waiting(Attempts(), retry=growing) as harness:
        begun = time.monotonic()
        harness.send("3")
        assert harness.take_outputs() == [4]
        assert time.monotonic() - begun >= 0.12


def test_the_timeout_covers_all_attempts():
    class Never(AsyncFunction):
        async def async_invoke(self, value):
            self.made = getattr(self, "made", 0) + 1
            hurry(0.4)
            return []

        def timeout(self, value):
            return [("gave up", self.made)]

    retry = repeated(10_000, 10)
    with waiting(Never(), timeout=LONG, retry=retry) as harness:
        harness.send(1)
        assert harness.take_outputs() == [("gave up", 3)]


# Timeouts.


class Stuck(AsyncFunction):
    """Never answers even numbers; notes what was cancelled."""

    hurries = False

    def open(self, runtime_context):
        self.cancelled = []

    async def async_invoke(self, value):
        if value == "who":
            return [sorted(self.cancelled)]
        if value % 2:
            return [value]
        if self.hurries:
            hurry()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.append(value)
            raise


def test_a_timeout_fails_the_job_and_names_the_record():
    with (
        waiting(Stuck(), timeout=Time.milliseconds(50)) as harness,
        pytest.raises(UserFunctionFailed) as failure,
    ):
        harness.send_all([1, 3, 4, 5])
    assert "TimeoutError" in str(failure.value)
    assert "in timeout of operator 'async wait operator'" in str(failure.value)
    assert "record: 4" in str(failure.value)


def test_a_timeout_may_answer_and_the_call_is_cancelled():
    class Patient(Stuck):
        hurries = True

        def timeout(self, value):
            return [f"late {value}"]

    with waiting(Patient(), timeout=LONG, capacity=3) as harness:
        harness.send_all(range(6))
        assert harness.take_outputs() == ["late 0", 1, "late 2", 3, "late 4", 5]
        harness.send("who")
        assert harness.take_outputs() == [[0, 2, 4]]


def test_no_timeout_without_one():
    with waiting(Slow(), timeout=Time.milliseconds(0)) as harness:
        harness.send(2)
        assert harness.take_outputs() == [(2, 4)]


# The loop and the life of a function.


class Client(AsyncFunction):
    """Keeps what belongs to a loop, as clients do, and a task that runs all the time."""

    opened: ClassVar[list[Client]] = []

    async def open(self, runtime_context):
        self.loop = asyncio.get_running_loop()
        self.lock = asyncio.Lock()
        self.beats = 0
        self.heart = asyncio.create_task(self.beat())
        self.opened.append(self)  # the harness has a copy of what a test gives it

    async def beat(self):
        while True:
            self.beats += 1
            await asyncio.sleep(0.001)

    async def async_invoke(self, value):
        async with self.lock:
            await asyncio.sleep(0)
            same = self.loop is asyncio.get_running_loop()
            return [(same, self.beats, threading.current_thread().name)]

    async def close(self):
        self.heart.cancel()
        assert self.loop is asyncio.get_running_loop()


def test_one_loop_serves_all_batches_and_runs_between_them():
    harness = waiting(Client())
    client = Client.opened.pop()
    harness.send_all(range(10))
    first = harness.take_outputs()
    wait_until(lambda: client.beats > first[-1][1] + 20, "a loop that runs between two batches")
    harness.send(1)
    second = harness.take_outputs()
    assert {same for same, _, _ in first + second} == {True}
    assert second[0][1] > first[-1][1] + 20
    name = second[0][2]
    assert name in {thread.name for thread in threading.enumerate()}
    harness.close()
    assert name not in {thread.name for thread in threading.enumerate()}


def test_close_cancels_what_is_running(capsys):
    class Stubborn(AsyncFunction):
        async def async_invoke(self, value):
            self.rest = asyncio.create_task(asyncio.sleep(1000))
            try:
                await asyncio.sleep(1000)
            finally:
                await asyncio.sleep(0.05)  # still cleaning up when the results are out
                print("cleaned up")

        def timeout(self, value):
            return []

        def close(self):
            print("closed in", threading.current_thread().name, self.rest.done())

    before = set(threading.enumerate())
    harness = waiting(Stubborn(), timeout=Time.milliseconds(20))
    harness.send(1)
    harness.close()
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["cleaned up", "closed in async wait operator 0 False"]
    left = set(threading.enumerate()) - before
    assert not [thread for thread in left if thread.name.startswith("async wait")]


def test_context_variables_stay_with_their_record():
    variable = contextvars.ContextVar("record", default=None)

    class Contextual(AsyncFunction):
        async def async_invoke(self, value):
            before = variable.get()
            variable.set(value)
            await asyncio.sleep(0.001)
            return [(before, variable.get())]

    def build(stream):  # made here: a context variable cannot be pickled
        class Late(Contextual):
            def __reduce__(self):
                return _made, (id(self),)

        _KEPT.append(Late())
        return AsyncDataStream.ordered_wait(stream, _KEPT[-1], LONG, 3)

    with OperatorHarness(build) as harness:
        harness.send_all(range(50))
        assert harness.take_outputs() == [(None, n) for n in range(50)]


_KEPT: list[AsyncFunction] = []


def _made(identity):
    return next(function for function in _KEPT if id(function) == identity)


def test_results_are_not_changed_afterwards():
    class Reuse(AsyncFunction):
        def open(self, runtime_context):
            self.record, self.results = {}, []

        async def async_invoke(self, value):
            self.record["n"] = value
            self.results[:] = [self.record]
            return self.results

    with waiting(Reuse(), capacity=2) as harness:
        harness.send_all(range(5))
        assert harness.take_outputs() == [{"n": n} for n in range(5)]


def test_a_snapshot_holds_no_open_call():
    with waiting(Slow()) as harness:
        harness.send_all(range(3))
        harness.crash()
        harness.send_all(range(3, 6))
        assert harness.take_outputs() == [(n, n * n) for n in range(6)]
