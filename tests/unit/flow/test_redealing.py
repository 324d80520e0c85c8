"""Records in flight, dealt out to another number of slots than those they were sent to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.common import Types, WatermarkStrategy
from headrace.core.keys import SubtaskOfKey
from headrace.core.operator import MAX_TIMESTAMP, Batch
from headrace.datastream import BroadcastProcessFunction, DataStream, StreamExecutionEnvironment
from headrace.datastream.state import MapStateDescriptor
from headrace.errors import Unsupported
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.runtime.driver_items import DriverItems
from headrace.runtime.envelope import MARK, Envelope
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.flow.messages import Alignment, Begin, TaskId
from headrace.runtime.flow.parcels import KEPT, RECORDS, Parcel
from headrace.runtime.flow.redealing import deal_kept, forget_who_read
from headrace.runtime.flow.task import FlowTask
from headrace.spark.savepoints.in_flight import require_same_graph
from headrace.spark.savepoints.metadata import described_operators
from tests.unit.flow.simulation import Kept, Numbers

Build = Callable[[DataStream], Any]


def job(build: Build, parallelism: int = 2) -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    time = WatermarkStrategy.for_monotonous_timestamps()
    numbers = env.from_source(
        Numbers(2, 9, counted=True), time, "numbers", type_info=Types.INT()
    ).uid("numbers")
    build(numbers).uid("last").sink_to(Kept()).uid("sink")
    return plan(env.builder.peek("job", parallelism=parallelism, max_parallelism=8))


def deal(physical: PhysicalPlan, kept: dict[int, list[Any]]) -> list[list[Any]]:
    """What each slot of the first level is given: records' values, and marks as they are."""
    ids = {id: id for id in physical.vertices}
    parcels = {
        slot: [Parcel(RECORDS, 9, KEPT, content=Envelope(items).encode()) for items in contents]
        for slot, contents in kept.items()
    }
    found = []
    for slot in range(physical.parallelism):
        level = FlowingLevel(physical, 1, slot, lambda: 0, tell=DriverItems().add)
        level.time.expect_senders()
        dealt = deal_kept(level, parcels, ids)
        assert all(parcel.was_kept for parcel in dealt)
        items = [item for each in dealt for item in Envelope.decode(each.content).records]
        found.append([
            content if vertex == MARK else content.values for vertex, _, content in items
        ])  # fmt: skip
    return found


def last(physical: PhysicalPlan) -> int:
    return next(vertex.id for vertex in physical.vertices.values() if vertex.uid == "last")


def by_key(numbers: DataStream) -> Any:
    return numbers.key_by(lambda number: number).map(lambda number: number)


class TestRecords:
    @pytest.mark.parametrize("parallelism", [1, 2, 3, 8])
    def test_with_keys_go_to_the_owners_of_these_in_their_order(self, parallelism):
        physical = job(by_key, parallelism)
        id = last(physical)
        batches = [Batch([key + 10 * n for key in range(5)], None, list(range(5))) for n in (0, 1)]
        found = deal(physical, {0: [[(id, 0, batches[0])], [(id, 0, batches[1])]]})
        owner = SubtaskOfKey(parallelism, 8)
        for slot, parts in enumerate(found):
            own = [key for key in range(5) if owner[key] == slot]
            assert [value for part in parts for value in part] == own + [key + 10 for key in own]

    @pytest.mark.parametrize(
        ("way", "slots"),
        [
            (lambda numbers: numbers.rebalance(), 3),
            (lambda numbers: numbers.shuffle(), 3),
            (lambda numbers: numbers.global_(), 1),
            (lambda numbers: numbers.partition_custom(lambda key, n: n - 1, lambda each: each), 1),
        ],
        ids=["rebalance", "shuffle", "global", "custom"],
    )
    def test_without_keys_are_each_dealt_once(self, way, slots):
        physical = job(lambda numbers: way(numbers).map(lambda number: number), 3)
        id = last(physical)
        kept = {slot: [[(id, 0, Batch(list(range(20))))]] for slot in range(4)}
        found = deal(physical, kept)
        values = [value for slot in found for part in slot for value in part]
        assert sorted(values) == sorted([*range(20)] * 4)
        assert sum(map(bool, found)) == slots


