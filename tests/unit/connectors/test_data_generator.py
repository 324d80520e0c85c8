"""The data generator: counts, rates and positions that survive a restart."""

from __future__ import annotations

import json
import time

import pytest

from headrace.common import Types
from headrace.connectors import data_generator
from headrace.core.source import Boundedness
from headrace.core.user_code import RecordFailure
from headrace.datastream.connectors import DataGeneratorSource
from headrace.errors import InvalidArgument, TypeMismatch


def read(source, split, start, end):
    return list(source.create_reader().read(split, start, end))


def read_all(source):
    enumerator = source.create_enumerator()
    values = []
    for split in enumerator.splits():
        start = enumerator.initial_position(split)
        while (end := enumerator.latest_position(split, start)) != start:
            values += read(source, split, start, end)
            start = end
    return values


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 1_000_000.0

        def time(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(data_generator.time, "time", clock.time)
    return clock


@pytest.mark.parametrize("splits", [1, 3, 8])
def test_a_counted_generator_makes_each_number_once(splits):
    source = DataGeneratorSource(lambda n: n * n, count=5000, splits=splits)
    assert source.boundedness() is Boundedness.BOUNDED
    assert read_all(source) == [n * n for n in range(5000)]


def test_no_records():
    assert read_all(DataGeneratorSource(str, count=0)) == []


def test_type():
    source = DataGeneratorSource(str, count=1, type_info=Types.STRING())
    assert source.produced_type() == Types.STRING()
    assert DataGeneratorSource(str).produced_type() is None


def test_an_endless_generator_shares_the_numbers_among_its_splits():
    source = DataGeneratorSource(lambda n: n, splits=3)
    assert source.boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
    enumerator = source.create_enumerator()
    made = []
    for split in enumerator.splits():
        assert enumerator.latest_position(split, 0) > 0
        made += read(source, split, 0, 4) + read(source, split, 4, 6)
    assert sorted(made) == list(range(18))


def test_a_rate_follows_the_clock(clock):
    source = DataGeneratorSource(lambda n: n, records_per_second=10, splits=2)
    enumerator = source.create_enumerator()
    first, second = enumerator.splits()
    start = enumerator.initial_position(first)
    assert enumerator.latest_position(first, start) == start
    clock.now += 1
    end = enumerator.latest_position(first, start)
    assert read(source, first, start, end) == [0, 2, 4, 6, 8]
    assert read(source, second, start, end) == [1, 3, 5, 7, 9]


def test_a_rate_goes_on_after_a_restart_as_if_nothing_had_happened(clock):
    source = DataGeneratorSource(lambda n: n, records_per_second=10, splits=1)
    enumerator = source.create_enumerator()
    [split] = enumerator.splits()
    start = enumerator.initial_position(split)
    clock.now += 1
    kept = json.loads(json.dumps(enumerator.latest_position(split, start)))
    assert read(source, split, start, kept) == list(range(10))
    clock.now += 3
    end = source.create_enumerator().latest_position(split, kept)
    assert read(source, split, kept, end) == list(range(10, 40))


def test_a_counted_generator_with_a_rate_takes_its_time():
    source = DataGeneratorSource(lambda n: n, count=60, records_per_second=200, splits=1)
    began = time.monotonic()
    assert read_all(source) == list(range(60))
    assert time.monotonic() - began >= 0.28


def test_a_failing_function_names_the_number():
    source = DataGeneratorSource(lambda n: 1 // (n - 3), count=5, splits=1)
    with pytest.raises(RecordFailure) as caught:
        read_all(source)
    assert isinstance(caught.value.error, ZeroDivisionError)
    assert (caught.value.call, caught.value.record) == ("generator_function", 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"count": -1}, "count cannot be negative"),
        ({"splits": 0}, "splits must be above 0"),
        ({"records_per_second": 0}, "records_per_second must be above 0"),
        ({"records_per_second": -2.5}, "records_per_second must be above 0"),
    ],
)
def test_wrong_numbers(settings, message):
    with pytest.raises(InvalidArgument, match=message):
        DataGeneratorSource(str, **settings)


def test_wrong_kinds():
    with pytest.raises(TypeMismatch, match="needs a function"):
        DataGeneratorSource(5)
    with pytest.raises(TypeMismatch, match="count must be a whole number"):
        DataGeneratorSource(str, count=1.5)
