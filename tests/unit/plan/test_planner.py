"""From the user's graph to levels."""

from __future__ import annotations

import pytest

from headrace.datastream import OutputTag, RuntimeExecutionMode, StreamExecutionEnvironment
from headrace.errors import InvalidGraph
from headrace.operators.reduce import ReduceOperator
from headrace.plan.explain import job_graph_text
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.plan.planner import logical_plan, plan


def planned(env: StreamExecutionEnvironment) -> PhysicalPlan:
    return plan(env.builder.take("job", **env._graph_settings()))


def named(physical: PhysicalPlan, name: str) -> Vertex:
    return next(vertex for vertex in physical.vertices.values() if vertex.name == name)


def test_levels_are_cut_at_exchanges_and_chains_run_within(env):
    words = env.from_collection(["a"]).map(str).name("first")
    counted = words.key_by(lambda w: w).reduce(lambda a, b: a).name("reduce")
    counted.map(str).name("after").rebalance().map(str).name("spread").print()
    physical = planned(env)
    levels = {vertex.name: vertex.level for vertex in physical.vertices.values()}
    assert levels == {
        "Source: Collection Source": 0, "first": 0, "reduce": 1, "after": 1, "spread": 2,
        "Print to Std. Out": 2,
    }  # fmt: skip
    assert named(physical, "after").chain == named(physical, "reduce").id
    assert "reduce -> after" in job_graph_text(physical)


def test_virtual_nodes_leave_only_edges(env):
    tag = OutputTag("side")
    split = env.from_collection([1]).map(lambda v: v).name("split")
    split.union(split.get_side_output(tag)).map(str).name("join").print()
    physical = planned(env)
    edges = named(physical, "split").edges
    assert [(edge.tag, edge.exchange) for edge in edges] == [(None, None), ("side", None)]


def test_generated_uids_depend_on_the_shape_alone(env):
    def uids(extra: bool) -> dict[str, str]:
        other = StreamExecutionEnvironment.get_execution_environment()
        source = other.from_collection([1])
        source.map(str).name("kept").print()
        if extra:
            source.filter(bool).name("added").print()
        physical = planned(other)
        return {vertex.name: vertex.uid for vertex in physical.vertices.values()}

    assert uids(False)["kept"] == uids(True)["kept"]


def test_twins_have_different_uids(env):
    source = env.from_collection([1])
    source.map(str).print()
    source.map(str).print()
    found = [vertex.uid for vertex in planned(env).vertices.values()]
    assert len(set(found)) == len(found)


def test_a_uid_used_twice_is_refused(env):
    source = env.from_collection([1]).map(str).uid("same")
    source.map(str).uid("same").print()
    with pytest.raises(InvalidGraph, match="the uid 'same' is used by both"):
        planned(env)


def test_parallelism_is_settled_and_bounded(env):
    env.set_max_parallelism(4)
    env.from_collection([1]).map(str).name("wide").set_parallelism(5).print()
    with pytest.raises(InvalidGraph, match="parallelism 5 but max parallelism 4"):
        planned(env)


def test_an_operator_with_its_own_parallelism_gets_an_exchange(env):
    env.from_collection([1]).map(str).name("alone").set_parallelism(2).print()
    physical = planned(env)
    assert named(physical, "alone").level == 1


def test_batch_mode_reduces_to_final_results(env):
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.from_collection([1]).key_by(lambda v: v).reduce(lambda a, b: a).name("reduce").print()
    operator = named(planned(env), "reduce").operator
    assert isinstance(operator, ReduceOperator)
    assert operator.only_final


def test_planning_changes_nothing_the_user_named(env):
    env.from_collection([1]).map(str).name("mine").uid("my-uid").print()
    graph = logical_plan(env.builder.take("job", **env._graph_settings()))
    mine = next(node for node in graph if node.name == "mine")
    assert mine.uid == "my-uid"
    assert mine.origin is not None
    assert mine.origin.file == __file__
