"""Functions with operator state run in slots."""

from __future__ import annotations

import pytest

from headrace.common import WatermarkStrategy
from headrace.core.exchange import Forward
from headrace.datastream import (
    CheckpointedFunction,
    MapFunction,
    RuntimeExecutionMode,
)
from headrace.datastream.connectors import Source
from headrace.errors import Unsupported
from headrace.plan.explain import job_graph_text
from headrace.plan.physical import PhysicalPlan
from tests.unit.plan.test_planner import named, planned


class Keeping(MapFunction, CheckpointedFunction):
    def map(self, value):
        return value

    def initialize_state(self, context):
        pass

    def snapshot_state(self, context):
        pass


def levels(physical: PhysicalPlan) -> dict[str, int]:
    return {vertex.name: vertex.level for vertex in physical.vertices.values()}


def test_two_in_a_row_need_one_exchange(env):
    stream = env.from_collection([1]).map(str).name("plain").map(Keeping()).name("one")
    stream.map(Keeping()).name("two").print()
    physical = planned(env)
    assert levels(physical) == {
        "Source: Collection Source": 0, "plain": 0, "one": 1, "two": 1, "Print to Std. Out": 1,
    }  # fmt: skip
    assert [edge.exchange for edge in named(physical, "plain").edges] == [Forward()]
    assert named(physical, "two").chain == named(physical, "one").id
    assert "sends by forward to 'one'" in job_graph_text(physical)


def test_behind_an_exchange_nothing_changes(env):
    keyed = env.from_collection([1]).key_by(lambda v: v).map(Keeping()).name("keyed")
    keyed.map(Keeping()).name("after").print()
    keyed.rebalance().map(Keeping()).name("spread").print()
    found = levels(planned(env))
    assert (found["keyed"], found["after"], found["spread"]) == (1, 1, 2)


def test_a_union_with_a_slot_is_in_a_slot(env):
    source = env.from_collection([1])
    moved = source.rebalance().map(str).name("moved")
    source.union(moved).map(Keeping()).name("both").print()
    assert levels(planned(env))["both"] == 1


def test_fewer_subtasks_than_before_need_an_exchange(env):
    wide = env.from_collection([1]).rebalance().map(str).name("wide").set_parallelism(4)
    wide.map(str).name("chained").map(Keeping()).name("narrow").print()
    physical = planned(env)
    assert levels(physical)["narrow"] == levels(physical)["chained"] + 1
    assert [edge.exchange for edge in named(physical, "chained").edges] == [Forward()]


def test_batch_mode_keeps_no_state(env):
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.from_collection([1]).map(Keeping()).name("kept").print()
    assert levels(planned(env))["kept"] == 0


def test_uids_stay_the_same(env):
    env.from_collection([1]).map(lambda v: v).name("function").print()
    plain = {vertex.name: vertex.uid for vertex in planned(env).vertices.values()}
    env.from_collection([1]).map(Keeping()).name("function").print()
    assert {vertex.name: vertex.uid for vertex in planned(env).vertices.values()} == plain


class KeepingSource(Source, CheckpointedFunction):
    def create_enumerator(self):
        raise AssertionError

    def create_reader(self):
        raise AssertionError

    def initialize_state(self, context):
        pass

    def snapshot_state(self, context):
        pass


def test_a_source_is_told_that_positions_are_state(env):
    source = env.from_source(KeepingSource(), WatermarkStrategy.no_watermarks(), "numbers")
    source.print()
    with pytest.raises(Unsupported, match="KeepingSource is a CheckpointedFunction") as caught:
        planned(env)
    assert "Positions of splits" in str(caught.value)
