"""Kafka to Kafka, or reading alone; prints what it took beyond a job with next to nothing to do.

kafka_job.py <servers> <topic> <small topic> <output>
             <read | texts | rows | keyed | sql> <guarantee>

    BENCH_JARS                  the jars that PyFlink needs for it
    BENCH_EXECUTION_MODE        how PyFlink runs Python
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid

from pyflink.common import Configuration, Row, SimpleStringSchema, Types, WatermarkStrategy
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.connectors import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from pyflink.table import EnvironmentSettings, TableEnvironment

PARALLELISM = 2
CHECKPOINT_EVERY_MS = 1000
COLUMNS = "`user` BIGINT, n BIGINT, kind STRING"
ROW = Types.ROW_NAMED(["user", "n", "kind"], [Types.LONG(), Types.LONG(), Types.STRING()])


def configuration() -> Configuration:
    found = Configuration()
    for name, variable in (
        ("python.execution-mode", "BENCH_EXECUTION_MODE"),
        ("pipeline.jars", "BENCH_JARS"),
    ):
        if variable in os.environ:
            found.set_string(name, os.environ[variable])
    return found


def run_stream(topic: str) -> None:
    servers, output, what, guarantee = sys.argv[1], *sys.argv[4:7]
    env = StreamExecutionEnvironment.get_execution_environment(configuration())
    env.set_parallelism(PARALLELISM)
    env.enable_checkpointing(CHECKPOINT_EVERY_MS)
    in_rows = what == "rows"
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(topic)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(ROW).build()
            if in_rows
            else SimpleStringSchema()
        )
        .build()
    )
    values = env.from_source(source, WatermarkStrategy.no_watermarks(), "values")
    if what == "read":
        values.filter(lambda text: False).print()
    else:
        records = (
            KafkaRecordSerializationSchema.builder()
            .set_topic(output)
            .set_value_serialization_schema(
                JsonRowSerializationSchema.builder().with_type_info(ROW).build()
                if in_rows
                else SimpleStringSchema()
            )
            .build()
        )
        sink = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(records)
        sink.set_delivery_guarantee(DeliveryGuarantee[guarantee])
        sink.set_transactional_id_prefix(f"bench-{uuid.uuid4().hex}")
        work_on(values, what).sink_to(sink.build())
    env.execute("kafka")


def work_on(values: DataStream, what: str) -> DataStream:
    if what == "rows":
        return values.map(lambda row: Row(row[0], row[1] + 1, row[2].upper()), ROW)
    rows = values.map(json.loads)
    if what == "keyed":
        ones = rows.map(lambda row: (row["user"], 1), Types.TUPLE([Types.LONG(), Types.LONG()]))
        rows = ones.key_by(lambda one: one[0], Types.LONG()).reduce(
            lambda a, b: (a[0], a[1] + b[1])
        )
    return rows.map(json.dumps, Types.STRING())


def run_sql(topic: str) -> None:
    servers, output, guarantee = sys.argv[1], sys.argv[4], sys.argv[6]
    settings = configuration()
    settings.set_string("parallelism.default", str(PARALLELISM))
    settings.set_string("execution.checkpointing.interval", f"{CHECKPOINT_EVERY_MS} ms")
    made = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(settings)
    tables = TableEnvironment.create(made.build())
    shared = (
        f"'connector' = 'kafka', 'properties.bootstrap.servers' = '{servers}', 'format' = 'json'"
    )
    tables.execute_sql(
        f"CREATE TABLE k1 ({COLUMNS}) WITH ({shared}, 'topic' = '{topic}', "
        "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset')"
    )
    promise = guarantee.lower().replace("_", "-")
    tables.execute_sql(
        f"CREATE TABLE k2 ({COLUMNS}) WITH ({shared}, 'topic' = '{output}', "
        f"'sink.delivery-guarantee' = '{promise}', "
        f"'sink.transactional-id-prefix' = 'bench-{uuid.uuid4().hex}')"
    )
    tables.execute_sql("INSERT INTO k2 SELECT `user`, n + 1, UPPER(kind) FROM k1").wait()


def seconds_of(topic: str) -> float:
    """Seconds that the job takes for all that is in a topic."""
    began = time.perf_counter()
    (run_sql if sys.argv[5] == "sql" else run_stream)(topic)
    return time.perf_counter() - began


seconds_of(sys.argv[3])
start_up = seconds_of(sys.argv[3])
whole = seconds_of(sys.argv[2])
print(json.dumps({"seconds": whole - start_up, "start_up": start_up}), flush=True)
