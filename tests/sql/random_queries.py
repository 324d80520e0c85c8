"""Random queries whose meaning DuckDB shares, as text: small ones first, nested a few deep.

What would differ for a reason is left out: division, overflow, orders with ties, and the one row
that an aggregate over no rows has in a database but not in a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from hypothesis import strategies as st

from tests.sql.random_tables import COLUMNS

Draw = Callable[[st.SearchStrategy[Any]], Any]
Names = Sequence[tuple[str, str]]
"""Columns in reach: names and types."""


@dataclass(frozen=True)
class Query:
    text: str
    columns: tuple[str, ...]
    """The types of columns c0, c1, …"""

    @property
    def names(self) -> list[tuple[str, str]]:
        return [(f"c{at}", type) for at, type in enumerate(self.columns)]


_NESTING = (
    "group", "join", "outer", "semi", "sets", "set_operation", "top", "over", "limit", "shared",
    "scalar", "everything", "distinct", "one_of_each",
)  # fmt: skip


class Writer:
    """Draws parts of one query."""

    def __init__(self, draw: Draw):
        self.draw = draw
        self._numbers = count(1)

    def alias(self) -> str:
        return f"q{next(self._numbers)}"

    def one(self, choices: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(list(choices)))

    def maybe(self) -> bool:
        return bool(self.draw(st.booleans()))

    def number(self, least: int, most: int) -> int:
        return int(self.draw(st.integers(least, most)))

    # Expressions.

    def value(self, names: Names, type: str, depth: int = 2) -> str:
        fitting = [name for name, kind in names if kind == type]
        if depth == 0 or self.number(0, 2) == 0:
            if fitting and self.number(0, 5):
                return str(self.one(fitting))
            return self.literal(type)
        return getattr(self, f"_{type}")(names, depth - 1)

    def literal(self, type: str) -> str:
        if type == "int":
            return f"({self.number(-2, 4)})"
        if type == "text":
            return str(self.one(("'a'", "'b'", "''", "'aB'", "'xyz'")))
        return str(self.one(("TRUE", "FALSE")))

    def _int(self, names: Names, depth: int) -> str:
        x, y = (self.value(names, "int", depth) for _ in range(2))
        forms = [
            f"({x} + {y})", f"({x} - {y})", f"ABS({x})", f"COALESCE({x}, {y})",
            f"MOD({x}, 3)", f"(-{x})", f"NULLIF({x}, {y})", "case", "length",
            f"({x} * 2)", "CAST(NULL AS INT)",
        ]  # fmt: skip
        form = self.one(forms)
        if form == "case":
            return self._case(names, x, y, depth)
        if form == "length":
            return f"CHAR_LENGTH({self.value(names, 'text', depth)})"
        return str(form)

    def _text(self, names: Names, depth: int) -> str:
        x, y = (self.value(names, "text", depth) for _ in range(2))
        forms = [
            f"UPPER({x})", f"LOWER({x})", f"({x} || {y})", f"SUBSTRING({x}, 1, 1)",
            f"COALESCE({x}, {y})", "case", "number", "CAST(NULL AS STRING)",
        ]  # fmt: skip
        form = self.one(forms)
        if form == "case":
            return self._case(names, x, y, depth)
        if form == "number":
            return f"CAST({self.value(names, 'int', depth)} AS STRING)"
        return str(form)

    def _case(self, names: Names, x: str, y: str, depth: int) -> str:
        end = f" ELSE {y}" if self.maybe() else ""
        return f"CASE WHEN {self.truth(names, depth)} THEN {x}{end} END"

    def _truth(self, names: Names, depth: int) -> str:
        return self.truth(names, depth)

    def truth(self, names: Names, depth: int = 1) -> str:
        """A condition."""
        form = self.one(("compare", "null", "and", "or", "not", "in", "between", "is", "like"))
        if form in ("and", "or") and depth:
            parts = (self.truth(names, depth - 1) for _ in range(2))
            return f"({f' {form.upper()} '.join(parts)})"
        if form == "not" and depth:
            return f"(NOT {self.truth(names, depth - 1)})"
        if form == "is" and depth:
            end = self.one(("TRUE", "NOT TRUE", "FALSE", "NOT FALSE"))
            return f"({self.truth(names, depth - 1)} IS {end})"
        type = "text" if form == "like" else self.one(("int", "text"))
        x, y = (self.value(names, type, depth) for _ in range(2))
        if form == "null":
            return f"({x} IS {self.one(('NULL', 'NOT NULL'))})"
        if form == "in":
            listed = ", ".join(self.literal(type) for _ in range(self.number(1, 3)))
            return f"({x} {self.one(('IN', 'NOT IN'))} ({listed}))"
        if form == "between":
            return f"({x} {self.one(('', 'NOT '))}BETWEEN {y} AND {self.literal(type)})"
        if form == "like":
            return f"({x} LIKE {self.one(chr(39) + p + chr(39) for p in ('a%', '%B', '_', ''))})"
        sign = self.one(("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM",
                         "IS NOT DISTINCT FROM"))  # fmt: skip
        return f"({x} {sign} {y})"

    # Queries.

    def query(self, depth: int) -> Query:
        forms = ["table", "project", "values"]
        if depth:
            forms += _NESTING
        return getattr(self, f"_{self.one(forms)}")(max(depth - 1, 0))

    def source(self, depth: int) -> tuple[str, list[tuple[str, str]]]:
        """Something to stand in FROM, and its columns."""
        alias = self.alias()
        if depth == 0 or self.maybe():
            table = self.one(list(COLUMNS))
            return f"{table} {alias}", [(f"{alias}.{c}", t) for c, t in COLUMNS[table].items()]
        inner = self.query(depth)
        return f"({inner.text}) {alias}", [(f"{alias}.{c}", t) for c, t in inner.names]

    def where(self, names: Names) -> str:
        return f" WHERE {self.truth(names)}" if self.maybe() else ""

    def _made(self, values: Sequence[tuple[str, str]], rest: str, distinct: bool = False) -> Query:
        shown = ", ".join(f"{text} AS c{at}" for at, (text, _) in enumerate(values))
        start = "SELECT DISTINCT" if distinct else "SELECT"
        return Query(f"{start} {shown} {rest}", tuple(type for _, type in values))

    def _table(self, depth: int) -> Query:
        table = self.one(list(COLUMNS))
        return self._made(list(COLUMNS[table].items()), f"FROM {table}")

    def _values(self, depth: int) -> Query:
        rows = ", ".join(f"({self.literal('int')}, {self.literal('text')})"
                         for _ in range(self.number(1, 3)))  # fmt: skip
        alias = self.alias()
        values = [("x", "int"), ("y", "text")]
        return self._made(values, f"FROM (VALUES {rows}) AS {alias}(x, y)")

    def _chosen(self, names: Names) -> list[tuple[str, str]]:
        types = [self.one(("int", "text", "truth")) for _ in range(self.number(1, 3))]
        return [(self.value(names, type), type) for type in types]

    def _project(self, depth: int) -> Query:
        text, names = self.source(depth)
        return self._made(self._chosen(names), f"FROM {text}{self.where(names)}")

    def _distinct(self, depth: int) -> Query:
        text, names = self.source(depth)
        return self._made(self._chosen(names), f"FROM {text}{self.where(names)}", distinct=True)

    def aggregate(self, names: Names) -> tuple[str, str]:
        form = self.one(("COUNT(*)", "COUNT", "SUM", "MIN", "MAX", "INT_AVG", "text"))
        end = f" FILTER (WHERE {self.truth(names)})" if self.number(0, 3) == 0 else ""
        if form == "COUNT(*)":
            return f"COUNT(*){end}", "int"
        if form == "text":
            return f"{self.one(('MIN', 'MAX'))}({self.value(names, 'text', 1)}){end}", "text"
        value = self.value(names, "int", 1)
        if form == "INT_AVG":
            return f"INT_AVG({value})", "int"
        distinct = "DISTINCT " if self.number(0, 3) == 0 else ""
        return f"{form}({distinct}{value}){end}", "int"

    def _aggregates(self, names: Names, least: int = 0) -> list[tuple[str, str]]:
        return [self.aggregate(names) for _ in range(self.number(least, 2))]

    def _group(self, depth: int) -> Query:
        text, names = self.source(depth)
        types = [self.one(("int", "text", "truth")) for _ in range(self.number(1, 2))]
        keys = list(dict.fromkeys((self.value(names, type, 1), type) for type in types))
        inner = self.alias()
        listed = ", ".join(f"{key} AS k{at}" for at, (key, _) in enumerate(keys))
        passed = ", ".join(f"{name} AS n{at}" for at, (name, _) in enumerate(names))
        below = f"(SELECT {listed}, {passed} FROM {text}{self.where(names)}) {inner}"
        seen = [(f"n{at}", type) for at, (_, type) in enumerate(names)]
        groups = [(f"k{at}", type) for at, (_, type) in enumerate(keys)]
        having = ""
        if self.maybe():
            tested = [each for each in self._aggregates(seen, 1) if each[1] == "int"]
            having = f" HAVING {self.truth(tested or groups)}"
        values = [*groups, *self._aggregates(seen)]
        names_of_keys = ", ".join(name for name, _ in groups)
        return self._made(values, f"FROM {below} GROUP BY {names_of_keys}{having}")

    def _everything(self, depth: int) -> Query:
        """One group of all rows; over none a stream has no result yet."""
        text, names = self.source(depth)
        values = self._aggregates(names, 1) or [("COUNT(*)", "int")]
        return self._made(values, f"FROM {text}{self.where(names)} HAVING COUNT(*) > 0")

    def _sets(self, depth: int) -> Query:
        text, names = self.source(depth)
        (x, x_type), (y, y_type) = (self.one(names) for _ in range(2))
        form = self.one(("ROLLUP (x, y)", "CUBE (x, y)", "GROUPING SETS ((x, y), (y))",
                         "GROUPING SETS ((x), (y), ())", "GROUPING SETS ((x), ())"))  # fmt: skip
        values = [("x", x_type), *([] if "((x), ())" in form else [("y", y_type)])]
        values += [("COUNT(*)", "int"), ("GROUPING(x)", "int")]
        values += [(f"{self.one(('SUM', 'MAX', 'COUNT'))}(z)", "int")]
        z = self.value(names, "int", 1)
        below = f"(SELECT {x} AS x, {y} AS y, {z} AS z FROM {text}{self.where(names)})"
        return self._made(
            values, f"FROM {below} {self.alias()} GROUP BY {form} HAVING COUNT(*) > 0"
        )

    def _on(self, left: Names, right: Names, equal: bool) -> str:
        type = self.one(("int", "text"))
        sign = self.one(("=", "=", "=", "IS NOT DISTINCT FROM"))
        parts = []
        if equal or self.maybe():
            parts.append(f"{self.value(left, type, 1)} {sign} {self.value(right, type, 1)}")
        if not parts or self.number(0, 2) == 0:
            parts.append(self.truth([*left, *right]))
        return " AND ".join(parts)

    def _joined(self, depth: int, kinds: Sequence[str]) -> Query:
        (one, left), (other, right) = self.source(depth), self.source(depth)
        kind = self.one(kinds)
        on = self._on(left, right, equal=kind == "FULL JOIN")
        names = [*left, *right]
        values = self._chosen(names)
        return self._made(values, f"FROM {one} {kind} {other} ON {on}{self.where(names)}")

    def _join(self, depth: int) -> Query:
        return self._joined(depth, ["JOIN"])

    def _outer(self, depth: int) -> Query:
        return self._joined(depth, ["LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])

    def _semi(self, depth: int) -> Query:
        (one, left), (other, right) = self.source(depth), self.source(depth)
        type = self.one(("int", "text"))
        seen = [*left, *right] if self.maybe() else right
        inner = f" WHERE {self.truth(seen)}" if self.maybe() else ""
        if self.maybe():
            shown = self.value(right, type, 1)
            test = (f"{self.value(left, type, 1)} {self.one(('IN', 'NOT IN'))} "
                    f"(SELECT {shown} FROM {other}{inner})")  # fmt: skip
        else:
            inner = inner or f" WHERE {self._on(left, right, equal=True)}"
            test = f"{self.one(('', 'NOT '))}EXISTS (SELECT 1 FROM {other}{inner})"
        if self.number(0, 3) == 0:
            test = f"({test} {self.one(('AND', 'OR'))} {self.truth(left)})"
        return self._made(list(left)[:3], f"FROM {one} WHERE {test}")

    def _scalar(self, depth: int) -> Query:
        (one, left), (other, right) = self.source(depth), self.source(0)
        type = self.one(("int", "text"))
        aggregate = self.one(("COUNT(*)", f"MAX({self.value(right, 'int', 1)})"))
        # Always of this row: over no rows at all a stream has no count yet.
        mine = [name for name, kind in left if kind == type] or [None]
        theirs = self.one([name for name, kind in right if kind == type] or [None])
        if mine == [None] or theirs is None:
            return self._made(list(left)[:2], f"FROM {one}")
        on = f"{theirs} = {self.one(mine)}"
        inner = f"(SELECT {aggregate} FROM {other} WHERE {on})"
        return self._made([*list(left)[:2], (inner, "int")], f"FROM {one}")

    def _set_operation(self, depth: int) -> Query:
        types = [self.one(("int", "text")) for _ in range(self.number(1, 2))]
        parts = []
        for _ in range(2):
            text, names = self.source(depth)
            values = [(self.value(names, type, 1), type) for type in types]
            parts.append(self._made(values, f"FROM {text}{self.where(names)}").text)
        word = self.one(("UNION", "INTERSECT", "EXCEPT")) + self.one((" ALL", ""))
        return Query(f"{parts[0]} {word} {parts[1]}", tuple(types))

    def _ranked(self, depth: int, function: str, partial: bool = False) -> tuple[str, Names]:
        """A query with a column rn more, each row's place in an order without ties."""
        text, names = self.source(depth)
        names = list(names)
        first = self.number(0, len(names) - 1)
        keys = [*names[first:], *names[:first]]
        keys = keys[:1] if partial else keys
        order = ", ".join(f"{name} {self.one(('ASC', 'DESC'))}" for name, _ in keys)
        partition = f"PARTITION BY {self.one(names)[0]} " if self.maybe() else ""
        shown = ", ".join(f"{name} AS n{at}" for at, (name, _) in enumerate(names))
        over = f"{function} OVER ({partition}ORDER BY {order}) AS rn"
        seen = [(f"n{at}", type) for at, (_, type) in enumerate(names)]
        return f"(SELECT {shown}, {over} FROM {text}{self.where(names)}) {self.alias()}", seen

    def _top(self, depth: int) -> Query:
        function = self.one(("ROW_NUMBER()", "RANK()", "DENSE_RANK()"))
        text, names = self._ranked(depth, function, partial=function != "ROW_NUMBER()")
        test = self.one(("rn <= 2", "rn = 1", "rn = 2", "rn BETWEEN 2 AND 3", "rn < 3"))
        if self.number(0, 2) == 0:
            test += f" AND {self.truth(names)}"
        values = [*names, ("rn", "int")] if self.maybe() else list(names)
        return self._made(values, f"FROM {text} WHERE {test}")

    def _one_of_each(self, depth: int) -> Query:
        """Deduplication."""
        text, names = self._ranked(depth, "ROW_NUMBER()")
        return self._made(list(names)[: self.number(1, 3)], f"FROM {text} WHERE rn = 1")

    def _over(self, depth: int) -> Query:
        text, names = self.source(depth)
        value = self.value(names, "int", 1)
        order = ", ".join(name for name, _ in names)
        partition = f"PARTITION BY {self.one(names)[0]}" if self.maybe() else ""
        frame = self.one(("", " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                          " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"))  # fmt: skip
        ends = [f"{partition} ORDER BY {order}{frame}"] + [partition] * bool(partition)
        end = self.one(ends)
        form = self.one(("SUM", "COUNT", "MIN", "MAX"))
        made = (f"{form}({value}) OVER ({end})", "int")
        return self._made([*names[:3], made], f"FROM {text}{self.where(names)}")

    def _limit(self, depth: int) -> Query:
        text, names = self.source(depth)
        order = ", ".join(f"{name} {self.one(('ASC', 'DESC'))}" for name, _ in names)
        offset = " OFFSET 1" if self.number(0, 3) == 0 else ""
        return self._made(
            list(names), f"FROM {text} ORDER BY {order} LIMIT {self.number(1, 3)}{offset}"
        )

    def _shared(self, depth: int) -> Query:
        """A common table expression that is read twice."""
        inner = self.query(depth)
        names = [[(f"{alias}.{name}", type) for name, type in inner.names]
                 for alias in ("w1", "w2")]  # fmt: skip
        on = self._on(names[0], names[1], equal=True)
        values = self._chosen([*names[0], *names[1]])
        made = self._made(values, f"FROM w w1 JOIN w w2 ON {on}")
        return Query(f"WITH w AS ({inner.text}) {made.text}", made.columns)


@st.composite
def queries(draw: Any, depth: int = 3) -> Query:
    return Writer(draw).query(draw(st.integers(0, depth)))


def dialect(text: str) -> str:
    """A query as Flink writes it."""
    return text.replace("INT_AVG(", "AVG(")
