"""What the Python processes are like that Spark starts for a job."""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pyspark
import pytest

from headrace.common import WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.testing.sources import ScriptedSource

Collect = Callable[[DataStream], Counter[Any]]
KEYED = pytest.mark.parametrize("keyed", [False, True], ids=["before a shuffle", "after one"])


def numbers(env: StreamExecutionEnvironment, *, keyed: bool, count: int = 10) -> DataStream:
    """So many numbers, as a stream each in a micro-batch of its own."""
    source = ScriptedSource([[number] for number in range(count)])
    found = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    return found.key_by(lambda number: number % 2) if keyed else found


@KEYED
@pytest.mark.usefixtures("mode")
def test_they_use_the_installed_package(
    keyed: bool, env: StreamExecutionEnvironment, collected: Collect
) -> None:
    def place(number: int) -> str:
        import pyspark

        return pyspark.__file__

    assert collected(numbers(env, keyed=keyed).map(place)) == Counter({pyspark.__file__: 10})


@KEYED
@pytest.mark.usefixtures("streaming")
def test_their_collectors_pass_over_what_stays(
    keyed: bool, env: StreamExecutionEnvironment, collected: Collect
) -> None:
    # A worker that did something else before first looks at what is left of that, and may come to
    # a full look. Jobs before this one may have left any number of workers to choose from.
    env.set_parallelism(1)
    found = collected(
        numbers(env, keyed=keyed, count=24).map(
            lambda _: (os.getpid(), gc.get_freeze_count() > 1000)
        )
    )
    passes_over = Counter(passes for _, passes in found.elements())
    assert passes_over[True] >= 3, found
    assert all(times <= 2 for (_, passes), times in found.items() if not passes), found


@pytest.mark.micro_batch("in real time a task stays in its process")
@pytest.mark.usefixtures("streaming")
def test_a_slot_stays_in_its_process(env: StreamExecutionEnvironment, collected: Collect) -> None:
    """Once all workers that earlier jobs have left have had a turn; then each has its keys. Nobody
    waits long for a worker that is slow to be done: then another takes over what it has."""
    found = collected(
        numbers(env, keyed=True, count=40).map(lambda number: (number, number % 2, os.getpid()))
    )
    told = sorted(found)
    turns = [[process for number, key, process in told if number >= 24 and key == each]
             for each in (0, 1)]  # fmt: skip
    assert sum(one != next for each in turns for one, next in pairwise(each)) <= 2, told
