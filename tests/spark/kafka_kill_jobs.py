"""A job from Kafka through keyed state to Kafka, or to databases and documents, that is killed and
started again.

python -m tests.spark.kafka_kill_jobs <folder> <servers> <topic> <topic of its output, or "">

    KAFKA_JOBS_PARALLELISM, KAFKA_JOBS_SLOW    subtasks; seconds that a record takes
    KAFKA_JOBS_HURRY                           a file: once it is there, records take no time
    KAFKA_JOBS_FILES                           a folder of files to read before the topic
    KAFKA_JOBS_UNTIL                           the offset at which the topic's three partitions end,
                                               if not where they end when the job first starts
    KAFKA_JOBS_ALSO                            where else it writes `counted` to, as JSON: {"jdbc":
                                               [[URL, user, password], …], "documents": [URL]}
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from time import sleep
from typing import Any, TextIO

from headrace.common import (
    Configuration,
    Row,
    SerializationSchema,
    SimpleStringSchema,
    Types,
    WatermarkStrategy,
)
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import DeliveryGuarantee, FileSource, StreamFormat
from headrace.datastream.connectors.elasticsearch import (
    BulkAction,
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
)
from headrace.datastream.connectors.hybrid_source import HybridSource
from headrace.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from tests.spark.counts import counts_of

ROOT = Path(__file__).resolve().parents[2]
PARTITIONS = 3
ROW = Types.ROW([Types.STRING()])


def slowly(value: str) -> str:
    hurry = os.environ.get("KAFKA_JOBS_HURRY")
    if hurry is None or not Path(hurry).exists():
        sleep(float(os.environ.get("KAFKA_JOBS_SLOW", "0")))
    return value


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


class KeyOfCount(SerializationSchema):
    """A key's counts are in one partition, so they have an order."""

    def serialize(self, value: str) -> bytes:
        return value.partition(" ")[0].encode()


def sink_of(servers: str, topic: str) -> KafkaSink:
    """A topic that is written exactly once."""
    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_key_serialization_schema(KeyOfCount())
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(schema)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(f"job-{topic}")
        .build()
    )


def build(env: StreamExecutionEnvironment, servers: str, topic: str, output: str) -> None:
    source = source_of(servers, topic)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    paced = numbers.map(slowly, Types.STRING()).uid("slowly")
    counts = counts_of(paced)
    if output:
        counts.sink_to(sink_of(servers, output)).uid("sink")
    also = json.loads(os.environ.get("KAFKA_JOBS_ALSO", "{}"))
    for number, (url, user, password) in enumerate(also.get("jdbc", ())):
        rows = counts.map(Row, ROW).uid(f"rows-{number}")
        rows.add_sink(table(url, user, password)).uid(f"table-{number}")
    if "documents" in also:
        sinks = Elasticsearch7SinkBuilder().set_hosts(also["documents"])
        sinks = sinks.set_emitter(Documents()).set_bulk_flush_max_actions(5)
        counts.sink_to(sinks.build()).uid("documents")


def table(url: str, user: str, password: str) -> Any:
    """The table `counted` of a database, written exactly once."""
    options = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(url)
        .with_user_name(user)
        .with_password(password)
        .build()
    )
    batches = JdbcExecutionOptions.builder().with_batch_size(5).build()
    return JdbcSink.exactly_once_sink("INSERT INTO counted VALUES (?)", ROW, options, batches)


class Documents(ElasticsearchEmitter):
    """A document for each count, by its own id."""

    def emit(self, value: str) -> Iterable[BulkAction]:
        yield BulkAction("index", "counted", value, json.dumps({"line": value}))


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
    settings.set_string("restart-strategy.fixed-delay.attempts", "99")
    settings.set_string("restart-strategy.fixed-delay.delay", "0s")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(int(os.environ.get("KAFKA_JOBS_PARALLELISM", "2")))
    env.enable_checkpointing(100)
    build(env, *rest)
    env.execute("counts")
    print("finished")
