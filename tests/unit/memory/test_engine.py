"""The in-process engine: levels, micro-batches, snapshots."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from headrace.core.exchange import Hash
from headrace.core.operator import Batch
from headrace.core.source import CollectionSpec
from headrace.errors import InvalidArgument, NotSerializable, UserFunctionFailed
from headrace.graph.nodes import Graph, OperatorNode, PartitionNode, SinkNode, SourceNode
from headrace.memory.clock import ManualClock
from headrace.memory.engine import MemoryEngine, MicroBatch
from headrace.operators.reduce import ReduceOperator
from headrace.operators.sinks import CollectOperator
from headrace.operators.stateless import MapOperator
from headrace.plan.planner import plan


def two_levels(reduce=lambda a, b: a + b, parallelism=2, batch=False):
    """source -> map -> key by parity -> reduce -> collect"""
    nodes = [
        SourceNode(id=1, name="source", spec=CollectionSpec(())),
        OperatorNode(id=2, name="double", inputs=(1,), operator=MapOperator(lambda v: v * 2)),
        PartitionNode(id=3, name="key", inputs=(2,), exchange=Hash(lambda v: v % 4)),
        OperatorNode(id=4, name="sum", inputs=(3,), operator=ReduceOperator(reduce), uid="sum"),
        SinkNode(id=5, name="collect", inputs=(4,), operator=CollectOperator()),
    ]
    graph = Graph(
        "job", {node.id: node for node in nodes}, parallelism=parallelism, max_parallelism=128,
        batch=batch,
    )  # fmt: skip
    return plan(graph)


class Collected:
    """Takes what an engine sends to its driver."""

    def __init__(self):
        self.values = []
        self.batches = []

    def __call__(self, batch, items):
        self.batches.append(batch)
        for _, _, kind, payload in items:
            if kind == "collect":
                self.values += payload


def records(physical, *values):
    [source] = physical.sources
    return MicroBatch({source.id: [Batch(list(values))]})


def test_records_pass_all_levels_within_a_micro_batch():
    physical, out = two_levels(), Collected()
    engine = MemoryEngine(physical, out)
    engine.run(records(physical, 1, 2, 3))
    assert sorted(out.values) == [2, 4, 8]
    engine.run(records(physical, 4))
    assert sorted(out.values) == [2, 4, 8, 12]
    assert out.batches == [1, 2]


@pytest.mark.parametrize("compact", [False, True])
def test_a_snapshot_is_all_that_a_new_engine_needs(compact):
    physical, out = two_levels(), Collected()
    engine = MemoryEngine(physical, out)
    for value in (1, 2, 3):
        engine.run(records(physical, value))
    snapshot = engine.snapshot(compact=compact)
    engine.run(records(physical, 100))  # after the snapshot: not part of it
    later = Collected()
    restored = MemoryEngine(two_levels(), later, snapshot=snapshot)
    restored.run(records(physical, 5, 6))
    assert sorted(later.values) == [16, 18]
    assert restored.batches == 4


def test_a_compacted_log_goes_on():
    physical, out = two_levels(), Collected()
    engine = MemoryEngine(physical, out)
    for value in (1, 3):
        engine.run(records(physical, value))
        engine = MemoryEngine(physical, out, snapshot=engine.snapshot(compact=True))
    engine = MemoryEngine(physical, out, snapshot=engine.snapshot())
    engine.run(records(physical, 5))
    assert out.values == [2, 8, 18]


def test_only_final_results_in_batch_mode():
    physical, out = two_levels(batch=True), Collected()
    engine = MemoryEngine(physical, out)
    batch = records(physical, 1, 2, 3)
    batch.final = True
    engine.run(batch)
    assert sorted(out.values) == [4, 8]


def test_nothing_follows_the_end_of_all_input():
    physical, out = two_levels(), Collected()
    engine = MemoryEngine(physical, out)
    engine.run(MicroBatch(final=True))
    engine.run(MicroBatch(final=True))
    assert out.batches == [1]
    with pytest.raises(InvalidArgument, match="after the end of all input"):
        engine.run(records(physical, 1))


def test_a_restored_engine_goes_on_at_the_time_of_the_snapshot():
    engine = MemoryEngine(two_levels(), Collected(), clock=ManualClock(500))
    assert MemoryEngine(two_levels(), Collected(), snapshot=engine.snapshot()).clock() == 500


def test_time_does_not_go_back():
    clock = ManualClock(10)
    with pytest.raises(InvalidArgument, match="cannot go back from 10 to 9"):
        clock.advance_to(9)


def test_a_failure_names_operator_key_and_record():
    physical = two_levels(reduce=lambda a, b: 1 // 0)
    engine = MemoryEngine(physical, Collected())
    with pytest.raises(UserFunctionFailed) as failure:
        engine.run(records(physical, 1, 3))
    message = str(failure.value)
    for part in ("ZeroDivisionError", "operator 'sum'", "key:    2", "record: 6"):
        assert part in message


def test_a_function_that_cannot_travel_is_refused():
    lock = threading.Lock()
    with pytest.raises(NotSerializable, match="function of 'sum'"):
        MemoryEngine(two_levels(reduce=lambda a, b: lock), Collected())


def test_no_spark_is_needed():
    """The engine must be usable where PySpark cannot even be imported."""
    hidden = "import sys; sys.modules['pyspark'] = None"
    code = f"{hidden}; import headrace.memory.engine, headrace.memory.inputs"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_snapshot_is_as_large_as_the_state_not_as_the_stream(monkeypatch):
    monkeypatch.setattr("headrace.runtime.flow.snapshots._MOST_FILES", 8)
    physical, out = two_levels(), Collected()
    engine = MemoryEngine(physical, out)
    sizes = []
    for number in range(200):
        engine.run(records(physical, number))
        sizes.append(len(engine.snapshot()))
    assert max(sizes) < 20_000
    again = MemoryEngine(physical, out, snapshot=engine.snapshot())
    again.run(records(physical, 1000))
    assert out.values[-1] == 2 * (sum(range(0, 200, 2)) + 1000)
