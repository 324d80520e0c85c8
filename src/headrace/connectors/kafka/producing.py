"""A producer of Kafka, and what all writers do with it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.connectors.kafka.client import (
    LastError,
    Properties,
    answer_timeout,
    connected_to,
    explain,
    kafka,
    translate,
)
from headrace.connectors.kafka.records import KafkaProducerRecord, KafkaRecordSerializationSchema
from headrace.core.sink import SinkWriter
from headrace.core.user_code import apply_all
from headrace.errors import InvalidArgument, JobFailed

__all__ = ["PlainWriter", "RecordProducer", "TransactionLost"]

_LOG = logging.getLogger("headrace")
_SAY_AFTER_S = 10.0
_LINGER_MS = "5"
_MADE_WITHIN_S = 3.0


class TransactionLost(Exception):
    """A transaction cannot be ended by the producer that has begun it."""


class RecordProducer:
    """Sends records, and notices those that do not arrive."""

    def __init__(self, properties: Properties, transactional_id: str | None = None):
        self.servers = properties.get("bootstrap.servers", "")
        self._heard = LastError()
        self._patience = answer_timeout(properties)
        self._in_transactions = transactional_id is not None
        self._failed: Any = None
        self._known: set[str] = set()
        """Topics that are there: librdkafka would wait long for others."""
        settings: dict[str, Any] = {
            "linger.ms": _LINGER_MS,
            "partitioner": "murmur2_random",  # as Kafka's Java client chooses
            **_keep_order(translate(properties)),
            "delivery.report.only.error": True,
            "on_delivery": self._note,
            "error_cb": self._heard,
        }
        if transactional_id is not None:
            settings["transactional.id"] = transactional_id
        with connected_to(self.servers):
            self.client: Any = kafka().Producer(settings)
        self._produce = self.client.produce
        self._heard.client = self.client

    def count_partitions(self, topic: str) -> int:
        """How many partitions a topic has; one that Kafka makes by itself is waited for."""
        deadline = time.monotonic() + _MADE_WITHIN_S
        while True:
            with connected_to(self.servers, self._heard):
                found = self.client.list_topics(topic, timeout=self._patience).topics[topic]
            if found.error is None:
                return len(found.partitions)
            if found.error.code() == kafka().KafkaError.TOPIC_AUTHORIZATION_FAILED:
                raise explain(found.error, self.servers, self._heard)
            if time.monotonic() > deadline:
                raise InvalidArgument(
                    f"Kafka at {self.servers} has no topic {topic!r}", hint="Create it first."
                )
            time.sleep(0.1)

    def send(self, record: KafkaProducerRecord) -> None:
        """Hand a record over; waits while there are too many that have not arrived."""
        # Each line of this costs a noticeable part of what a record costs.
        topic, value, key, partition, headers, timestamp = record
        if topic not in self._known:
            self.count_partitions(topic)
            self._known.add(topic)
        while True:
            try:
                if partition is not None or headers:
                    self._produce(topic, value, key, **_options(record))
                elif timestamp is not None:
                    self._produce(topic, value, key, timestamp=timestamp)
                else:
                    self._produce(topic, value, key)
                return
            except BufferError:
                self._check()
                with self._noticing_loss():
                    self.client.poll(0.05)
            except Exception as error:
                raise self._explain_loss(error) from None

    def _note(self, error: Any, message: Any) -> None:
        # Nothing may be called here: the client may be about to raise why it goes no further.
        if error is not None and self._failed is None:
            self._failed = error, message

    def _check(self) -> None:
        if self._failed is not None:
            error, message = self._failed
            raise self._undelivered(error, message.topic())

    @contextmanager
    def _noticing_loss(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise self._explain_loss(error) from None

    def _explain_loss(self, error: Exception) -> Exception:
        """What to raise instead of what the client has raised."""
        # Python says SystemError if the client calls somebody while it is about to raise that it
        # has failed for good; what that was may be lost on the way.
        failure = error.__cause__ if isinstance(error, SystemError) else error
        if isinstance(failure, kafka().KafkaException):
            if self._in_transactions and _is_lost(failure.args[0]):
                return TransactionLost(failure.args[0].str())
            return explain(failure.args[0], self.servers, self._heard)
        if self._in_transactions and isinstance(error, SystemError):
            return TransactionLost(str(error))
        return error

    def _undelivered(self, error: Any, topic: str) -> Exception:
        codes = kafka().KafkaError
        if self._in_transactions and _is_lost(error):
            return TransactionLost(error.str())
        if error.code() in (codes.UNKNOWN_TOPIC_OR_PART, codes._UNKNOWN_TOPIC):
            return InvalidArgument(
                f"Kafka at {self.servers} has no topic {topic!r}", hint="Create it first."
            )
        if error.code() == codes._MSG_TIMED_OUT:
            return JobFailed(
                f"records for topic {topic!r} did not arrive at {self.servers} in time",
                hint="Is the broker there? delivery.timeout.ms says how long to wait.",
            )
        return explain(error, self.servers, self._heard)

    def flush(self) -> None:
        """Wait until all records have arrived; says so if that takes long."""
        began = time.monotonic()
        with self._noticing_loss():
            while self.client.flush(1.0):
                self._check()
                if time.monotonic() - began > _SAY_AFTER_S:
                    began = time.monotonic()
                    said = f": {self._heard.texts[-1]}" if self._heard.texts else ""
                    _LOG.warning("waiting for Kafka at %s to take records%s", self.servers, said)
            self._check()


def _keep_order(given: dict[str, Any]) -> dict[str, Any]:
    """Properties of a producer that sends what was lost on the way once more in the same place, and
    not twice; unless others forbid it, as in Kafka's Java client."""

    allowed: dict[str, Callable[[str], bool]] = {
        "acks": lambda value: value in ("all", "-1"),
        "retries": lambda value: value != "0",
        "max.in.flight.requests.per.connection": lambda value: value in ("1", "2", "3", "4", "5"),
    }
    allowed["request.required.acks"] = allowed["acks"]
    allowed["message.send.max.retries"] = allowed["retries"]
    allowed["max.in.flight"] = allowed["max.in.flight.requests.per.connection"]
    if all(allows(str(given[name])) for name, allows in allowed.items() if name in given):
        return {"enable.idempotence": True, **given}
    return given


