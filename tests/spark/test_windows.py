"""Windows on Spark: random programs as batches and streams, and what only a real job shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.common import Duration, Time, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import AggregateFunction, DataStream, StreamExecutionEnvironment
from headrace.datastream.window import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from headrace.testing import ScriptedSource
from tests.windows.comparison import assert_as_foretold, dropped
from tests.windows.oracle import Oracle
from tests.windows.programs import Program, programs
from tests.windows.scripted_jobs import scripted_job

AT_ONCE = 25
"""Programs that run as one job on Spark, where a job costs seconds whatever it does."""


def run_on_spark(many: Sequence[Program], *, cut: bool) -> list[list[Any]]:
    """The results of each program."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    job = scripted_job(env, [program.script(cut=cut) for program in many])
    found = list(job.execute_and_collect())
    return [[result for result in found if result[0] == number] for number in range(len(many))]


@pytest.mark.slow
@settings(max_examples=2, suppress_health_check=list(HealthCheck))
@given(many=st.lists(programs(), min_size=AT_ONCE, max_size=AT_ONCE))
def test_random_programs(many: list[Program]) -> None:
    """As one Spark batch, in which nothing is late, and as one stream with the programs' cuts."""
    for program, results in zip(many, run_on_spark(many, cut=False), strict=True):
        assert_as_foretold(results, program, Oracle(program.spec).run(program.records()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_MODE", "stream")
        for program, results in zip(many, run_on_spark(many, cut=True), strict=True):
            assert_as_foretold(results, program, Oracle(program.spec).run(program.steps()))


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


def timed(env: StreamExecutionEnvironment, batches: list[list[Any]]) -> DataStream:
    """Records (key, time); the watermark follows the newest one at once."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0))
    script = ScriptedSource(batches)
    return env.from_source(script, strategy.with_timestamp_assigner(SecondField()), "script")


TENS = TumblingEventTimeWindows.of(Time.milliseconds(10))
BATCHES: list[list[Any]] = [[("a", 1), ("b", 2), ("a", 25)], [("b", 3), ("c", 4), ("a", 26)]]


@pytest.mark.usefixtures("streaming")
@pytest.mark.smoke
def test_dropped_records_are_counted(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    timed(env, BATCHES).key_by(lambda r: r[0]).window(TENS).aggregate(Count()).print()
    result = env.execute()
    assert dropped(result.get_metrics()) == 2
    assert Counter(line.split("> ")[-1] for line in capsys.readouterr().out.splitlines()) == {
        "1": 2, "2": 1
    }  # fmt: skip


@pytest.mark.smoke
def test_windows_over_all_records(
    env: StreamExecutionEnvironment, mode: str, collected: Callable[[DataStream], Counter[Any]]
) -> None:
    """Late is what comes after its window's end: in one batch nothing does."""
    found = collected(timed(env, BATCHES).window_all(TENS).aggregate(Count()))
    assert found == Counter([2, 2] if mode == "stream" else [4, 2])


def test_clock_ends_windows_without_records(
    env: StreamExecutionEnvironment, line_server: Any
) -> None:
    """The last window of the clock fires though nothing comes after it."""
    lines = env.socket_text_stream("127.0.0.1", line_server.port)
    windows = TumblingProcessingTimeWindows.of(Time.milliseconds(200))
    counts = lines.key_by(lambda line: line).window(windows).aggregate(Count())
    with counts.execute_and_collect() as records:
        line_server.send(["to", "to", "to"])
        found = 0
        while found < 3:
            found += next(records)
        assert found == 3
