"""Async I/O on Spark: each record is answered once, whatever happens to calls and workers."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest

from headrace.common import Time, Types, WatermarkStrategy
from headrace.datastream import AsyncFunction, AsyncRetryStrategy
from headrace.datastream.async_data_stream import AsyncDataStream
from headrace.datastream.async_retry_predicates import (
    empty_result_predicate,
    has_exception_predicate,
)
from headrace.errors import UserFunctionFailed
from tests.spark.fault_jobs import Ledger, Numbers, Once, kill_this_process, restart_at_once

COUNT = 20_000


class Square(AsyncFunction):
    """Answers after a random while; some attempts fail or give nothing."""

    def __init__(self, trouble=0.0):
        self.trouble = trouble

    async def async_invoke(self, value):
        await asyncio.sleep(random.random() * 0.02)
        chance = random.random()
        if chance < self.trouble / 2:
            raise ConnectionError(value)
        return [] if chance < self.trouble else [(value, value * value)]


class Late(Square):
    """One call in twenty never ends."""

    async def async_invoke(self, value):
        if random.random() < 0.05:
            await asyncio.Event().wait()
        return await super().async_invoke(value)

    def timeout(self, value):
        return [(value, value * value)]


@pytest.mark.parametrize("wait", ["ordered", "unordered"])
def test_thousands_of_calls_do_not_mix_up_rows(env, mode, wait):
    waits = getattr(AsyncDataStream, f"{wait}_wait")
    kind = Types.TUPLE([Types.LONG(), Types.LONG()])
    squares = waits(env.from_collection(range(COUNT)), Square(), Time.minutes(1), 2000, kind)
    found = list(squares.execute_and_collect())
    if wait == "unordered":
        found.sort()
    assert found == [(n, n * n) for n in range(COUNT)]


def test_retries_timeouts_and_a_shuffle_lose_and_repeat_nothing(env, mode):
    retry = AsyncRetryStrategy.exponential_backoff(
        20, 1, 20, 2.0, empty_result_predicate, has_exception_predicate
    )
    numbers = env.from_collection(range(COUNT)).rebalance()
    squares = AsyncDataStream.unordered_wait_with_retry(
        numbers, Late(0.2), Time.seconds(2), retry, 2000
    )
    keyed = squares.map(lambda pair: pair[1]).key_by(lambda n: n % 7)
    again = AsyncDataStream.ordered_wait(keyed, Square(), Time.minutes(1), 1000)
    assert Counter(again.execute_and_collect()) == Counter((n * n, n**4) for n in range(COUNT))


class Disturbed(AsyncFunction):
    """Kills its worker while other calls are open."""

    def __init__(self, disturb, at):
        self.disturb, self.at = disturb, at

    async def async_invoke(self, value):
        await asyncio.sleep(random.random() * 0.01)
        if value[1] == self.at:
            self.disturb()
        return [f"{value[0]} {value[1]}"]


@pytest.mark.slow
@pytest.mark.parametrize("wait", ["ordered", "unordered"])
def test_a_killed_worker_changes_no_result(env, mode, wait, tmp_path: Path, lines_of):
    source = Numbers(limit=300, step=100)
    markers = tmp_path / "markers"
    markers.mkdir()
    kill = Once(markers, 1, kill_this_process)
    restart_at_once(env)
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    waits = getattr(AsyncDataStream, f"{wait}_wait")
    answers = waits(records, Disturbed(kill, 301), Time.minutes(2), 50, Types.STRING())
    answers.sink_to(Ledger(tmp_path / "out"))
    env.execute()
    assert kill.happened == 1
    assert lines_of(tmp_path / "out") == Counter(
        f"key-{n % 7} {n * 2 + part}" for n in range(300) for part in range(2)
    )


@pytest.mark.smoke
def test_a_failure_names_the_record(env, mode):
    class Broken(AsyncFunction):
        async def async_invoke(self, value):
            await asyncio.sleep(0.001)
            return [1 // (value - 7)]

    stream = AsyncDataStream.ordered_wait(env.from_collection(range(20)), Broken(), Time.minutes(2))
    with pytest.raises(UserFunctionFailed) as failure:
        list(stream.execute_and_collect())
    text = str(failure.value)
    assert "in async_invoke of operator 'async wait operator'" in text
    assert "record: 7" in text
    assert "return [1 // (value - 7)]" in text
