"""Runs a query over changelogs in process: after every micro-batch the result must be DuckDB's."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import Any

from headrace.connectors.tables import register_connector
from headrace.core.logical_types import CHARACTERS, LogicalType
from headrace.core.table_connector import APPEND, DELETE, INSERT, UPDATE_BEFORE
from headrace.graph.nodes import SinkNode
from headrace.memory.clock import ManualClock
from headrace.memory.engine import MemoryEngine, MicroBatch
from headrace.memory.inputs import micro_batches
from headrace.operators.sinks import CollectOperator
from headrace.plan.planner import plan
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.table_environment import TableEnvironment
from tests.sql.random_queries import Query, dialect
from tests.sql.random_tables import (
    RandomConnector,
    Reference,
    Row,
    Tables,
    declarations,
)

_CONNECTOR = RandomConnector()


def environment(
    given_tables: Tables, per_record: bool, parallelism: int, batch: bool = False
) -> TableEnvironment:
    register_connector(_CONNECTOR)
    _CONNECTOR.tables.clear()
    _CONNECTOR.tables.update(given_tables)
    env = TableEnvironment.create(
        EnvironmentSettings.in_batch_mode() if batch else EnvironmentSettings.in_streaming_mode()
    )
    env._env.set_parallelism(parallelism)
    env.get_config().set("headrace.table.changes", "record" if per_record else "micro-batch")
    for text in declarations():
        env.execute_sql(text)
    return env


class Run:
    """A job in this process, of which each micro-batch is looked at."""

    def __init__(self, env: TableEnvironment, crash_after: frozenset[int]):
        self.physical = plan(env._env.builder.peek("random", **env._env._graph_settings()))
        self.changes: list[Row] = []
        self.crash_after = crash_after
        self.clock = ManualClock(1_000_000)
        self.engine = MemoryEngine(self.physical, self._take, clock=self.clock)

    def _take(self, batch_id: int, items: list[Any]) -> None:
        for _, _, kind, payload in items:
            if kind == "collect":
                self.changes.extend(payload)

    def batches(self) -> Any:
        """Runs the job; after each micro-batch its number."""
        ids = [vertex.id for vertex in self.physical.sources]
        inputs = [micro_batches(vertex) for vertex in self.physical.sources]
        for number, parts in enumerate(zip_longest(*inputs, fillvalue=[]), 1):
            self.engine.run(MicroBatch(dict(zip(ids, parts, strict=True))))
            yield number
            if number in self.crash_after:
                self.engine = MemoryEngine(
                    self.physical, self._take, clock=self.clock, snapshot=self.engine.snapshot()
                )
        self.engine.run(MicroBatch(final=True))
        self.engine.close()
        yield None


def materialized(changes: list[Row]) -> Counter[Row]:
    rows: Counter[Row] = Counter()
    for kind, *values in changes:
        rows[tuple(values)] += -1 if kind & 1 else 1
    return Counter({row: number for row, number in rows.items() if number})


def materialized_by_key(changes: list[Row]) -> Counter[Row]:
    """What a sink has whose key is the first column."""
    rows: dict[Any, Row] = {}
    for kind, *values in changes:
        if kind == DELETE:
            rows.pop(values[0], None)
        else:
            assert kind != UPDATE_BEFORE
            rows[values[0]] = tuple(values)
    return Counter(rows.values())


def check(
    given_tables: Tables, query: Query, per_record: bool = False, parallelism: int = 1,
    crash_after: frozenset[int] = frozenset(),
) -> None:  # fmt: skip
    """The result after every micro-batch is what DuckDB makes of the tables as they are then."""
    env = environment(given_tables, per_record, parallelism)
    execution = env._execution
    relation = env._session.query_text(dialect(query.text))
    node = execution.lower(execution.optimized(relation))
    env._env.builder.add(SinkNode, "out", (node,), operator=CollectOperator())
    reference = Reference(given_tables)
    run = Run(env, crash_after)
    for number in run.batches():
        assert materialized(run.changes) == reference.rows(query.text, number), number


def check_final(given_tables: Tables, query: Query, parallelism: int = 1) -> None:
    """In BATCH mode each row of the result is told once, whatever the query."""
    env = environment(given_tables, True, parallelism, batch=True)
    execution = env._execution
    relation = env._session.query_text(dialect(query.text))
    node = execution.lower(execution.optimized(relation), APPEND)
    env._env.builder.add(SinkNode, "out", (node,), operator=CollectOperator())
    run = Run(env, frozenset())
    sources = run.physical.sources
    everything = {
        vertex.id: [each for part in micro_batches(vertex) for each in part] for vertex in sources
    }
    run.engine.run(MicroBatch(everything, final=True))
    run.engine.close()
    assert {kind for kind, *_ in run.changes} <= {INSERT}
    assert materialized(run.changes) == Reference(given_tables).rows(query.text, None)


def _declared(type: LogicalType) -> str:
    """The type of a column that takes it: '' is a CHAR(0), which no column can be."""
    return "STRING" if isinstance(type, CHARACTERS) else type.name()


def check_by_key(
    given_tables: Tables, query: Query, per_record: bool = False, parallelism: int = 1,
    crash_after: frozenset[int] = frozenset(),
) -> None:  # fmt: skip
    """The same of a sink with a primary key, to which updates come without the row before."""
    env = environment(given_tables, per_record, parallelism)
    execution = env._execution
    relation = env._session.query_text(dialect(query.text))
    fields = ", ".join(f"{field.name} {_declared(field.type)}" for field in relation.schema)
    env.execute_sql(
        f"CREATE TABLE sink ({fields}, PRIMARY KEY (c0) NOT ENFORCED) WITH ('connector' = 'random')"
    )
    execution.lower(execution.optimized(env._session.written(relation, ("sink",))))
    reference = Reference(given_tables)
    run = Run(env, crash_after)
    for number in run.batches():
        expected = reference.rows(query.text, number)
        assert len({row[0] for row in expected}) == expected.total()
        assert materialized_by_key(run.changes) == expected, number
