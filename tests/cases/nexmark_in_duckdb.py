"""The Nexmark queries in DuckDB's words: a judge that needs neither Flink nor Java."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb

from bench.nexmark.queries import FOLDER

_TYPES = {"INT": "INTEGER", "STRING": "VARCHAR", "TIMESTAMP(3)": "TIMESTAMP"}
_SESSIONS = """(
    SELECT *, min("dateTime") OVER s AS window_start,
        max("dateTime") OVER s + INTERVAL 10 SECOND AS window_end
    FROM (SELECT *, sum(begins) OVER (PARTITION BY bidder ORDER BY "dateTime") AS number
        FROM (SELECT *, CASE WHEN "dateTime" - lag("dateTime") OVER (
            PARTITION BY bidder ORDER BY "dateTime") <= INTERVAL 10 SECOND THEN 0 ELSE 1 END
            AS begins FROM bid))
    WINDOW s AS (PARTITION BY bidder, number))"""
_TUMBLE = r"""(SELECT *, time_bucket(INTERVAL \2 SECOND, "dateTime") AS window_start,
    time_bucket(INTERVAL \2 SECOND, "dateTime") + INTERVAL \2 SECOND AS window_end FROM \1)"""
_HOP = r"""(SELECT *, window_start + INTERVAL \3 SECOND AS window_end FROM (SELECT *,
    time_bucket(INTERVAL \2 SECOND, "dateTime") - INTERVAL \2 SECOND * back AS window_start
    FROM \1 CROSS JOIN range(\3 // \2) AS r (back)))"""
_BY_TIME = r"TABLE (\w+), DESCRIPTOR\(\"dateTime\"\)"
_SECONDS = r"INTERVAL '(\d+)' SECOND"
_WORDS = {
    r"`": '"',
    rf"TABLE\(TUMBLE\({_BY_TIME}, {_SECONDS}\)\)": _TUMBLE,
    rf"TABLE\(\s*HOP\({_BY_TIME}, {_SECONDS}, {_SECONDS}\)\)": _HOP,
    r"TABLE\(SESSION\(TABLE bid PARTITION BY bidder,.*?SECOND\)\)": _SESSIONS,
    r"DATE_FORMAT\((\S+), 'yyyy-MM-dd'\)": r"strftime(\1, '%Y-%m-%d')",
    r"DATE_FORMAT\((\S+), 'HH:mm'\)": r"strftime(\1, '%H:%M')",
    r"SPLIT_INDEX\(url, '/', (\d)\)": r"string_split(url, '/')[\1 + 1]",
    r"REGEXP_EXTRACT\((url, '[^']*'), 2\)": (
        r"CASE WHEN regexp_matches(\1) THEN regexp_extract(\1, 2) END"
    ),
    r"(?i)\bavg\((\S+?)\)( OVER \(.*?\))?": r"CAST(sum(\1)\2 // count(\1)\2 AS BIGINT)",
    r"(?i)\bsum\(price\) AS": r"CAST(sum(price) AS BIGINT) AS",
}
"""What Flink says, and how DuckDB says it; one after the other."""


def tables(data: Path) -> duckdb.DuckDBPyConnection:
    """A database with the events and the views on them."""
    made = duckdb.connect()
    made.execute("SET TimeZone = 'UTC'")
    definitions = (FOLDER / "tables.sql").read_text(encoding="utf-8").replace("`", '"')
    events, side = re.findall(r"CREATE TABLE \w+ \((.*?)\n\) WITH", definitions, re.DOTALL)
    columns = re.findall(r'"?(\w+)"? (INT|BIGINT|STRING|TIMESTAMP\(3\))[,\n]', events)
    types = ", ".join(f"'{name}': '{_TYPES.get(kind, kind)}'" for name, kind in columns)
    made.execute(f"CREATE TABLE events AS FROM read_csv('{data}/csv/*.csv', columns = {{{types}}})")
    made.execute(
        f"CREATE TABLE side_input AS FROM read_csv('{data}/side_input.csv', "
        "columns = {'key': 'BIGINT', 'value': 'VARCHAR'})"
    )
    assert "key BIGINT" in side
    for view in re.findall(r"CREATE VIEW .*?;", definitions, re.DOTALL):
        made.execute(view)
    return made


def answers(name: str, database: duckdb.DuckDBPyConnection) -> tuple[list[str], list[Any]]:
    """The names of a query's columns, and its rows."""
    script = (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    declared = re.search(r"CREATE TABLE answers \((.*?)\n\) WITH", script, re.DOTALL)
    assert declared is not None
    header = re.findall(r"`?(\w+)`? (?:BIGINT|STRING|TIMESTAMP|DECIMAL)", declared[1])
    query = script.partition("INSERT INTO answers")[2].rstrip().rstrip(";")
    for pattern, words in _WORDS.items():
        query = re.sub(pattern, words, query, flags=re.DOTALL)
    return header, database.execute(query).fetchall()