def _options(record: KafkaProducerRecord) -> dict[str, Any]:
    """How to send a record of which more is known than its topic, key and value."""
    options: dict[str, Any] = {}
    if record.partition is not None:
        options["partition"] = record.partition
    if record.timestamp is not None:
        options["timestamp"] = record.timestamp
    if record.headers:
        options["headers"] = list(record.headers)
    return options


def _is_lost(error: Any) -> bool:
    """Whether an error means that others write under the transactional id, or that Kafka has given
    the transaction up."""
    codes = kafka().KafkaError
    lost = (
        codes._FATAL,
        codes._FENCED,
        codes._STATE,
        codes._PURGE_QUEUE,
        codes._PURGE_INFLIGHT,
        codes.INVALID_PRODUCER_EPOCH,
        codes.INVALID_TXN_STATE,
        codes.PRODUCER_FENCED,
    )
    return bool(error.code() in lost or error.fatal())


class PlainWriter(SinkWriter[Any]):
    """Writes what it is given at once; at least once, it waits at a checkpoint for all of it."""

    def __init__(
        self, producer: RecordProducer, schema: KafkaRecordSerializationSchema, *, waits: bool
    ):
        self._producer = producer
        self._to_records = schema.to_records
        self._waits = waits

    def write(self, value: Any, timestamp: int | None) -> None:
        self.write_all([value], [timestamp])

    def write_all(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        apply_all(self._producer.send, self._to_records(values, timestamps), "write")

    def prepare_commit(self) -> list[Any]:
        if self._waits:
            self._producer.flush()
        else:
            self._producer.client.poll(0)
        return []
