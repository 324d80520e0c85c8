"""One source after the other: files first, then Kafka, however the job runs."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, SimpleStringSchema, Time, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import ProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors import FileSource, NumberSequenceSource, StreamFormat
from headrace.datastream.connectors.hybrid_source import HybridSource
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.testing.servers import KafkaBroker
from headrace.testing.servers.kafka_topics import Topics
from tests.servers.kafka_tools import committed
from tests.spark.conftest import wait_until
from tests.spark.counts import expected
from tests.spark.kafka_kill_jobs import begin
from tests.spark.sessions import Deaths, send

NO_TIME = WatermarkStrategy.no_watermarks()
MODES = [
    ({"HEADRACE_STREAM_MODE": "micro-batch"}, 5),
    ({"HEADRACE_STREAM_MODE": "real-time", "KAFKA_JOBS_SLOW": "0.004"}, 20),
]
"""And a checkpoint that comes while the topic is read, if the machine is not too slow for that."""


@pytest.fixture(scope="module")
def topics(broker: KafkaBroker) -> Topics:
    return Topics(broker.bootstrap_servers)


def write_files(folder: Path, numbers: range, files: int) -> Path:
    """Numbers, dealt out in order to some files."""
    folder.mkdir()
    size = -(-len(numbers) // files)
    for place in range(files):
        part = numbers[place * size : (place + 1) * size]
        (folder / f"{place:03d}.txt").write_text("".join(f"{number}\n" for number in part))
    return folder


def files(folder: Path) -> FileSource:
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder)).build()


def kafka(topics: Topics, topic: str, *, bounded: bool) -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers(topics.servers).set_topics(topic)
    builder.set_value_only_deserializer(SimpleStringSchema())
    if bounded:
        builder.set_bounded(KafkaOffsetsInitializer.latest())
    return builder.build()


class Number(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class Late(ProcessFunction):
    """Each record, and whether it is late."""

    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Any:
        yield int(value), int(value) <= ctx.timer_service().current_watermark()


class TestWholeJobs:
    def test_everything_of_all_sources_is_read_once(self, env, collected, topics, mode, tmp_path):
        """More files than are read at the same time, an empty folder, then Kafka."""
        topic = topics.create(partitions=3)
        topics.send(topic, range(1000, 1500))
        (tmp_path / "empty").mkdir()
        source = (
            HybridSource.builder(files(write_files(tmp_path / "many", range(1000), 70)))
            .add_source(files(tmp_path / "empty"))
            .add_source(kafka(topics, topic, bounded=True))
            .build()
        )
        stream = env.from_source(source, NO_TIME, "numbers")
        assert collected(stream.map(int)) == Counter(range(1500))

    def test_nothing_of_the_next_before_the_end_of_the_one_before(self, env, streaming):
        first, second = NumberSequenceSource(0, 9_999), NumberSequenceSource(10_000, 10_099)
        source = HybridSource.builder(first).add_source(second).build()
        env.set_parallelism(1)
        found = list(env.from_source(source, NO_TIME, "numbers").execute_and_collect())
        assert sorted(found[:10_000]) == list(range(10_000))
        assert sorted(found[10_000:]) == list(range(10_000, 10_100))

    def test_time_goes_on_across_the_switch(self, env, topics, tmp_path):
        """No record that is in order is late, and files that have ended hold nobody back: their
        windows close when the topic has come further."""
        topic = topics.create(partitions=1)
        topics.send(topic, range(10_000, 10_500))
        source = (
            HybridSource.builder(files(write_files(tmp_path / "old", range(10_000), 3)))
            .add_source(kafka(topics, topic, bounded=False))
            .build()
        )
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
        numbers = env.from_source(source, strategy, "numbers").process(Late())
        windows = numbers.key_by(lambda each: 0).window(
            TumblingEventTimeWindows.of(Time.seconds(1))
        )
        sums = windows.reduce(lambda a, b: (a[0] + b[0], a[1] or b[1]))
        with sums.execute_and_collect() as results:
            found = [results.next() for _ in range(10)]
        assert found == [(sum(range(at, at + 1000)), False) for at in range(0, 10_000, 1000)]


class TestGoingOn:
    @pytest.mark.parametrize("parallelism", [1, 3])
    def test_a_job_that_comes_back_reads_on_with_the_source_it_was_at(
        self, topics, tmp_path, parallelism
    ):
        topic = topics.create(partitions=2)
        folder = write_files(tmp_path / "old", range(100), 4)
        found: Counter[int] = Counter()
        for life, part in enumerate((range(100, 200), range(200, 250))):
            topics.send(topic, part)
            settings = Configuration()
            settings.set_string("execution.checkpointing.dir", str(tmp_path / "checkpoints"))
            env = StreamExecutionEnvironment.get_execution_environment(settings)
            env.set_parallelism(parallelism if life else 2)
            env.enable_checkpointing(100)
            source = HybridSource.builder(files(folder))
            source.add_source(kafka(topics, topic, bounded=False))
            stream = env.from_source(source.build(), NO_TIME, "in").uid("in")
            with stream.map(int).execute_and_collect("comes back") as results:
                found.update(results.next() for _ in range(len(part) + (0 if life else 100)))
            # What was read is read, and a new file comes too late.
            (folder / "late.txt").write_text("-1\n")
        assert found == Counter(range(250))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("mode", "later"), MODES, ids=["micro-batch", "real time"])
def test_killed_on_both_sides_of_the_switch(
    topics: Topics, tmp_path: Path, mode: dict[str, str], later: int
) -> None:
    """The driver, then workers: everything is in the other topic once."""
    topic, output = topics.create(partitions=3), topics.create(partitions=2)
    folder = write_files(tmp_path / "old", range(600), 5)
    topics.send(topic, range(600, 1200))

    def live(parallelism: int, **crash: str) -> tuple[int, str]:
        arguments = (tmp_path / "job", topics.servers, topic, output)
        environ = {**mode, **crash, "KAFKA_JOBS_FILES": str(folder)}
        process = begin(*arguments, **environ, KAFKA_JOBS_PARALLELISM=str(parallelism))
        try:
            wait_until(lambda: deaths.all_happened() or process.poll() is not None, 200)
            out, messages = process.communicate(timeout=200)
        finally:
            send(process.pid, signal.SIGKILL)
        assert not Counter(topics.values(output)) - expected(1200)
        return process.returncode, out + messages[-3000:]

    deaths = Deaths(tmp_path / "worker", ["sink-pre-commit.after"])
    driver = {"HEADRACE_CRASH_AT": "metadata.after@1", "HEADRACE_CRASH_MARK": f"{tmp_path}/driver"}
    code, said = live(3, **driver)
    assert code == -signal.SIGKILL, said
    points = f"{deaths.environ['HEADRACE_CRASH_AT']},sink-pre-commit.before@{later}"
    code, said = live(2, **{**deaths.environ, "HEADRACE_CRASH_AT": points})
    assert code == 0, said
    assert deaths.all_happened()
    assert Counter(committed(topics, output)) == expected(1200)
