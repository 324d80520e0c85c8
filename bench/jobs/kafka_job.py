"""Kafka to Kafka, or reading alone; prints what it took beyond a job with next to nothing to do.

kafka_job.py <servers> <topic> <small topic> <output> <read | stateless | keyed> <guarantee>
"""

from __future__ import annotations

import json
import sys
import time
import uuid

from pyflink.common import SimpleStringSchema, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)

PARALLELISM = 2


def execute(topic: str) -> float:
    """Seconds that the job takes for all that is in a topic."""
    servers, output, what, guarantee = sys.argv[1], *sys.argv[4:7]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(PARALLELISM)
    env.enable_checkpointing(1000)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(topic)
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    texts = env.from_source(source, WatermarkStrategy.no_watermarks(), "texts")
    if what == "read":
        texts.filter(lambda text: False).print()
    else:
        records = (
            KafkaRecordSerializationSchema.builder()
            .set_topic(output)
            .set_value_serialization_schema(SimpleStringSchema())
            .build()
        )
        rows = texts.map(json.loads)
        if what == "keyed":
            ones = rows.map(lambda row: (row["user"], 1), Types.TUPLE([Types.LONG(), Types.LONG()]))
            rows = ones.key_by(lambda one: one[0], Types.LONG()).reduce(
                lambda a, b: (a[0], a[1] + b[1])
            )
        sink = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(records)
        sink.set_delivery_guarantee(DeliveryGuarantee[guarantee])
        sink.set_transactional_id_prefix(f"bench-{uuid.uuid4().hex}")
        rows.map(json.dumps, Types.STRING()).sink_to(sink.build())
    began = time.perf_counter()
    env.execute("kafka")
    return time.perf_counter() - began


execute(sys.argv[3])
start_up = execute(sys.argv[3])
whole = execute(sys.argv[2])
print(json.dumps({"seconds": whole - start_up, "start_up": start_up}), flush=True)
