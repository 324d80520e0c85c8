"""What must be in the topics of results, from the payments alone, and what is there.

Nothing of the detector is used: two loops in plain Python come to the same results, or do not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from headrace.cli.demo.kafka_job import ALERTS, LATE, PAYMENTS
from headrace.testing.servers.kafka_topics import Topics

__all__ = ["Proof", "expected_results", "prove"]

Result = tuple[Any, ...]
_TINY, _LARGE, _MINUTE_MS, _OUT_OF_ORDER_MS = 1.0, 500.0, 60_000, 2_000


def expected_results(partitions: Iterable[Iterable[dict[str, Any]]]) -> Counter[Result]:
    """Alerts and late payments for payments as they are in their partitions."""
    found: Counter[Result] = Counter()
    for payments in partitions:
        newest = 0
        tiny: dict[int, int] = {}
        for payment in payments:
            card, at, amount = payment["card"], payment["time"], payment["amount"]
            if at < newest - _OUT_OF_ORDER_MS:
                found[LATE, card, at, amount, payment["city"]] += 1
                continue
            newest = max(newest, at)
            since = tiny.pop(card, None)
            if since is not None and amount > _LARGE and at - since < _MINUTE_MS:
                found[ALERTS, card, at, amount, at - since] += 1
            if amount < _TINY:
                tiny[card] = at
    return found


@dataclass(frozen=True)
class Proof:
    """What should be, what is, and what happened on the way."""

    payments: int
    expected: Counter[Result]
    found: Counter[Result]
    kills: int
    restarts: int

    def lost(self, topic: str) -> int:
        return _count(self.expected - self.found, topic)

    def doubled(self, topic: str) -> int:
        """Also what should not be there even once."""
        return _count(self.found - self.expected, topic)

    @property
    def holds(self) -> bool:
        return self.expected == self.found

    def page(self) -> Table:
        """The counts for the terminal."""
        table = Table("", ALERTS, LATE, title=f"{self.payments:,} payments are in the topic")
        rows = {
            "must be there, counted in plain Python": lambda topic: _count(self.expected, topic),
            "are there, read with read_committed": lambda topic: _count(self.found, topic),
            "lost": self.lost,
            "doubled": self.doubled,
        }
        for name, count in rows.items():
            table.add_row(name, *(str(count(topic)) for topic in (ALERTS, LATE)))
        return table

    def summary(self) -> str:
        lost, doubled = (
            sum(count(topic) for topic in (ALERTS, LATE)) for count in (self.lost, self.doubled)
        )
        return (
            f"workers killed: {self.kills}; recoveries from a checkpoint: {self.restarts}; "
            f"lost: {lost}; doubled: {doubled}"
        )


def _count(results: Counter[Result], topic: str) -> int:
    return sum(count for result, count in results.items() if result[0] == topic)


def prove(topics: Topics, kills: int, restarts: int) -> Proof:
    """Read all topics to their ends, and compare."""
    partitions: dict[int, list[dict[str, Any]]] = {}
    for message in topics.read(PAYMENTS):
        partitions.setdefault(message.partition(), []).append(json.loads(message.value()))
    found = Counter(
        (topic, *json.loads(message.value()).values())
        for topic in (ALERTS, LATE)
        for message in topics.read(topic)
    )
    payments = sum(map(len, partitions.values()))
    return Proof(payments, expected_results(partitions.values()), found, kills, restarts)