class TestTime:
    """Moves on when all records are through, to where all slots would have been."""

    def kept(self, id: int, origin: int) -> dict[int, list[Any]]:
        def mark(channel: str, time: int, heard: int = 0) -> Any:
            return [(MARK, 0, {origin: {channel: (time, heard)}})]

        records = [(id, 0, Batch([1, 2, 3], [40, 41, 42], [1, 2, 3]))]
        return {
            0: [mark("#0:0", 30), mark("#0:1", 20), records, mark("#0:0", 50), records],
            1: [mark("#0:0", 50), mark("#0:1", 20), records, mark("#0:1", 45), records],
        }

    def test_is_that_of_the_slowest_sender(self):
        physical = job(by_key, 3)
        (origin,) = physical.vertices[last(physical)].watermark_origins
        for slot in deal(physical, self.kept(last(physical), origin)):
            *records, time = slot
            assert all(isinstance(each, list) for each in records)
            assert set(time) == {origin}
            assert len(time[origin]) == 3
            assert set(time[origin].values()) == {(45, 0)}

    def test_does_not_wait_for_idle_senders(self):
        physical = job(by_key, 1)
        (origin,) = physical.vertices[last(physical)].watermark_origins
        kept = self.kept(last(physical), origin)
        kept[1].append([(MARK, 0, {origin: {"#0:1": (45, -7)}})])
        (slot,) = deal(physical, kept)
        assert set(slot[-1][origin].values()) == {(50, 0)}

    def test_does_not_end_before_those_who_send_now_have(self):
        physical = job(by_key, 1)
        (origin,) = physical.vertices[last(physical)].watermark_origins
        (slot,) = deal(physical, {0: [[(MARK, 0, {origin: {"#0:0": (MAX_TIMESTAMP, 0)}})]]})
        assert slot == []


class TestOtherReaders:
    """After a restart a source task may read splits that another one has read before."""

    def resumed(self, kept: list[Any]) -> tuple[Any, list[Any]]:
        """What a slot makes of the channels it had heard, 30 and 20, and of what it had kept."""
        physical = job(by_key)
        (origin,) = physical.vertices[last(physical)].watermark_origins
        level = FlowingLevel(physical, 1, 0, lambda: 0, tell=DriverItems().add)
        level.time.expect_senders()
        self.names = list(level.time.heard.reports()[origin])
        said = dict(zip(self.names, [(30, 1), (20, 1)], strict=True))
        level.time.hear({origin: said})
        content = [
            (MARK, 0, {origin: {self.names[each[0]]: (each[1], 1)}})
            if isinstance(each, tuple)
            else (last(physical), 0, Batch(each, [40] * len(each), each))
            for each in kept
        ]
        parcels = [Parcel(RECORDS, 9, KEPT, content=Envelope([item]).encode()) for item in content]
        found = forget_who_read(level, parcels)
        items = [item for each in found for item in Envelope.decode(each.content).records]
        told = [list(content[origin].values()) if vertex == MARK else content.values
                for vertex, _, content in items]  # fmt: skip
        return level.time.heard.reports()[origin], told

    def test_what_one_had_said_says_nothing_of_what_it_reads_now(self):
        heard, told = self.resumed([])
        assert heard == dict.fromkeys(self.names, (20, 0))
        assert told == []

    def test_what_all_had_said_counts_when_what_was_kept_is_through(self):
        heard, told = self.resumed([[1, 2], (0, 50), [3], (1, 35), [4]])
        assert heard == dict.fromkeys(self.names, (20, 0))
        assert told == [[1, 2], [3], [4], [(35, 0), (35, 0)]]


class TestRefused:
    def test_another_graph(self):
        before = described_operators(job(by_key))
        require_same_graph(before, job(by_key, 3))
        with pytest.raises(Unsupported, match="only the same program"):
            require_same_graph(before, job(lambda numbers: by_key(numbers).uid("other").map(str)))

    def test_ways_that_a_record_does_not_tell_apart(self):
        def two_ways(numbers: DataStream) -> Any:
            return numbers.global_().union(numbers.rebalance()).map(lambda number: number)

        physical = job(two_ways)
        with pytest.raises(Unsupported, match="in several ways"):
            require_same_graph(described_operators(physical), physical)


class Ruled(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        yield value


def test_no_barrier_overtakes_what_goes_to_all_slots():
    def with_rules(numbers: DataStream) -> Any:
        rules = numbers.broadcast(MapStateDescriptor("rules", Types.INT(), Types.INT()))
        return numbers.connect(rules).process(Ruled())

    def patience(build: Build) -> float | None:
        physical = job(build)
        level = FlowingLevel(physical, 1, 0, lambda: 0, tell=DriverItems().add)
        begin = Begin(1, 1, alignment=Alignment(overtakes_after=0))
        nobody: Any = None
        task = FlowTask(TaskId(1, 0), level, begin, nobody, DriverItems())
        return task._alignment.overtakes_after

    assert patience(by_key) == 0
    assert patience(with_rules) is None
