"""How long a source task waits before it reads again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.core.source import LiveReader, Source, Split, SplitEnumerator, SplitReader
from headrace.runtime.flow.splits import Splits
from headrace.spark.flow.pacing import Turns

MANY = 1000


class Numbers(Source[int], SplitEnumerator, SplitReader[int]):
    """Has as many numbers as it is told."""

    def __init__(self) -> None:
        self.there = 0

    def create_enumerator(self) -> SplitEnumerator:
        return self

    def create_reader(self) -> SplitReader[int] | LiveReader[int]:
        return self

    def splits(self) -> list[Split]:
        return [Split("all")]

    def latest_position(self, split: Split, start: Any) -> Any:
        return self.there

    def read(self, split: Split, start: Any, end: Any) -> Iterator[int]:
        return iter(range(start, end))

    def close(self) -> None:
        """Nothing is open."""


class Live(LiveReader[int]):
    """Hands over one number at a time, however many there are."""

    def poll(self, split: Split, position: Any) -> tuple[list[int], Any]:
        return [position], position + 1


class LiveNumbers(Numbers):
    def create_reader(self) -> LiveReader[int]:
        return Live()


@pytest.fixture
def numbers() -> Numbers:
    return Numbers()


def turns_of(source: Numbers) -> Turns:
    splits = Splits(source)
    list(splits.assign(((Split("all"), 0),)))
    return Turns(splits)


def test_who_had_much_to_read_reads_on_at_once(numbers: Numbers) -> None:
    turns = turns_of(numbers)
    numbers.there = MANY
    batch = turns.read()
    assert batch is not None
    assert (len(batch), turns.pause) == (MANY, 0)


def test_who_had_little_waits_for_more(numbers: Numbers) -> None:
    turns = turns_of(numbers)
    numbers.there = 3
    assert turns.read() is not None
    assert turns.pause > 0


def test_who_is_handed_little_may_be_handed_more_at_once() -> None:
    turns = turns_of(LiveNumbers())
    assert turns.read() is not None
    assert turns.pause == 0


def test_who_finds_nothing_waits_longer_and_longer_but_not_for_long(numbers: Numbers) -> None:
    turns = turns_of(numbers)
    pauses = []
    for _ in range(1000):
        assert turns.read() is None
        pauses.append(turns.pause)
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1] < 0.05
    numbers.there = 3
    turns.read()
    assert turns.pause == pauses[0]
