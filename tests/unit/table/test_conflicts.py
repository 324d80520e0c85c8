"""ON CONFLICT: what happens if several rows of a query claim a key of the sink."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from headrace.connectors.tables.sinks import PrintSink
from headrace.core.table_connector import ChangelogMode
from headrace.errors import HeadraceError, InvalidQuery
from headrace.graph.relations import Insert
from headrace.sql import statements as st
from headrace.sql.parse_statements import parse_statement
from headrace.table import TableEnvironment
from tests.unit.table.in_process import printed_by, table_environment

ROWS = "SELECT * FROM (VALUES (1, 'a'), (1, 'b'), (2, 'c')) T(k, v)"
COUNTS = "SELECT CAST(COUNT(*) AS INT), v FROM (VALUES ('a'), ('b'), ('c'), ('c')) T(v) GROUP BY v"


@dataclass(frozen=True)
class UpsertingSink(PrintSink):
    """Takes updates by its key, whatever comes."""

    def accepts(self, wanted: ChangelogMode) -> ChangelogMode:
        return ChangelogMode(False, True, True, wanted.key)


@pytest.fixture
def env() -> TableEnvironment:
    env = table_environment("micro-batch")
    key = "PRIMARY KEY (k) NOT ENFORCED"
    env.execute_sql(f"CREATE TABLE keyed (k INT, v STRING, {key}) WITH ('connector'='print')")
    env.execute_sql("CREATE TABLE plain (k INT, v STRING) WITH ('connector'='print')")
    env.execute_sql(
        f"CREATE TABLE files (k INT, v STRING, {key}) "
        "WITH ('connector'='filesystem', 'path'='/nowhere', 'format'='json')"
    )
    return env


def insert_of(env: TableEnvironment, text: str, *, upserting: bool = False) -> Insert:
    statement = parse_statement(text)
    assert isinstance(statement, st.Insert)
    insert = env._session.insert(statement)
    if not upserting:
        return insert
    assert isinstance(insert.sink, PrintSink)
    return replace(insert, sink=UpsertingSink(insert.sink.row))


def written(env: TableEnvironment, insert: Insert) -> list[str]:
    execution = env._execution
    execution.lower(execution.optimized(insert))
    return printed_by(env)


@pytest.mark.parametrize(
    ("strategy", "rows"),
    [
        ("NOTHING", ["+I[1, a]", "+I[2, c]"]),
        ("DEDUPLICATE", ["+I[1, b]", "+I[2, c]"]),
    ],
)
def test_rows_that_are_only_added_are_held_to_the_key(
    env: TableEnvironment, strategy: str, rows: list[str]
) -> None:
    text = f"INSERT INTO keyed {ROWS} ON CONFLICT DO {strategy}"
    assert sorted(written(env, insert_of(env, text, upserting=True))) == rows
    counted = written(
        env, insert_of(env, f"INSERT INTO keyed {COUNTS} ON CONFLICT DO {strategy}", upserting=True)
    )
    assert [row.split(",")[0] for row in sorted(counted)] == ["+I[1", "+I[2"]


@pytest.mark.parametrize("query", [ROWS, COUNTS])
def test_an_error_is_raised_if_rows_claim_one_key(env: TableEnvironment, query: str) -> None:
    insert = insert_of(env, f"INSERT INTO keyed {query} ON CONFLICT DO ERROR", upserting=True)
    with pytest.raises(HeadraceError, match="rows have the primary key"):
        written(env, insert)


def test_rows_of_the_key_itself_have_no_conflict(env: TableEnvironment) -> None:
    query = f"SELECT k, MAX(v) FROM ({ROWS}) GROUP BY k"
    insert = insert_of(env, f"INSERT INTO keyed {query} ON CONFLICT DO ERROR", upserting=True)
    assert sorted(written(env, insert)) == ["+I[1, b]", "+I[2, c]"]


@pytest.mark.parametrize("strategy", ["NOTHING", "ERROR", "DEDUPLICATE"])
@pytest.mark.parametrize(
    ("table", "query", "reason"),
    [
        ("files", ROWS, "it only takes rows that are added"),
        ("keyed", ROWS, "it only takes rows that are added"),
        ("keyed", COUNTS, "it takes updates with the row before them"),
        ("plain", ROWS, "it has no primary key"),
        ("plain", COUNTS, "it has no primary key"),
    ],
)
def test_only_upserted_tables_have_conflicts(
    env: TableEnvironment, table: str, query: str, reason: str, strategy: str
) -> None:
    insert = insert_of(env, f"INSERT INTO {table} {query} ON CONFLICT DO {strategy}")
    with pytest.raises(InvalidQuery, match=f"ON CONFLICT is only .*{table} is not, {reason}"):
        written(env, insert)


def test_a_batch_job_pays_no_heed_to_conflicts(env: TableEnvironment) -> None:
    env.get_config().set("execution.runtime-mode", "BATCH")
    insert = insert_of(env, f"INSERT INTO plain {ROWS} ON CONFLICT DO ERROR")
    assert written(env, insert) == ["+I[1, a]", "+I[1, b]", "+I[2, c]"]
