"""Random queries over random changelogs: after every micro-batch the result is DuckDB's."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.sql.random_keyed_queries import keyed_queries
from tests.sql.random_queries import Query, queries
from tests.sql.random_runs import check, check_by_key, check_final
from tests.sql.random_tables import Tables, tables

pytest.importorskip("duckdb")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables(), queries(), st.booleans(), st.integers(1, 3), st.frozensets(st.integers(1, 5)))
def test_results_are_those_of_a_database(
    given_tables: Tables, query: Query, per_record: bool, parallelism: int,
    crash_after: frozenset[int],
) -> None:  # fmt: skip
    note(query.text)
    check(given_tables, query, per_record, parallelism, crash_after)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables(), keyed_queries(), st.booleans(), st.integers(1, 3),
       st.frozensets(st.integers(1, 5)))  # fmt: skip
def test_a_sink_by_key_holds_what_a_database_says(
    given_tables: Tables, query: Query, per_record: bool, parallelism: int,
    crash_after: frozenset[int],
) -> None:  # fmt: skip
    note(query.text)
    check_by_key(given_tables, query, per_record, parallelism, crash_after)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables(append=True), queries() | keyed_queries(), st.integers(1, 3))
def test_results_in_batch_mode_are_told_once(
    given_tables: Tables, query: Query, parallelism: int
) -> None:
    note(query.text)
    check_final(given_tables, query, parallelism)
