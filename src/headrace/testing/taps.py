"""Listening to a plan's operators: what they emit, to which tag, and which state they ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from headrace.core.isolation import isolated_all
from headrace.core.operator import Batch, Context, Operator
from headrace.core.state import S, StateDescriptor
from headrace.graph.nodes import Graph, SinkNode
from headrace.plan.physical import PhysicalPlan, Vertex

OUTPUT = "testing-output"
SIDE_OUTPUT = "testing-side-output"
_RECORDER_UID = "headrace.testing.recorder"

Stamps = list[int | None] | None


class RecordingSink(Operator):
    """Sends records with their timestamps to the driver."""

    def receive(self, side: int, batch: Batch) -> None:
        self.ctx.to_driver((OUTPUT, (batch.values, batch.timestamps)))


class TappedOperator(Operator):
    """An operator whose side outputs also go to the driver, whether or not anybody reads them."""

    def __init__(self, inner: Operator):
        self.inner = inner
        self.keyed = inner.keyed
        self.makes_watermarks = inner.makes_watermarks
        self.windowed = inner.windowed
        self.timers_in_rounds = inner.timers_in_rounds
        self.fires_together = inner.fires_together
        self.idle_after_ms = inner.idle_after_ms
        self.calls_splits_idle = inner.calls_splits_idle
        self.descriptors: dict[str, StateDescriptor] = {}

    @property
    def participant(self) -> Any:
        return self.inner.participant

    @property
    def checkpointed(self) -> bool:
        return self.inner.checkpointed

    def initialize_state(self, ctx: Context, restored: bool, checkpoint_id: int | None) -> None:
        self.inner.initialize_state(self._tapped(ctx), restored, checkpoint_id)

    def snapshot_state(self, ctx: Context, checkpoint_id: int) -> None:
        self.inner.snapshot_state(ctx, checkpoint_id)

    def checkpoint_completed(self, checkpoint_id: int) -> None:
        self.inner.checkpoint_completed(checkpoint_id)

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self.inner.open(self._tapped(ctx))

    def _tapped(self, ctx: Context) -> Context:
        return cast(Context, _TappedContext(ctx, self.descriptors))

    def receive(self, side: int, batch: Batch) -> None:
        self.inner.receive(side, batch)

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        self.inner.on_timer(domain, timestamp, key)

    def on_timers(self, domain: str, timestamp: int, keys: list[Any]) -> None:
        self.inner.on_timers(domain, timestamp, keys)

    def end_round(self) -> None:
        self.inner.end_round()

    def end_batch(self) -> None:
        self.inner.end_batch()

    def finish(self) -> None:
        self.inner.finish()

    def close(self) -> None:
        self.inner.close()


class _TappedContext:
    """Passes everything on, and takes notes."""

    def __init__(self, ctx: Context, descriptors: dict[str, StateDescriptor]):
        self._ctx = ctx
        self._descriptors = descriptors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def keyed_state(self, descriptor: StateDescriptor[S]) -> S:
        state = self._ctx.keyed_state(descriptor)
        self._descriptors[descriptor.name] = descriptor
        return state

    def emit_side(self, tag: str, values: list[Any], timestamps: Stamps) -> None:
        self._ctx.to_driver((SIDE_OUTPUT, (tag, isolated_all(values), timestamps)))
        self._ctx.emit_side(tag, values, timestamps)


def with_recorder(graph: Graph, node_id: int) -> Graph:
    """The graph with a sink that records the output of a node."""
    sink = SinkNode(
        id=max(graph.nodes) + 1, name="Recorder", inputs=(node_id,), operator=RecordingSink(),
        uid=_RECORDER_UID,
    )  # fmt: skip
    return replace(graph, nodes={**graph.nodes, sink.id: sink})


def tapped(plan: PhysicalPlan) -> PhysicalPlan:
    """The plan with a tap on every operator that is no sink."""
    vertices = {id: _tapped(vertex) for id, vertex in plan.vertices.items()}
    return replace(plan, vertices=vertices)


def _tapped(vertex: Vertex) -> Vertex:
    if vertex.operator is None or vertex.is_sink:
        return vertex
    return replace(vertex, operator=TappedOperator(vertex.operator))
