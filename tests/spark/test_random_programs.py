"""Random programs give the same results in process, as a Spark batch and as a Spark stream."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from itertools import cycle
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.testing import JobHarness
from tests.spark.random_programs import Program, build, programs

AT_ONCE = 15
"""Programs that run as one job on Spark, where a job costs seconds whatever it does."""


def _environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    return env


def _in_process(
    many: list[Program], *, cut: bool, crash: bool = False, rescale: bool = False
) -> Counter[Any]:
    results: Counter[Any] = Counter()
    for number, program in enumerate(many):
        stream = build(_environment(), program, f"p{number}", cut)
        crashes = range(1, len(program.batches) + 1) if crash else ()
        rescales = dict(zip(range(1, 10), cycle((5, 1, 3, 2)), strict=False)) if rescale else {}
        results.update(JobHarness().run(stream, crash_after=crashes, rescale_after=rescales).values)
    return results


def _on_spark(many: list[Program], *, cut: bool) -> Counter[Any]:
    env = _environment()
    streams = [build(env, program, f"p{number}", cut) for number, program in enumerate(many)]
    together: Any = reduce(DataStream.union, streams)
    return Counter(together.execute_and_collect())


@settings(max_examples=60)
@given(program=programs())
def test_cuts_crashes_and_rescales_change_nothing_in_process(program: Program) -> None:
    """One batch, the program's micro-batches, a restore after each, and one at another
    parallelism: the same multiset."""
    whole = _in_process([program], cut=False)
    assert _in_process([program], cut=True) == whole
    assert _in_process([program], cut=True, crash=True) == whole
    assert _in_process([program], cut=True, rescale=True) == whole


@pytest.mark.slow
@settings(max_examples=2, suppress_health_check=list(HealthCheck))
@given(many=st.lists(programs(), min_size=AT_ONCE, max_size=AT_ONCE))
def test_spark_gives_what_the_harness_gives(many: list[Program]) -> None:
    """The same programs in process, as one Spark batch and as one Spark stream."""
    expected = _in_process(many, cut=False)
    assert _on_spark(many, cut=False) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_MODE", "stream")
        assert _on_spark(many, cut=True) == expected
