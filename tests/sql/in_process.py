"""Runs a query in this process, over rows that are all there, as a program would collect it."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from headrace.core.logical_types import RowType
from headrace.core.rows import Row
from headrace.graph.nodes import SinkNode
from headrace.memory.clock import ManualClock
from headrace.memory.engine import MemoryEngine, MicroBatch
from headrace.memory.inputs import micro_batches
from headrace.operators.sinks import CollectOperator
from headrace.plan.planner import plan
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.results import TableRows
from headrace.table.table_environment import TableEnvironment


def batch_environment() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    env._env.set_parallelism(1)
    return env


def collect(query: str, env: TableEnvironment | None = None) -> list[Row]:
    """The rows of a query, by headrace's own operators."""
    env = env or batch_environment()
    table = env.sql_query(query)
    execution = env._execution
    node = execution.lower(execution.optimized(table.relation), final=True)
    env._env.builder.add(SinkNode, "Collect", (node,), operator=CollectOperator())
    physical = plan(env._env.builder.peek("query", **env._env._graph_settings()))
    changes: list[Any] = []

    def take(_batch: int, items: list[Any]) -> None:
        for _, _, kind, payload in items:
            if kind == "collect":
                changes.extend(payload)

    engine = MemoryEngine(physical, take, clock=ManualClock(1_000_000_000_000))
    ids = [vertex.id for vertex in physical.sources]
    inputs = [
        [[each for part in micro_batches(vertex) for each in part]] for vertex in physical.sources
    ]
    for parts in zip_longest(*inputs, fillvalue=[]):
        engine.run(MicroBatch(dict(zip(ids, parts, strict=True))))
    engine.run(MicroBatch(final=True))
    engine.close()
    return list(TableRows(iter(changes), RowType(table.relation.schema), None))
