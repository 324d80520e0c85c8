"""Joins by intervals of time, as they are written in SQL: every kind with every edge."""

from __future__ import annotations

import pytest

from headrace.common import Row, Types
from headrace.table import Schema, StreamTableEnvironment
from tests.unit.table.in_process import changes_of, stream_environment

TIMES = {"l": (10, 12, 20, 30), "r": (8, 10, 14, 30, 33)}
CONDITIONS = {
    "l.ts = r.ts": (0, 0),
    "l.ts BETWEEN r.ts - INTERVAL '2' SECOND AND r.ts + INTERVAL '2' SECOND": (-2, 2),
    "l.ts > r.ts - INTERVAL '2' SECOND AND l.ts < r.ts + INTERVAL '2' SECOND": (-1, 1),
    "r.ts >= l.ts + INTERVAL '1' SECOND AND r.ts <= l.ts + INTERVAL '4' SECOND": (1, 4),
    "l.ts BETWEEN r.ts AND r.ts": (0, 0),
    "NOT (l.ts < r.ts + INTERVAL '2' SECOND) AND l.ts <= r.ts + INTERVAL '4' SECOND": (-4, -2),
    "l.ts BETWEEN r.ts + INTERVAL '10' SECOND AND r.ts + INTERVAL '5' SECOND": (1, 0),
    "l.ts > r.ts AND l.ts < r.ts": (1, 0),
    "l.ts BETWEEN r.ts - INTERVAL '-5' SECOND AND r.ts": (1, 0),
}
"""With the least and the greatest distance of r.ts from l.ts, in seconds."""


@pytest.fixture
def env() -> StreamTableEnvironment:
    env = stream_environment()
    for name, times in TIMES.items():
        rows = [Row("k", time) for time in times]
        types = Types.ROW_NAMED(["k", "s"], [Types.STRING(), Types.INT()])
        schema = (
            Schema.new_builder().column("k", "STRING").column("s", "INT")
            .column_by_expression("ts", "TO_TIMESTAMP_LTZ(s * 1000, 3)").watermark("ts", "ts")
            .build()
        )  # fmt: skip
        stream = env._env.from_collection(rows, types)
        env.create_temporary_view(name, env.from_data_stream(stream, schema))
    return env


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("kind", ["INNER", "LEFT", "RIGHT", "FULL"])
def test_every_kind_of_join_has_every_interval(env, kind, condition):
    least, greatest = CONDITIONS[condition]
    query = f"SELECT l.s, r.s AS t FROM l {kind} JOIN r ON l.k = r.k AND {condition}"
    left, right = TIMES["l"], TIMES["r"]
    met = [(one, two) for one in left for two in right if least <= two - one <= greatest]
    expected = [f"+I[{one}, {two}]" for one, two in met]
    if kind in ("LEFT", "FULL"):
        expected += [f"+I[{one}, null]" for one in left if one not in [pair[0] for pair in met]]
    if kind in ("RIGHT", "FULL"):
        expected += [f"+I[null, {two}]" for two in right if two not in [pair[1] for pair in met]]
    assert sorted(changes_of(env.sql_query(query))) == sorted(expected)
