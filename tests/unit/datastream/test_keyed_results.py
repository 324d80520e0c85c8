"""What a keyed stream gives, in process."""

from __future__ import annotations

import pytest

from headrace.common import Row, Types
from headrace.core.job_id import JobID
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.keyed_stream import _WithKey
from headrace.jobs.execution_result import JobExecutionResult
from headrace.testing import JobHarness


@pytest.mark.parametrize("key_type", [None, Types.LIST(Types.LONG())])
def test_records_with_a_list_as_key_are_grouped(key_type: object) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    numbers = env.from_collection([(1, 10), (2, 5), (1, 7)])
    keyed = numbers.key_by(lambda pair: [pair[0], 0], key_type)  # type: ignore[arg-type]
    keyed.reduce(lambda a, b: (a[0], a[1] + b[1])).print()
    printed = JobHarness().run(env).printed
    assert sorted(printed) == ["(1, 10)", "(1, 17)", "(2, 5)"]


class ShowKey(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield isinstance(ctx.get_current_key(), self.kind), ctx.get_current_key()

    def __init__(self, kind):
        self.kind = kind


@pytest.mark.parametrize("key", [[1, 2], {1: 2}, {1, 2}], ids=["list", "dict", "set"])
def test_a_function_sees_a_key_as_it_was_made(key):
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    keyed = env.from_collection([1]).key_by(lambda _: key)
    keyed.process(ShowKey(type(key))).print()
    assert list(JobHarness().run(env).printed) == [str((True, key))]


def test_keyed_records_are_collected_with_their_keys() -> None:
    assert _WithKey(lambda pair: pair[0]).map((1, "a")) == Row(f0=1, f1=(1, "a"))


def test_an_unknown_accumulator_is_none() -> None:
    result = JobExecutionResult(JobID(), 1, {"seen": 4}, {})
    assert result.get_accumulator_result("seen") == 4
    assert result.get_accumulator_result("other") is None
