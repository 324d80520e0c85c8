"""Late rows of window joins and temporal joins; what comes of them was found on Flink."""

from __future__ import annotations

import pytest

from headrace.common import Row, Types
from headrace.table import Schema, StreamTableEnvironment
from tests.unit.table.in_process import changes_of, stream_environment

ARRIVING = (
    ("L", 1, "l1", 1),
    ("R", 1, "r1", 5),
    ("L", 1, "at the end", 10),  # the watermark is at the end of the first window
    ("R", 1, "late", 9),
    ("L", 1, "late too", 3),
    ("R", 1, "in time", 12),
    ("L", 2, "alone", 13),
    ("L", 1, "much later", 31),
    ("R", 2, "late for alone", 14),
)
CHANGING = (
    ("R", 1, "r05", 5),
    ("L", 1, "before all", 6),
    ("R", 1, "r10", 10),
    ("L", 1, "late", 7),
    ("R", 1, "late version", 8),
    ("L", 1, "on time", 10),
    ("L", 1, "later", 12),
    ("R", 1, "r15", 15),
    ("L", 1, "much later", 30),
    ("R", 1, "too late", 20),
    ("L", 1, "last", 40),
)
TUMBLE = "TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
SAME = "a.id = b.id AND a.window_start = b.window_start AND a.window_end = b.window_end"
JOINED = ["+I[at the end, in time]", "+I[l1, r1]"]
ALONE = ["+I[alone, null]", "+I[much later, null]"]


def rows_by_side(rows: tuple[tuple[str, int, str, int], ...]) -> StreamTableEnvironment:
    """One stream with a watermark after each row; both sides are views of it."""
    env = stream_environment()
    names = ["side", "id", "name", "s"]
    types = Types.ROW_NAMED(names, [Types.STRING(), Types.INT(), Types.STRING(), Types.INT()])
    schema = Schema.new_builder().column("side", "STRING").column("id", "INT")
    schema = schema.column("name", "STRING").column("s", "INT")
    schema = schema.column_by_expression("ts", "TO_TIMESTAMP_LTZ(s * 1000, 3)")
    stream = env._env.from_collection([Row(*row) for row in rows], types)
    table = env.from_data_stream(stream, schema.watermark("ts", "ts").build())
    env.create_temporary_view("both_sides", table)
    for view, side in (("l", "L"), ("r", "R")):
        text = f"SELECT id, name, ts FROM both_sides WHERE side = '{side}'"
        env.execute_sql(f"CREATE TEMPORARY VIEW {view} AS {text}")
    return env


@pytest.mark.parametrize("kind", ["INNER", "LEFT", "RIGHT", "FULL"])
def test_rows_of_windows_that_are_over_are_not_joined(kind: str) -> None:
    env = rows_by_side(ARRIVING)
    query = (
        f"SELECT a.name, b.name AS other FROM {TUMBLE.format('l')} a"
        f" {kind} JOIN {TUMBLE.format('r')} b ON {SAME}"
    )
    alone = ALONE if kind in ("LEFT", "FULL") else []
    assert sorted(changes_of(env.sql_query(query))) == sorted(JOINED + alone)


@pytest.mark.parametrize("kind", ["", "LEFT"])
def test_versions_are_forgotten_when_no_row_can_need_them_and_late_ones_are_for_later_rows(
    kind: str,
) -> None:
    env = rows_by_side(CHANGING)
    env.execute_sql(
        "CREATE TEMPORARY VIEW versions AS SELECT id, name, ts FROM (SELECT *, ROW_NUMBER() OVER"
        " (PARTITION BY id ORDER BY ts DESC) AS n FROM r) WHERE n = 1"
    )
    query = (
        f"SELECT l.name, v.name AS version FROM l {kind} JOIN versions"
        " FOR SYSTEM_TIME AS OF l.ts AS v ON l.id = v.id"
    )
    wanted = {
        "before all": "r05",
        **({"late": "null"} if kind else {}),
        "on time": "r10",
        "later": "r10",
        "much later": "r15",
        "last": "too late",
    }
    found = sorted(changes_of(env.sql_query(query)))
    assert found == sorted(f"+I[{name}, {version}]" for name, version in wanted.items())
