"""The result of a streaming query is what DuckDB says of the tables as they are in the end."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.sql import sql_cases

duckdb = pytest.importorskip("duckdb")
FOLDER = Path(__file__).parent / "trees"
QUERIES = (FOLDER / "duckdb_queries.sql").read_text().splitlines()
UPSERTS = (FOLDER / "duckdb_upserts.sql").read_text().splitlines()
"""Whose first column is a key of the result, where it is not NULL."""
SEEDS = (1,)


def _rows(
    dice: random.Random, count: int, *, text: bool, changing: bool, keys: Sequence[int | None]
) -> tuple[Any, Any]:
    """Changes of a table with many NULLs and equal values, and the rows that are left."""
    changes, left = [], []
    for number in range(count):
        if changing and left and dice.random() < 0.25:
            row = left.pop(dice.randrange(len(left)))
            changes.append({"kind": "-D", "row": row})
            continue
        row = [dice.choice(keys), dice.choice([None, 0, 1, 2, 3, 4, 5])]
        row += [f"s{number}"] if text else []
        left.append(row)
        changes.append({"kind": "+I", "row": row})
    return changes, left


def _case(seed: int, changing: bool, keys: Sequence[int | None]) -> tuple[dict[str, Any], Any]:
    dice = random.Random(seed)
    mode = {"options": {"changelog-mode": "I,UB,UA,D"}} if changing else {}
    first, first_left = _rows(dice, 14, text=True, changing=changing, keys=keys)
    second, second_left = _rows(dice, 9, text=False, changing=changing, keys=keys)
    tables = [
        {"name": "t", "schema": ["a INT", "b INT", "s STRING"], "rows": first, **mode},
        {"name": "u", "schema": ["a INT", "c INT"], "rows": second, **mode},
    ]
    connection = duckdb.connect()
    # NULLs are the smallest values.
    connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    connection.execute("CREATE TABLE t (a INT, b INT, s VARCHAR)")
    connection.execute("CREATE TABLE u (a INT, c INT)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", first_left)
    connection.executemany("INSERT INTO u VALUES (?, ?)", second_left)
    return {"id": "", "mode": "streaming", "config": {}, "tables": tables}, connection


def _text(row: tuple[Any, ...]) -> str:
    return f"[{', '.join('null' if value is None else str(value) for value in row)}]"


@pytest.mark.parametrize("per_record", [True, False], ids=["records", "batches"])
@pytest.mark.parametrize("changing", [False, True], ids=["append", "changelog"])
@pytest.mark.parametrize("query", QUERIES)
def test_the_final_result_is_the_same(query: str, changing: bool, per_record: bool) -> None:
    for seed in SEEDS:
        case, connection = _case(seed, changing, (None, 1, 2, 3, 4))
        with connection:
            expected = Counter(map(_text, connection.execute(query).fetchall()))
        changes = sql_cases.lines({**case, "sql": query}, per_record=per_record)
        assert sql_cases.materialized(changes) == expected


@pytest.mark.parametrize("per_record", [True, False], ids=["records", "batches"])
@pytest.mark.parametrize("changing", [False, True], ids=["append", "changelog"])
@pytest.mark.parametrize("query", UPSERTS)
def test_a_sink_by_key_ends_the_same(query: str, changing: bool, per_record: bool) -> None:
    sink = {"name": "sink", "schema": ["k BIGINT", "v BIGINT", "PRIMARY KEY (k) NOT ENFORCED"]}
    for seed in SEEDS:
        case, connection = _case(seed, changing, (1, 2, 3, 4))
        with connection:
            expected = Counter(map(_text, connection.execute(query).fetchall()))
        case |= {"sql": f"INSERT INTO sink {query}", "sink": sink}
        changes = sql_cases.lines(case, per_record=per_record)
        assert sql_cases.materialized(changes, [0]) == expected
