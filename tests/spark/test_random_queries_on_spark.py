"""Random queries on Spark, native and on key groups: the results are DuckDB's."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from headrace.graph.nodes import SinkNode
from headrace.operators.sinks import CollectOperator
from tests.sql.random_queries import Query, dialect, queries
from tests.sql.random_runs import environment, materialized
from tests.sql.random_tables import Reference, Row, Tables, tables
from tests.taken import Taken

pytest.importorskip("duckdb")
pytestmark = pytest.mark.slow


def examples(strategy: st.SearchStrategy[Any], number: int, start: int) -> list[Any]:
    """Some values of a strategy; a job on Spark is too dear to be run for each."""
    found: list[Any] = []

    @seed(start)
    @settings(max_examples=number, phases=[Phase.generate], database=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(strategy)
    def draw(value: Any) -> None:
        found.append(value)

    draw()
    return found


def wrong(query: Query, reference: Reference, got: Counter[Row]) -> list[str]:
    expected = reference.rows(query.text)
    return [] if got == expected else [f"{query.text}\n  is {expected}\n  not {got}"]


def natively(given_tables: Tables, chosen: list[Query]) -> list[str]:
    env = environment(given_tables, per_record=False, parallelism=2)
    execution, reference, found = env._execution, Reference(given_tables), list[str]()
    for query in chosen:
        relation = env._session.query_text(dialect(query.text))
        execution.frames().frame(execution.optimized(relation))
        changes = Taken()
        client = execution.collect(relation, changes, "random")
        client.get_job_execution_result().result()
        found += wrong(query, reference, materialized(changes))
    return found


def streamed(given_tables: Tables, chosen: list[Query], per_record: bool) -> list[str]:
    """All queries as one job."""
    env = environment(given_tables, per_record, parallelism=2)
    execution = env._execution
    changes = [Taken() for _ in chosen]
    takers = {}
    for query, rows in zip(chosen, changes, strict=True):
        relation = env._session.query_text(dialect(query.text))
        node = execution.lower(execution.optimized(relation))
        sink = env._env.builder.add(SinkNode, "out", (node,), operator=CollectOperator())
        takers[sink] = rows
    env._env.launch("random", takers).get_job_execution_result().result()
    reference = Reference(given_tables)
    pairs = zip(chosen, changes, strict=True)
    return [text for query, rows in pairs for text in wrong(query, reference, materialized(rows))]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("start", [1])
def test_native(start: int) -> None:
    given_tables = examples(tables(append=True), 8, start)[-1]
    assert not natively(given_tables, examples(queries(), 40, start))


@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize("per_record", [False, True], ids=["batches", "records"])
def test_as_a_stream(per_record: bool) -> None:
    found = examples(tables(), 20, 1)
    given_tables = next(each for each in reversed(found) if Reference(each).batches <= 4)
    assert not streamed(given_tables, examples(queries(2), 6, 2 + per_record), per_record)
