"""Whole jobs in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.common import Duration, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.core.accumulators import IntCounter
from headrace.datastream import (
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors import Committer, Sink, SinkWriter
from headrace.errors import Unsupported
from headrace.testing import JobHarness, ScriptedSource, assert_same_records

LATE = OutputTag("late")


@pytest.fixture
def env():
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(2)
    return environment


def word_count(env):
    lines = env.from_collection(["to be", "or not", "to be"], Types.STRING())
    return lines.flat_map(str.split).map(lambda w: (w, 1)).key_by(lambda w: w[0]).sum(1)


COUNTS = [("to", 1), ("be", 1), ("or", 1), ("not", 1), ("to", 2), ("be", 2)]


@pytest.mark.parametrize("batches", [(), (1, 1), (0, 2)])
@pytest.mark.parametrize("crash_after", [(), (1,), (1, 2, 3)])
def test_results_do_not_depend_on_cuts_or_crashes(env, batches, crash_after):
    output = JobHarness().run(word_count(env), batches=batches, crash_after=crash_after)
    assert_same_records(output.values, COUNTS)


def test_an_environment_runs_its_sinks(env):
    word_count(env).print()
    output = JobHarness().run(env)
    assert len(output.printed) == 6
    assert output.values == []


def test_the_program_can_still_be_executed_afterwards(env):
    stream = word_count(env)
    JobHarness().run(stream)
    stream.print()
    assert len(JobHarness().run(env).printed) == 6


def test_batch_mode_gives_final_results(env):
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    output = JobHarness().run(word_count(env))
    assert_same_records(output.values, [("to", 2), ("be", 2), ("or", 1), ("not", 1)])


class FieldTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class LateOrTimer(KeyedProcessFunction):
    def process_element(self, value, ctx):
        if ctx.timestamp() <= ctx.timer_service().current_watermark():
            yield LATE, value
        else:
            ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp


def timed(env, batches):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    source = env.from_source(
        ScriptedSource(batches), strategy.with_timestamp_assigner(FieldTime()), "script"
    )
    return source.key_by(lambda v: v[0]).process(LateOrTimer())


def test_scripted_cuts_decide_what_is_late(env):
    batches = [[("a", 10)], [("a", 4), ("b", 5)], [("a", 1)]]
    output = JobHarness().run(timed(env, batches), crash_after=[1, 2])
    assert_same_records(output.values, [("a", 10), ("b", 5)])
    assert_same_records(output.side_output(LATE), [("a", 4), ("a", 1)])
    together = JobHarness().run(timed(env, [[*batches[0], *batches[1], *batches[2]]]))
    assert together.side_output(LATE) == []


class Ticking(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_processing_time_timer(value)

    def on_timer(self, timestamp, ctx):
        yield timestamp, ctx.timer_service().current_processing_time()


def test_processing_time_ticks_with_micro_batches(env):
    source = env.from_source(
        ScriptedSource([[150], [500], [], []]), WatermarkStrategy.no_watermarks(), "script"
    )
    stream = source.key_by(lambda v: 0).process(Ticking())
    assert JobHarness(tick=100).run(stream, crash_after=[1]).values == [(150, 200), (500, 500)]


def test_timestamps_of_the_source(env):
    source = ScriptedSource([[3, 1]], timestamp=lambda value: value * 10)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "script")
    assert JobHarness().run(stream.map(str)).records == [("3", 30), ("1", 10)]


class Lookup(MapFunction):
    """Reads a file that came with the job, and counts."""

    def open(self, runtime_context):
        path = runtime_context.get_distributed_cache().get_file("names")
        self.names = Path(path).read_text(encoding="utf-8").split()
        runtime_context.add_accumulator("seen", IntCounter())
        self.seen = runtime_context.get_accumulator("seen")

    def map(self, value):
        self.seen.add(1)
        return self.names[value]


def test_cached_files_and_accumulators(env, tmp_path):
    (tmp_path / "names").write_text("zero one", encoding="utf-8")
    env.register_cached_file(str(tmp_path / "names"), "names")
    output = JobHarness().run(env.from_collection([1, 0, 1]).map(Lookup()))
    assert output.values == ["one", "zero", "one"]
    assert output.accumulators() == {"seen": 3}


class Folder(Sink):
    """Writes the records of a micro-batch to a file, and makes it visible by renaming it."""

    def __init__(self, folder):
        self.folder = folder

    def create_writer(self, task):
        return Hidden(self.folder / f".{task.batch_id}-{task.subtask}")

    def create_committer(self):
        return Renaming()


class Hidden(SinkWriter):
    def __init__(self, path):
        self.path = path
        self.lines = []

    def write(self, value, timestamp):
        self.lines.append(f"{value}\n")

    def prepare_commit(self):
        self.path.write_text("".join(self.lines), encoding="utf-8")
        return [self.path]


class Renaming(Committer):
    def commit(self, committables):
        for path in committables:
            path.rename(path.with_name(path.name[1:]))


def test_sinks_commit(env, tmp_path):
    env.from_collection(["a", "b", "c"]).sink_to(Folder(tmp_path))
    JobHarness().run(env, batches=[1], crash_after=[1])
    written = [path.read_text(encoding="utf-8") for path in sorted(tmp_path.iterdir())]
    assert written == ["a\n", "b\nc\n"]
    assert not list(tmp_path.glob(".*"))


def test_functions_get_copies_of_the_records(env):
    record = [1]
    output = JobHarness().run(env.from_collection([record]).map(lambda r: r.append(2) or r))
    assert (record, output.values) == ([1], [[1, 2]])


def test_an_endless_job_is_refused(env):
    stream = env.socket_text_stream("localhost", 9999).map(str.upper)
    with pytest.raises(Unsupported, match="never ends"):
        JobHarness().run(stream)
