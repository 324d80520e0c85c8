"""Topics of a broker as tests see them: made, filled and read to their end.

Needs the package confluent-kafka.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from headrace.connectors.kafka.client import ask_patiently
from headrace.errors import JobFailed

__all__ = ["Topics"]

_PATIENCE_S = 60.0


class Topics:
    """What is in Kafka, seen by another client than the one that is tested."""

    def __init__(self, servers: str):
        self.servers = servers
        self._settings: dict[str, Any] = {"bootstrap.servers": servers, "log_level": "0"}
        self.admin = AdminClient(self._settings)

    def create(self, partitions: int = 1, name: str = "topic") -> str:
        """A new topic with a name that nobody else uses."""
        return self.create_named(f"{name}-{uuid.uuid4().hex[:8]}", partitions)

    def create_named(self, name: str, partitions: int = 1) -> str:
        """A new topic of that name."""
        for done in self.admin.create_topics([NewTopic(name, partitions, 1)]).values():
            done.result()
        self._await_partitions(name, partitions)
        return name

    def _await_partitions(self, topic: str, total: int) -> None:
        """The broker acknowledges a topic before it tells everybody of it."""
        deadline = time.monotonic() + _PATIENCE_S
        while self.partitions(topic) != total:
            if time.monotonic() > deadline:
                raise JobFailed(f"{topic} never had {total} partitions")
            time.sleep(0.02)

    def add_partitions(self, topic: str, total: int) -> None:
        for done in self.admin.create_partitions([NewPartitions(topic, total)]).values():
            done.result()
        self._await_partitions(topic, total)

    def send(self, topic: str, values: Iterable[Any], **options: Any) -> None:
        """Values as text, or as the bytes they are; unless told, to the partitions in turn."""
        producer = Producer(self._settings)
        count = self.partitions(topic)
        for number, value in enumerate(values):
            place = {"partition": number % count, **options}
            encoded = value if value is None or isinstance(value, bytes) else str(value).encode()
            while True:
                try:
                    producer.produce(topic, encoded, **place)
                    break
                except BufferError:
                    producer.poll(1)
        if producer.flush(_PATIENCE_S):
            raise JobFailed(f"not all values arrived in {topic}")

    def transaction(self, topic: str, values: Iterable[Any], *, ends: str = "commit") -> Producer:
        """Values of one transaction that is committed, aborted or left open."""
        producer = Producer({**self._settings, "transactional.id": uuid.uuid4().hex})
        producer.init_transactions()
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, str(value).encode(), partition=0)
        producer.flush()
        if ends == "commit":
            producer.commit_transaction()
        elif ends == "abort":
            producer.abort_transaction()
        return producer

    def partitions(self, topic: str) -> int:
        return len(self.admin.list_topics(topic, timeout=60).topics[topic].partitions)

    def ends(self, topic: str, isolation: str = "read_committed") -> list[int]:
        """The offsets after the last record of each partition; for who reads what is committed,
        before the first open transaction."""
        reader = self._reader(isolation)
        places = [TopicPartition(topic, n, -1) for n in range(self.partitions(topic))]
        found = [each.offset for each in reader.offsets_for_times(places, timeout=60)]
        reader.close()
        return found

    def has_open_transactions(self, topic: str) -> bool:
        return self.ends(topic) != self.ends(topic, "read_uncommitted")

    def read(self, topic: str, isolation: str = "read_committed") -> list[Any]:
        """All messages up to where the topic ends now: it may grow meanwhile, and faster than that
        a reader would ever be told of its end."""
        reader = self._reader(isolation)
        places = [TopicPartition(topic, n, -1) for n in range(self.partitions(topic))]
        known = reader.offsets_for_times(places, timeout=30)
        ends: dict[Any, Any] = {each.partition: each.offset for each in known}
        reader.assign([TopicPartition(topic, n, 0) for n in ends])
        going_on = {n for n, end in ends.items() if end > 0}
        found: list[Any] = []
        deadline = time.monotonic() + _PATIENCE_S
        while going_on:
            if time.monotonic() > deadline:
                raise JobFailed(f"the end of {topic} was never reached")
            for message in reader.consume(10_000, 0.1):
                partition, error = message.partition(), message.error()
                # Behind the last message may be marks of transactions, which nobody is shown.
                is_end = error is not None and error.code() == KafkaError._PARTITION_EOF
                if error is None:
                    deadline = time.monotonic() + _PATIENCE_S
                    at, end = message.offset(), ends[partition]
                    is_end = at >= end - 1
                    if at < end:
                        found.append(message)
                if is_end:
                    going_on.discard(partition)
        reader.close()
        return found

    def values(self, topic: str, isolation: str = "read_committed") -> list[str]:
        return [message.value().decode() for message in self.read(topic, isolation)]

    def group_offsets(self, group: str, topic: str) -> list[int]:
        reader = Consumer({**self._settings, "group.id": group})
        places = [TopicPartition(topic, n) for n in range(self.partitions(topic))]
        known = ask_patiently(lambda: reader.committed(places, timeout=60), _PATIENCE_S)
        found = [each.offset for each in known]
        reader.close()
        return found

    def _reader(self, isolation: str) -> Consumer:
        return Consumer(
            {
                **self._settings,
                "group.id": "tests",
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )
