"""Runs tables in process and gives their changes as text."""

from __future__ import annotations

from headrace.connectors.tables.sinks import PrintRows
from headrace.core.logical_types import RowType
from headrace.graph.nodes import SinkNode
from headrace.table import EnvironmentSettings, StreamTableEnvironment, Table, TableEnvironment
from headrace.testing import JobHarness


def table_environment(changes: str = "record") -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    return _prepared(env, changes)


def stream_environment(changes: str = "record") -> StreamTableEnvironment:
    env = StreamTableEnvironment.create()
    _prepared(env, changes)
    return env


def _prepared(env: TableEnvironment, changes: str) -> TableEnvironment:
    env._env.set_parallelism(1)
    env._env.get_config().set_auto_watermark_interval(0)
    env.get_config().set("headrace.table.changes", changes)
    return env


def changes_of(table: Table) -> list[str]:
    """The changes of a query, in the order they come."""
    env = table._t_env
    execution = env._execution
    node = execution.lower(execution.optimized(table.relation))
    rows = PrintRows(RowType(table.relation.schema), None, False)
    env._env.builder.add(SinkNode, "out", (node,), operator=rows)
    return printed_by(env)


def printed_by(env: TableEnvironment) -> list[str]:
    """What the pending job prints."""
    try:
        return list(JobHarness(tick=1).run(env._env).printed)
    finally:
        env._env.builder._pending.clear()
