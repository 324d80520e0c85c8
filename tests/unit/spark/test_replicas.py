"""A worker's copy of a slot that is behind, when functions keep state in their own fields."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.operator import Batch
from headrace.datastream import CheckpointedFunction, ProcessFunction, StreamExecutionEnvironment
from headrace.datastream.state import ListStateDescriptor
from headrace.plan.planner import plan
from headrace.runtime.envelope import Envelope
from headrace.spark import processor
from headrace.spark.processor import SlotProcessor
from headrace.spark.shipment import pack


class Entries:
    """Spark's map state, as a dictionary that a batch changes only when it succeeds."""

    def __init__(self, entries: dict[Any, Any]):
        self._entries = entries

    def getValue(self, key: Any) -> Any:
        return self._entries.get(key)

    def updateValue(self, key: Any, value: Any) -> None:
        self._entries[key] = value

    def removeKey(self, key: Any) -> None:
        self._entries.pop(key, None)

    def containsKey(self, key: Any) -> bool:
        return key in self._entries

    def exists(self) -> bool:
        return bool(self._entries)


class Handle:
    def __init__(self, entries: dict[Any, Any]):
        self._entries = entries

    def getMapState(self, *_: Any) -> Entries:
        return Entries(self._entries)


class Count(ProcessFunction, CheckpointedFunction):
    def initialize_state(self, context):
        store = context.get_operator_state_store()
        self.kept = store.get_list_state(ListStateDescriptor("count"))
        self.count = sum(self.kept.get())
        self.start = (context.is_restored(), context.get_restored_checkpoint_id())

    def snapshot_state(self, context):
        self.kept.update([self.count])

    def process_element(self, value, ctx):
        self.count += 1
        yield self.count, self.start


class Cluster:
    """Runs the one slot of a job, each batch in the worker it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(1)
        env.from_collection([]).process(Count()).uid("count").print()
        physical = plan(env.builder.take("job", **env._graph_settings()))
        self._count = next(v.id for v in physical.vertices.values() if v.uid == "count")
        self._shipment = pack(physical, "run")
        self._stored: dict[Any, Any] = {}
        self._replicas: dict[str, dict[Any, Any]] = {}
        self._monkeypatch = monkeypatch

    def run(self, batch: int, worker: str, *, committed: bool = True) -> list[str]:
        self._monkeypatch.setattr(processor, "batch_id", lambda: batch)
        replicas = self._replicas.setdefault(worker, {})
        self._monkeypatch.setattr(processor, "_REPLICAS", replicas)
        entries = dict(self._stored)
        slot = SlotProcessor(self._shipment, 1, (0,))
        slot.init(Handle(entries))
        blob = Envelope([(self._count, 0, Batch(["a", "b"]))]).encode()
        rows = list(slot._run(0, [blob]))
        if committed:
            self._stored = entries
        items = [item for row in rows for item in Envelope.decode(row.blob).driver]
        return [line for _, _, kind, lines in items if kind == "print" for line in lines]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(monkeypatch)


def test_a_copy_that_is_current_goes_on(cluster):
    assert cluster.run(0, "A") == ["(1, (False, None))", "(2, (False, None))"]
    assert cluster.run(1, "A") == ["(3, (False, None))", "(4, (False, None))"]


def test_a_copy_that_is_behind_is_replaced(cluster):
    cluster.run(0, "A")
    assert cluster.run(1, "B") == ["(3, (True, 0))", "(4, (True, 0))"]
    assert cluster.run(2, "A") == ["(5, (True, 1))", "(6, (True, 1))"]
    assert cluster.run(3, "A") == ["(7, (True, 1))", "(8, (True, 1))"]


def test_a_copy_of_a_batch_that_came_to_nothing_is_replaced(cluster):
    cluster.run(0, "A")
    cluster.run(1, "A", committed=False)
    assert cluster.run(1, "A") == ["(3, (True, 0))", "(4, (True, 0))"]
