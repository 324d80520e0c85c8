"""The fraud detector between two topics of Kafka, and the processes it runs in."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace.common import Configuration, DeserializationSchema, TypeInformation, Types
from headrace.datastream import (
    DataStream,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors import DeliveryGuarantee
from headrace.datastream.connectors.kafka import (
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from headrace.examples.fraud_detection import Payment, event_time, judge
from headrace.jobs.client import JobClient

__all__ = ["ALERTS", "GROUP", "LATE", "PARALLELISM", "PAYMENTS", "kill_a_worker", "start_detector"]

PAYMENTS, ALERTS, LATE = "payments", "alerts", "late-payments"
GROUP = "fraud-detector"
PARALLELISM = 2
_CHECKPOINT_MS = 500


def start_detector(servers: str, folder: Path) -> JobClient:
    """Start the job; its checkpoints and the notes of its workers go below a folder."""
    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", str(folder / "checkpoints"))
    settings.set_string("restart-strategy.type", "fixed-delay")
    settings.set_string("restart-strategy.fixed-delay.attempts", "1000000")
    settings.set_string("restart-strategy.fixed-delay.delay", "0 s")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(PARALLELISM)
    env.enable_checkpointing(_CHECKPOINT_MS)
    _workers(folder).mkdir()
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(PAYMENTS)
        .set_group_id(GROUP)
        .set_value_only_deserializer(ReadPayment())
        .build()
    )
    payments = env.from_source(source, event_time(), "payments").uid("payments")
    alerts, late = judge(payments)
    results: DataStream = alerts.map(WriteAlert(_workers(folder))).union(late.map(write_late))
    results.sink_to(_sink(servers)).uid("results")
    return env.execute_async("fraud detection on Kafka")


def _sink(servers: str) -> KafkaSink:
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(ToItsTopic())
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix("fraud-detector")
        .build()
    )


class ReadPayment(DeserializationSchema):
    """A payment from JSON."""

    def deserialize(self, message: bytes) -> Payment:
        return Payment(**json.loads(message))

    def get_produced_type(self) -> TypeInformation:
        return Types.PICKLED_BYTE_ARRAY()


class WriteAlert(MapFunction):
    """An alert as JSON; notes the process it runs in, which has the state of these cards."""

    def __init__(self, notes: Path):
        self._notes = notes

    def open(self, runtime_context: RuntimeContext) -> None:
        note = self._notes / str(runtime_context.get_index_of_this_subtask())
        draft = note.with_suffix(".draft")
        draft.write_text(str(os.getpid()), encoding="ascii")
        draft.replace(note)

    def map(self, value: Any) -> tuple[str, str]:
        names = ("card", "time", "amount", "after")
        return ALERTS, json.dumps(dict(zip(names, value, strict=True)))


def write_late(payment: Payment) -> tuple[str, str]:
    """A payment that came too late, as JSON."""
    return LATE, json.dumps(vars(payment))


class ToItsTopic(KafkaRecordSerializationSchema):
    """Records are pairs of a topic and a text."""

    def open(self, subtask: int, count_partitions: Callable[[str], int]) -> None:
        """Nothing to prepare."""

    def to_record(self, value: Any, timestamp: int | None) -> KafkaProducerRecord:
        topic, text = value
        return KafkaProducerRecord(topic, text.encode())


def _workers(folder: Path) -> Path:
    return folder / "workers"


def kill_a_worker(folder: Path) -> int | None:
    """End one of the job's processes as a loss of power would; None: there is none just now."""
    notes = [note for note in _workers(folder).iterdir() if note.suffix != ".draft"]
    random.shuffle(notes)
    for note in notes:
        process = int(note.read_text(encoding="ascii"))
        note.unlink()
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:  # Spark has ended it
            continue
        return process
    return None
