"""The uids of a query's operators follow from the query, so that state is never misread."""

from __future__ import annotations

import logging

import pytest

from headrace.jobs.stateful_uids import warn_of_missing_uids
from headrace.plan.physical import PhysicalPlan
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.table.udf import udf


def planned(query: str) -> PhysicalPlan:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.create_temporary_function("twice", udf(lambda n: 2 * n, result_type="INT"))
    env.execute_sql("CREATE TABLE t (k STRING, v INT) WITH ('connector' = 'datagen')")
    return env._execution.planned([env._execution.optimized(env.sql_query(query).relation)])


def uids(query: str) -> dict[str, str]:
    return {vertex.name: vertex.uid for vertex in planned(query).vertices.values()}


def test_the_same_query_has_the_same_uids() -> None:
    query = "SELECT k, SUM(twice(v)) FROM t GROUP BY k"
    assert uids(query) == uids(query)


def test_another_aggregate_is_another_operator_on_the_same_source() -> None:
    sums = uids("SELECT k, SUM(v) FROM t GROUP BY k")
    greatest = uids("SELECT k, MAX(v) FROM t GROUP BY k")
    (source,) = [name for name in sums if name.startswith("Source")]
    assert sums[source] == greatest[source]
    assert sums["GroupAggregate"] != greatest["GroupAggregate"]


def test_another_column_type_is_another_operator() -> None:
    narrow = uids("SELECT k, MAX(v) FROM t GROUP BY k")
    wide = uids("SELECT k, MAX(CAST(v AS BIGINT)) FROM t GROUP BY k")
    assert narrow["GroupAggregate"] != wide["GroupAggregate"]


def test_what_comes_after_an_operator_does_not_rename_it() -> None:
    plain = uids("SELECT k, MAX(v) AS m FROM t GROUP BY k")
    filtered = uids("SELECT k, m + 1 FROM (SELECT k, MAX(v) AS m FROM t GROUP BY k) WHERE m > 3")
    assert plain["GroupAggregate"] == filtered["GroupAggregate"]


def test_no_uid_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        warn_of_missing_uids(planned("SELECT k, MAX(v) FROM t GROUP BY k"))
    assert caplog.messages == []
