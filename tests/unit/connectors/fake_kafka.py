"""Kafka as far as transactions and the offsets of groups go, in memory: what its client would do
is done at once, and what a broker does now and then is done when a test says so."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition


@dataclass(eq=False)
class Transaction:
    """Open until it is committed (True) or aborted (False)."""

    committed: bool | None = None


class FakeKafka:
    """One broker with any topic."""

    def __init__(self) -> None:
        self.log: list[tuple[Transaction, Any]] = []
        self.producers: dict[str, Producer] = {}
        """Who may write under a transactional id."""
        self.offsets: dict[tuple[str, str], TopicPartition] = {}

    def values(self) -> list[str]:
        """What is committed, in the order of the log."""
        return [value.decode() for transaction, value in self.log if transaction.committed]

    def lose(self, transactional_id: str) -> None:
        """Give a transaction up, as after transaction.timeout.ms."""
        producer = self.producers.pop(transactional_id, None)
        if producer is not None and producer.open is not None:
            producer.open.committed = False

    @property
    def open(self) -> list[str]:
        """The transactional ids whose transactions are open."""
        return [id for id, each in self.producers.items() if each.open is not None]


class Producer:
    """What is asked of confluent_kafka.Producer."""

    def __init__(self, kafka: FakeKafka, settings: dict[str, Any]):
        self._kafka = kafka
        self._id = settings["transactional.id"]
        self._offsets: dict[tuple[str, str], TopicPartition] = {}
        self.open: Transaction | None = None

    def init_transactions(self) -> None:
        self._kafka.lose(self._id)
        self._kafka.producers[self._id] = self

    def begin_transaction(self) -> None:
        self.open = Transaction()
        self._offsets = {}

    def _require_own(self) -> None:
        if self._kafka.producers.get(self._id) is not self:
            raise KafkaException(KafkaError(KafkaError._FENCED, "fenced", True))

    def produce(self, topic: str, value: bytes, key: bytes | None = None) -> None:
        self._require_own()
        assert self.open is not None
        self._kafka.log.append((self.open, value))

    def send_offsets_to_transaction(self, offsets: list[TopicPartition], group: str) -> None:
        self._require_own()
        self._offsets.update({(group, each.topic): each for each in offsets})

    def commit_transaction(self) -> None:
        self._end(True)
        self._kafka.offsets.update(self._offsets)

    def abort_transaction(self, timeout: float = 0) -> None:
        self._end(False)

    def _end(self, committed: bool) -> None:
        self._require_own()
        assert self.open is not None
        self.open.committed, self.open = committed, None

    def list_topics(self, topic: str, timeout: float) -> Any:
        return SimpleNamespace(topics={topic: SimpleNamespace(error=None, partitions={0: None})})

    def flush(self, timeout: float) -> int:
        self._require_own()
        return 0

    def poll(self, timeout: float) -> int:
        return 0


class Consumer:
    """What is asked of confluent_kafka.Consumer by who reads and writes a group's offsets."""

    def __init__(self, kafka: FakeKafka, settings: dict[str, Any]):
        self._kafka = kafka
        self._group = settings["group.id"]

    def committed(self, places: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        return [
            self._kafka.offsets.get(
                (self._group, each.topic), TopicPartition(each.topic, each.partition, -1001)
            )
            for each in places
        ]

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> None:
        self._kafka.offsets.update({(self._group, each.topic): each for each in offsets})

    def consumer_group_metadata(self) -> str:
        return str(self._group)

    def poll(self, timeout: float) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def fake_kafka(monkeypatch: pytest.MonkeyPatch) -> FakeKafka:
    """In the place of the servers that confluent_kafka would speak to."""
    made = FakeKafka()
    monkeypatch.setattr(confluent_kafka, "Producer", lambda settings: Producer(made, settings))
    monkeypatch.setattr(confluent_kafka, "Consumer", lambda settings: Consumer(made, settings))
    return made
