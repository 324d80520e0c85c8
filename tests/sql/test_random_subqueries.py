"""Random subqueries in subqueries, which use columns of any query around them: the results are
DuckDB's."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tests.conftest import PERCENT_OF_EXAMPLES
from tests.sql import sql_cases

duckdb = pytest.importorskip("duckdb")
COLUMNS = {"t": ("a", "b"), "u": ("a", "c")}
Names = list[str]


class Writer:
    """Writes conditions on rows whose columns, and those of the rows around, have these names."""

    def __init__(self, dice: random.Random):
        self._dice = dice
        self._tables = 0

    def _table(self) -> tuple[str, Names]:
        self._tables += 1
        name, alias = self._dice.choice(("t", "u")), f"x{self._tables}"
        return f"{name} AS {alias}", [f"{alias}.{column}" for column in COLUMNS[name]]

    def _condition(self, own: Names, outer: Names, depth: int) -> str:
        choose, chance = self._dice.choice, self._dice.random()
        if depth and chance < 0.45:
            return self.subquery([*own, *outer], depth)
        if chance < 0.85:
            sign = choose(("=", "=", "=", "<", "<>", "IS NOT DISTINCT FROM"))
            return f"{choose(own)} {sign} {choose(outer)}"
        return f"{choose(own)} {choose(('>', '<>', '<'))} {choose(range(5))}"

    def subquery(self, around: Names, depth: int) -> str:
        choose = self._dice.choice
        table, own = self._table()
        if self._dice.random() < 0.2:
            other, more = self._table()
            kind = choose(("JOIN", "LEFT JOIN"))
            table += f" {kind} {other} ON {choose(more)} = {choose([*own, *around])}"
        conditions = [self._condition(own, around, depth - 1) for _ in range(choose((1, 2)))]
        rows, value = f"FROM {table} WHERE {' AND '.join(conditions)}", choose(around)
        forms = [
            f"EXISTS (SELECT 1 {rows})",
            f"NOT EXISTS (SELECT 1 {rows})",
            f"{value} IN (SELECT {choose(own)} {rows})",
            f"{value} NOT IN (SELECT {choose(own)} {rows})",
            f"{value} {choose(('<', '=', '>='))} (SELECT MAX({choose(own)}) {rows})",
            f"{choose(range(3))} >= (SELECT COUNT(*) {rows} AND {choose(own)} = {value})",
        ]
        return choose(forms)


def query(dice: random.Random) -> str:
    condition = Writer(dice).subquery(["t.a", "t.b"], dice.choice((1, 2, 2, 3)))
    if dice.random() < 0.7:
        return f"SELECT s FROM t WHERE {condition}"
    return f"SELECT s, CASE WHEN {condition} THEN 1 ELSE 0 END FROM t"


def rows(dice: random.Random, count: int) -> list[list[Any]]:
    values = (None, 0, 1, 2, 3, 4)
    return [[dice.choice(values), dice.choice(values)] for _ in range(count)]


@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize("seed", range(40 * PERCENT_OF_EXAMPLES // 100))
def test_results_are_those_of_a_database(seed: int, mode: str) -> None:
    dice = random.Random(seed)
    text = query(dice)
    contents = {
        "t": [[*row, f"s{number}"] for number, row in enumerate(rows(dice, 12))],
        "u": rows(dice, 9),
    }
    tables = []
    with duckdb.connect() as connection:
        for name, schema in (("t", "a INT, b INT, s STRING"), ("u", "a INT, c INT")):
            connection.execute(f"CREATE TABLE {name} ({schema})")
            marks = ", ".join("?" * len(contents[name][0]))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", contents[name])
            changes = [{"kind": "+I", "row": row} for row in contents[name]]
            tables.append({"name": name, "schema": schema.split(", "), "rows": changes})
        expected = Counter(f"[{', '.join(map(str, row))}]"
                           for row in connection.execute(text).fetchall())  # fmt: skip
    case = {"id": "", "mode": mode, "config": {}, "tables": tables, "sql": text}
    assert sql_cases.materialized(sql_cases.lines(case, per_record=bool(seed % 2))) == expected
