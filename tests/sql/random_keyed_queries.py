"""Random queries whose first column is a key of the result, never NULL, for sinks by key."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.sql.random_queries import Names, Query, Writer


class KeyedWriter(Writer):
    """Draws queries whose rows differ in c0."""

    def keyed(self, depth: int) -> Query:
        forms = ["rows"]
        if depth:
            forms += ["groups", "kept", "partner", "semi", "top", "first", "over", "limit"]
        return getattr(self, f"_keyed_{self.one(forms)}")(max(depth - 1, 0))

    def keyed_source(self, depth: int) -> tuple[str, list[tuple[str, str]]]:
        alias, inner = self.alias(), self.keyed(depth)
        text = f"({inner.text}) {alias}"
        return text, [(f"{alias}.{name}", type) for name, type in inner.names]

    def _shown(self, key: str, names: Names, rest: str, more: Names = ()) -> Query:
        others = [self.one(names) for _ in range(self.number(1, 2))]
        return self._made([(key, "int"), *others, *more], rest)

    def _keyed_rows(self, depth: int) -> Query:
        return self._made([("k", "int"), ("a", "int"), ("s", "text")], "FROM p")

    def _keyed_groups(self, depth: int) -> Query:
        text, names = self.source(depth)
        key = f"COALESCE({self.value(names, 'int', 1)}, 99)"
        passed = ", ".join(f"{name} AS n{at}" for at, (name, _) in enumerate(names))
        seen = [(f"n{at}", type) for at, (_, type) in enumerate(names)]
        below = f"(SELECT {key} AS k, {passed} FROM {text}{self.where(names)}) {self.alias()}"
        values = [("k", "int"), *self._aggregates(seen, 1)]
        return self._made(values, f"FROM {below} GROUP BY k")

    def _keyed_kept(self, depth: int) -> Query:
        text, names = self.keyed_source(depth)
        return self._shown(names[0][0], names, f"FROM {text}{self.where(names)}")

    def _keyed_partner(self, depth: int) -> Query:
        """Each row has at most one partner, found by its key."""
        (one, left), (other, right) = self.keyed_source(depth), self.keyed_source(depth)
        kind = self.one(("JOIN", "LEFT JOIN"))
        tested = self.one([name for name, type in left if type == "int"])
        on = f"{tested} = {right[0][0]}"
        if self.number(0, 2) == 0:
            on += f" AND {self.truth([*left, *right])}"
        names = [*left, *right]
        rest = f"FROM {one} {kind} {other} ON {on}{self.where(names)}"
        return self._shown(left[0][0], names, rest)

    def _keyed_semi(self, depth: int) -> Query:
        (one, left), (other, right) = self.keyed_source(depth), self.source(depth)
        type = self.one(("int", "text"))
        inner = f"SELECT {self.value(right, type, 1)} FROM {other}{self.where(right)}"
        test = f"{self.value(left, type, 1)} {self.one(('IN', 'NOT IN'))} ({inner})"
        return self._shown(left[0][0], left, f"FROM {one} WHERE {test}")

    def _numbered(self, depth: int) -> tuple[str, Names, str]:
        """A query with each row's place among some, and the columns that tell them apart."""
        text, names = self.keyed_source(depth)
        key, partition = self.one(names)[0], self.one(names)[0]
        order = f"{key} {self.one(('ASC', 'DESC'))}, {names[0][0]}"
        shown = ", ".join(f"{name} AS n{at}" for at, (name, _) in enumerate(names))
        start = f"PARTITION BY {partition} " if self.maybe() else ""
        over = f"ROW_NUMBER() OVER ({start}ORDER BY {order}) AS rn"
        seen = [(f"n{at}", type) for at, (_, type) in enumerate(names)]
        below = f"(SELECT {shown}, {over} FROM {text}{self.where(names)}) {self.alias()}"
        place = [name for name, _ in names].index(partition)
        return below, seen, f"n{place}" if start else ""

    def _keyed_top(self, depth: int) -> Query:
        text, names, _ = self._numbered(depth)
        test = self.one(("rn <= 2", "rn = 1", "rn = 2", "rn BETWEEN 2 AND 3", "rn <= 3"))
        more = [("rn", "int")] * self.maybe()
        return self._shown("n0", names, f"FROM {text} WHERE {test}", more)

    def _keyed_first(self, depth: int) -> Query:
        """Of each partition one row, so that the partition is the key."""
        text, names, partition = self._numbered(depth)
        if dict(names).get(partition) != "int":
            return self._shown("n0", names, f"FROM {text} WHERE rn = 1")
        key = self.one((partition, f"COALESCE({partition}, 99)"))
        where = f" AND {partition} IS NOT NULL" if key == partition else ""
        return self._shown(key, names, f"FROM {text} WHERE rn = 1{where}")

    def _keyed_over(self, depth: int) -> Query:
        text, names = self.keyed_source(depth)
        start = f"PARTITION BY {self.one(names)[0]} " if self.maybe() else ""
        order = f"ORDER BY {self.one(names)[0]}, {names[0][0]}"
        made = (f"SUM({self.value(names, 'int', 1)}) OVER ({start}{order})", "int")
        return self._shown(names[0][0], names, f"FROM {text}{self.where(names)}", [made])

    def _keyed_limit(self, depth: int) -> Query:
        text, names = self.keyed_source(depth)
        order = f"{self.one(names)[0]} {self.one(('ASC', 'DESC'))}, {names[0][0]}"
        offset = " OFFSET 1" if self.number(0, 2) == 0 else ""
        rest = f"FROM {text} ORDER BY {order} LIMIT {self.number(1, 3)}{offset}"
        return self._made(list(names), rest)


@st.composite
def keyed_queries(draw: Any, depth: int = 3) -> Query:
    return KeyedWriter(draw).keyed(draw(st.integers(0, depth)))
