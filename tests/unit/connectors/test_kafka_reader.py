"""What a reader of Kafka does with what it is given; the client is a list of records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from headrace.connectors.kafka import reader as module
from headrace.connectors.kafka.offsets import KafkaOffsetsInitializer
from headrace.connectors.kafka.partitions import Subscription
from headrace.connectors.kafka.reader import DecodeValues, PartitionReader
from headrace.core.source import Split

HELD = 100
AT_ONCE = 30


@dataclass
class Message:
    number: int
    place: int

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return self.place

    def offset(self) -> int:
        return self.number

    def value(self) -> bytes:
        return b"%d" % self.number

    def timestamp(self) -> tuple[int, int]:
        return 1, self.number

    def error(self) -> None:
        return None


@dataclass
class Client:
    """Hands out the records of partitions that are not paused, in turns."""

    size: int
    left: dict[int, int] = field(default_factory=dict)
    paused: set[int] = field(default_factory=set)

    def incremental_assign(self, places: list[Any]) -> None:
        self.left |= {place.partition: place.offset for place in places}

    def incremental_unassign(self, places: list[Any]) -> None:
        for place in places:
            del self.left[place.partition]

    def pause(self, places: list[Any]) -> None:
        self.paused |= {place.partition for place in places}

    def resume(self, places: list[Any]) -> None:
        self.paused -= {place.partition for place in places}

    def consume(self, most: int, patience: float) -> list[Message]:
        found: list[Message] = []
        for place, at in self.left.items():
            if place not in self.paused:
                upto = min(at + most // 2, self.size)
                found += [Message(number, place) for number in range(at, upto)]
                self.left[place] = upto
        return found

    def poll(self, patience: float) -> Message | None:
        for place, at in self.left.items():
            if place not in self.paused and at < self.size:
                self.left[place] = at + 1
                return Message(at, place)
        return None

    def close(self) -> None: ...


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> PartitionReader:
    monkeypatch.setattr(module, "_HELD_AT_MOST", HELD)
    monkeypatch.setattr(module, "_AT_ONCE", AT_ONCE)
    subscription = Subscription(
        {"bootstrap.servers": "nowhere:1"},
        ("t",),
        None,
        (),
        KafkaOffsetsInitializer.earliest(),
        None,
        True,
    )
    made = PartitionReader(subscription, DecodeValues(int))
    made._client = Client(10 * HELD)
    return made


def split(partition: int) -> Split:
    return Split(f"t-{partition}", {"topic": "t", "partition": partition, "stop": None})


def test_a_partition_that_waited_too_long_is_fetched_again(reader: PartitionReader) -> None:
    """While a range of one is read, the other comes, too, until there is too much of it."""
    ranges = [reader.read(split(place), 0, 10 * HELD) for place in (0, 1)]
    assert next(iter(ranges[1])) == 0  # both are assigned
    assert list(ranges[0]) == list(range(10 * HELD))
    assert list(ranges[1]) == list(range(1, 10 * HELD))
