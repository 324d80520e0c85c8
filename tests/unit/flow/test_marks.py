"""Watermarks on their way: what they must not overtake."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.common import WatermarkStrategy
from headrace.core.exchange import Hash
from headrace.core.operator import MIN_TIMESTAMP, Batch, Operator
from headrace.core.source import CollectionSpec
from headrace.graph.nodes import Graph, OperatorNode, PartitionNode, SinkNode, SourceNode
from headrace.operators.sinks import CollectOperator
from headrace.operators.timestamps import TimestampsOperator
from headrace.plan.physical import PER_RECORD_WATERMARKS
from headrace.plan.planner import plan
from headrace.runtime.envelope import MARK, Envelope
from headrace.runtime.flow.level import FlowingLevel


class Holding(Operator):
    """Gives its records when a round ends."""

    def __init__(self) -> None:
        self.held: list[Any] = []

    def receive(self, side: int, batch: Batch) -> None:
        self.held += batch.values

    def end_round(self) -> None:
        held, self.held = self.held, []
        self.ctx.emit(held, None)


def test_what_an_operator_holds_back_goes_out_before_a_watermark():
    nodes = [
        SourceNode(id=1, name="source", spec=CollectionSpec(())),
        PartitionNode(id=2, name="key", inputs=(1,), exchange=Hash(lambda v: v)),
        OperatorNode(id=3, name="hold", inputs=(2,), operator=Holding()),
        PartitionNode(id=4, name="key", inputs=(3,), exchange=Hash(lambda v: v)),
        SinkNode(id=5, name="collect", inputs=(4,), operator=CollectOperator()),
    ]
    physical = plan(Graph("job", {node.id: node for node in nodes}, 1, 128, batch=False))
    level = FlowingLevel(physical, 1, 0, lambda: 0, tell=lambda item: None)
    level.open()
    level.time.expect_senders()
    level.initialize(None)
    [hold] = level.tasks
    sent = [
        *level.take_item(hold, 0, Batch(["a"])),
        *level.take_item(MARK, 0, {1: {"#1:0": (7, 1)}}),
        *level.take_item(hold, 0, Batch(["b"])),
        *level.end_round(),
    ]
    items = [item for _, blob in sent for item in Envelope.decode(blob).records]
    assert [content if vertex == MARK else content.values for vertex, _, content in items] == [
        ["a"], {1: {"#0": (7, 1)}}, ["b"],
    ]  # fmt: skip


def test_a_task_without_splits_says_at_once_that_it_holds_nobody_back():
    """Also where watermarks follow each record, of which it will have none."""
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    nodes = [
        SourceNode(id=1, name="source", spec=CollectionSpec(())),
        OperatorNode(id=2, name="time", inputs=(1,), operator=TimestampsOperator(strategy)),
        PartitionNode(id=3, name="key", inputs=(2,), exchange=Hash(lambda v: v)),
        SinkNode(id=4, name="collect", inputs=(3,), operator=CollectOperator()),
    ]
    graph = Graph("job", {node.id: node for node in nodes}, 2, 128, batch=False)
    physical = plan(replace(graph, settings={PER_RECORD_WATERMARKS: True}))
    level = FlowingLevel(physical, 0, 1, lambda: 5, tell=lambda item: None, source=1)
    level.open()
    level.time.awaits_splits = lambda: True
    level.time.know_splits(any_here=False)
    assert not list(level.end_round())
    level.time.awaits_splits = lambda: False
    level.time.know_splits(any_here=False)
    items = [item for _, blob in level.end_round() for item in Envelope.decode(blob).records]
    told = {origin for vertex, _, news in items if vertex == MARK for origin in news}
    assert told == {1, 2}
    assert {vertex for vertex, _, _ in items} == {MARK}
    assert all(
        news[origin] == {"#1:1": (MIN_TIMESTAMP, -5)} for _, _, news in items for origin in news
    )
