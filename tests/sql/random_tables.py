"""Random tables: their changes in micro-batches, and what is left of them after each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from hypothesis import reject
from hypothesis import strategies as st

from headrace.core.logical_types import RowType
from headrace.core.source import SplitSpec
from headrace.core.table_columns import to_arrow
from headrace.core.table_connector import (
    APPEND,
    DELETE,
    INSERT,
    RETRACT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    CatalogTable,
    ChangelogMode,
    TableConnector,
    TableSink,
    TableSource,
)
from tests.sql.values_connector import Parts

Row = tuple[Any, ...]
MODES = {
    "append": APPEND,
    "retract": RETRACT,
    "upsert": ChangelogMode(updates_after=True, deletes=True),
}
COLUMNS: dict[str, dict[str, str]] = {
    "t": {"a": "int", "b": "int", "s": "text"},
    "u": {"a": "int", "c": "int", "f": "truth"},
    "p": {"k": "int", "a": "int", "s": "text"},
}
TYPES = {"int": "INT", "text": "STRING", "truth": "BOOLEAN"}
KEYS = {"p": 0}
"""Tables with a primary key, and where it is."""
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.sampled_from((1, 0, 2, 3, -1)),
    "text": st.sampled_from(("a", "b", "", "aB")),
    "truth": st.booleans(),
}


@dataclass(frozen=True)
class Changes:
    """A table: which changes it has, in micro-batches."""

    mode: str
    parts: tuple[tuple[Row, ...], ...]

    def after(self, batches: int, key: int | None) -> list[Row]:
        """The rows that are there after so many micro-batches."""
        changes = [change for part in self.parts[:batches] for change in part]
        if key is not None:
            rows: dict[Any, Row] = {}
            for kind, *values in changes:
                if kind & 1:
                    rows.pop(values[key], None)
                else:
                    rows[values[key]] = tuple(values)
            return list(rows.values())
        left: Counter[Row] = Counter()
        for kind, *values in changes:
            left[tuple(values)] += -1 if kind & 1 else 1
        return list(left.elements())


Tables = dict[str, Changes]


@st.composite
def tables(draw: Any, append: bool = False) -> Tables:
    return {name: draw(_changes(name, append)) for name in COLUMNS}


@st.composite
def _changes(draw: Any, name: str, append: bool) -> Changes:
    key = KEYS.get(name)
    types = list(COLUMNS[name].values())
    modes = ["append", "retract"] + ["upsert"] * (key is not None)
    mode = "append" if append else draw(st.sampled_from(modes))
    cells = [_VALUES[type] if at == key else st.none() | _VALUES[type]
             for at, type in enumerate(types)]  # fmt: skip
    changes: list[Row] = []
    left: list[Row] = []
    for row in draw(st.lists(st.tuples(*cells), min_size=1, max_size=9)):
        same = [old for old in left if key is not None and old[key] == row[key]]
        if mode == "append":
            if not same:
                changes.append((INSERT, *row))
                left.append(row)
            continue
        old = same[0] if same else draw(st.sampled_from([None, *left])) if left else None
        if old is None:
            changes.append((INSERT, *row))
            left.append(row)
            continue
        left.remove(old)
        if draw(st.booleans()):
            changes.append((DELETE, *old))
        elif key is not None and not same:
            changes.append((DELETE, *old))
            changes.append((INSERT, *row))
            left.append(row)
        else:
            if mode == "retract":
                changes.append((UPDATE_BEFORE, *old))
            changes.append((UPDATE_AFTER, *row))
            left.append(row)
    return Changes(mode, tuple(_cut(draw, changes)))


def _cut(draw: Any, changes: list[Row]) -> Iterator[tuple[Row, ...]]:
    while changes:
        size = draw(st.integers(1, len(changes)))
        yield tuple(changes[:size])
        changes = changes[size:]


@dataclass(frozen=True)
class RandomSource(TableSource):
    """Gives a part in each micro-batch; Spark can read it too, if it only grows."""

    row: RowType
    parts: tuple[tuple[Row, ...], ...]
    changelog: ChangelogMode = APPEND
    columns: tuple[int, ...] | None = None

    def _chosen(self) -> list[list[Row]]:
        columns = range(len(self.row.types)) if self.columns is None else self.columns
        return [[(row[0], *(row[at + 1] for at in columns)) for row in part] for part in self.parts]

    def reader(self) -> SplitSpec:
        return SplitSpec(Parts(self._chosen()))

    def native(self, session: Any, files: list[str] | None = None) -> Any:
        rows = [row for part in self.parts for row in part]
        arrays = {
            each.name: to_arrow([row[at + 1] for row in rows], each.type)
            for at, each in enumerate(self.row.fields)
        }
        return session.createDataFrame(pa.table(arrays))

    def with_projection(self, columns: tuple[int, ...]) -> TableSource:
        inner = range(len(self.row.types)) if self.columns is None else self.columns
        return replace(self, columns=tuple(inner[at] for at in columns))


@dataclass(frozen=True)
class RandomConnector(TableConnector):
    """Tables of one example by name."""

    identifier: str = "random"
    tables: dict[str, Changes] = field(default_factory=dict)

    def source(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSource:
        changes = self.tables[options["data-id"]]
        return RandomSource(row, changes.parts, MODES[changes.mode])

    def sink(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSink:
        return KeyedSink()


class KeyedSink(TableSink):
    """Takes updates by key, and gives all changes to the driver."""

    def accepts(self, wanted: ChangelogMode) -> ChangelogMode:
        return replace(wanted, updates_before=False)

    def operator(self) -> Any:
        from headrace.operators.sinks import CollectOperator

        return CollectOperator()


def declarations() -> Iterator[str]:
    """CREATE TABLE for each table."""
    for name, columns in COLUMNS.items():
        fields = [f"{column} {TYPES[type]}" for column, type in columns.items()]
        if name in KEYS:
            fields.append(f"PRIMARY KEY ({list(columns)[KEYS[name]]}) NOT ENFORCED")
        yield (f"CREATE TABLE {name} ({', '.join(fields)}) "
               f"WITH ('connector' = 'random', 'data-id' = '{name}')")  # fmt: skip


class Reference:
    """The tables in DuckDB."""

    def __init__(self, tables: Tables):
        import duckdb

        self.tables = tables
        self.connection = duckdb.connect()
        self._broken = duckdb.InvalidInputException
        # NULLs are the smallest values.
        self.connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
        # The mean of integers is an integer.
        self.connection.execute("CREATE MACRO INT_AVG(x) AS CAST(TRUNC(AVG(x)) AS BIGINT)")
        for name, columns in COLUMNS.items():
            fields = ", ".join(f"{column} {TYPES[type]}" for column, type in columns.items())
            self.connection.execute(f"CREATE TABLE {name} ({fields})")

    @property
    def batches(self) -> int:
        return max(len(changes.parts) for changes in self.tables.values())

    def rows(self, query: str, batches: int | None = None) -> Counter[Row]:
        """What a query gives after so many micro-batches; after all of them by default."""
        for name, changes in self.tables.items():
            self.connection.execute(f"DELETE FROM {name}")
            upto = len(changes.parts) if batches is None else batches
            rows = changes.after(upto, KEYS.get(name))
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                self.connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
        try:
            return Counter(self.connection.execute(query).fetchall())
        except self._broken as error:
            # DuckDB 2.0 fails at some BETWEEN of functions: nobody judges such a query.
            if "BindBuiltinScalarFunction" in str(error):
                reject()
            raise
