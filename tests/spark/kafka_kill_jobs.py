"""A job from Kafka through keyed state to Kafka that is killed and started again.

python -m tests.spark.kafka_kill_jobs <folder> <servers> <topic> <topic of its output>

    KAFKA_JOBS_PARALLELISM, KAFKA_JOBS_SLOW    subtasks; seconds that a record takes
    KAFKA_JOBS_HURRY                           a file: once it is there, records take no time
    KAFKA_JOBS_FILES                           a folder of files to read before the topic
    KAFKA_JOBS_UNTIL                           the offset at which the topic's three partitions end,
                                               if not where they end when the job first starts
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import Any, TextIO

from headrace.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headrace.datastream.connectors import DeliveryGuarantee, FileSource, StreamFormat
from headrace.datastream.connectors.hybrid_source import HybridSource
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from headrace.datastream.state import ValueStateDescriptor

ROOT = Path(__file__).resolve().parents[2]
KEYS, PARTITIONS = 7, 3


class Count(KeyedProcessFunction):
    """Numbers the records of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield f"{ctx.get_current_key()} #{count}"


def slowly(value: str) -> str:
    hurry = os.environ.get("KAFKA_JOBS_HURRY")
    if hurry is None or not Path(hurry).exists():
        sleep(float(os.environ.get("KAFKA_JOBS_SLOW", "0")))
    return value


def expected(records: int) -> Counter[str]:
    """What the job writes for the numbers up to a limit, in plain Python."""
    sizes = Counter(number % KEYS for number in range(records))
    return Counter(f"{key} #{n}" for key, size in sizes.items() for n in range(1, size + 1))


def source_of(servers: str, topic: str) -> Any:
    """The topic up to its end; after files, if there are to be any."""
    upto, until = KafkaOffsetsInitializer.latest(), os.environ.get("KAFKA_JOBS_UNTIL")
    if until is not None:
        ends = {KafkaTopicPartition(topic, n): int(until) for n in range(PARTITIONS)}
        upto = KafkaOffsetsInitializer.offsets(ends)
    kafka = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(topic)
        .set_group_id(f"group-{topic}")
        .set_property("max.poll.records", "10")  # barriers come between
        .set_bounded(upto)
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    folder = os.environ.get("KAFKA_JOBS_FILES")
    if folder is None:
        return kafka
    lines = StreamFormat.text_line_format()
    files = FileSource.for_record_stream_format(lines, folder).build()
    return HybridSource.builder(files).add_source(kafka).build()


def build(env: StreamExecutionEnvironment, servers: str, topic: str, output: str) -> None:
    source = source_of(servers, topic)
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(output)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(schema)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(f"job-{output}")
        .build()
    )
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    paced = numbers.map(slowly, Types.STRING()).uid("slowly")
    keyed = paced.key_by(lambda value: int(value) % KEYS, Types.INT())
    keyed.process(Count(), Types.STRING()).uid("count").sink_to(sink).uid("sink")


def begin(
    folder: Path, *arguments: str, stderr: int | TextIO = subprocess.PIPE, **environ: str
) -> subprocess.Popen[str]:
    """One life of the program, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.spark.kafka_kill_jobs", str(folder), *arguments],
        cwd=ROOT,
        env={**os.environ, "HEADRACE_MODE": "stream", **environ},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        start_new_session=True,
    )


if __name__ == "__main__":
    folder, *rest = sys.argv[1:]
    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", f"{folder}/checkpoints")
    settings.set_string("headrace.stream.max-records-per-batch", "150")
    settings.set_string("restart-strategy.type", "fixed-delay")
    settings.set_string("restart-strategy.fixed-delay.attempts", "9")
    settings.set_string("restart-strategy.fixed-delay.delay", "0s")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(int(os.environ.get("KAFKA_JOBS_PARALLELISM", "2")))
    env.enable_checkpointing(100)
    build(env, *rest)
    env.execute("counts")
    print("finished")
