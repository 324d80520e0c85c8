"""Shapes of jobs that are easy to get wrong, run in process."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest

from headrace.common import WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader
from headrace.datastream import (
    CoMapFunction,
    KeyedProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
)
from headrace.errors import InvalidGraph
from headrace.testing import JobHarness, ScriptedSource


class Label(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield ("labelled", value)


class Sides(CoMapFunction):
    def map1(self, value):
        return ("left", value)

    def map2(self, value):
        return ("right", value)


class SeenWatermark(KeyedProcessFunction):
    """Yields each record with the watermark it saw."""

    def process_element(self, value, ctx):
        yield value, ctx.timer_service().current_watermark()


class ItsNumber(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


def monotonous() -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return strategy.with_timestamp_assigner(ItsNumber())


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(2)
    return environment


def test_a_stream_may_meet_its_own_enriched_form(env):
    """Raw records skip the level on which the others were enriched."""
    raw = env.from_collection([1, 2, 3])
    enriched = raw.key_by(lambda v: v).process(Label())
    united = raw.union(enriched).key_by(str).process(Label())
    assert Counter(JobHarness().run(united).values) == Counter(
        [("labelled", v) for v in (1, 2, 3)] + [("labelled", ("labelled", v)) for v in (1, 2, 3)]
    )


def test_streams_of_different_levels_can_be_connected(env):
    raw = env.from_collection([1, 2])
    enriched = raw.key_by(lambda v: v).process(Label())
    assert Counter(JobHarness().run(raw.connect(enriched).map(Sides())).values) == Counter(
        [("left", 1), ("left", 2), ("right", ("labelled", 1)), ("right", ("labelled", 2))]
    )


class TwoSplits(Source):
    """Each micro-batch reads one record of each split; split 'slow' is far behind."""

    def boundedness(self):
        return Boundedness.BOUNDED

    def create_enumerator(self):
        return _Enumerator()

    def create_reader(self):
        return _Reader()


class _Enumerator(SplitEnumerator):
    def splits(self):
        return [Split("fast", 1000), Split("slow", 10)]

    def latest_position(self, split, start):
        return min(start + 1, 3)


class _Reader(SplitReader):
    def read(self, split, start, end):
        return [(split.id, split.info * (number + 1)) for number in range(start, end)]


def test_the_slowest_split_holds_the_watermark(env):
    stream = env.from_source(TwoSplits(), monotonous(), "splits")
    seen = JobHarness().run(stream.key_by(lambda v: v[0]).process(SeenWatermark())).values
    by_record = dict(seen)
    assert by_record["slow", 20] == 9
    assert by_record["slow", 30] == 19


def test_a_source_that_has_ended_holds_nothing_back(env):
    """Rules that are read once must not stop the clock of the stream they rule."""
    ended = env.from_source(ScriptedSource([[("rule", 1)]]), monotonous(), "rules")
    live = env.from_source(
        ScriptedSource([[("live", 10)], [("live", 20)], [("live", 30)]]), monotonous(), "live"
    )
    seen = dict(JobHarness().run(ended.union(live).key_by(str).process(SeenWatermark())).values)
    assert seen["live", 20] == 9
    assert seen["live", 30] == 19


def test_an_assigner_with_fewer_subtasks_than_slots_moves_time(env):
    source = env.from_source(
        ScriptedSource([[("a", 10)], [("a", 20)]]), WatermarkStrategy.no_watermarks(), "script"
    )
    timed = source.rebalance().assign_timestamps_and_watermarks(monotonous()).set_parallelism(1)
    seen = dict(JobHarness().run(timed.key_by(str).process(SeenWatermark())).values)
    assert seen["a", 20] == 9


class CountHere(MapFunction):
    def __init__(self):
        self.count = 0

    def map(self, value):
        self.count += 1
        return self.count


@pytest.mark.parametrize("turned", [False, True])
def test_one_subtask_means_one_whatever_is_united(env, turned):
    one = env.from_collection([1, 2]).map(lambda v: v).set_parallelism(1)
    two = env.from_collection([3, 4]).rebalance().map(lambda v: v)
    both = two.union(one) if turned else one.union(two)
    counted = both.map(CountHere()).set_parallelism(1)
    assert sorted(JobHarness().run(counted).values) == [1, 2, 3, 4]


@dataclass
class Basket:
    items: list


def test_a_reader_may_fill_one_object_again_and_again(env):
    class Refilling(_Reader):
        def read(self, split, start, end):
            record = {"n": 0}
            for number in range(3):
                record["n"] = number
                yield record

    class Source(TwoSplits):
        def create_reader(self):
            return Refilling()

    stream = env.from_source(Source(), WatermarkStrategy.no_watermarks(), "refilling")
    numbers = JobHarness().run(stream.map(lambda record: record["n"])).values
    assert set(numbers) == {0, 1, 2}


def test_an_object_that_is_twice_in_a_collection_is_two_records(env):
    def fill(basket):
        basket.items.append("x")
        return len(basket.items)

    basket = Basket([])
    assert JobHarness().run(env.from_collection([basket] * 3).map(fill)).values == [1, 1, 1]


def test_a_keyed_stream_is_not_an_operator(env):
    keyed = env.from_collection([1]).key_by(lambda v: v)
    with pytest.raises(InvalidGraph, match="a keyed stream has no uid of its own"):
        keyed.uid("x")
