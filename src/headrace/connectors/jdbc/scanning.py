"""Reading a table: as one query, or as several that share it by the values of a column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.connectors.jdbc.databases import Database, open_database
from headrace.connectors.jdbc.options import JdbcConnectionOptions
from headrace.connectors.jdbc.sessions import Session
from headrace.connectors.jdbc.statements import parse_statement
from headrace.connectors.jdbc.table_values import inward
from headrace.core.logical_types import LogicalType
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader

_ROWS_AT_ONCE = 1000
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Partitions:
    """'scan.partition.…': how many queries share the table, and by which column."""

    column: str
    count: int
    lower: int
    upper: int

    def ranges(self) -> list[tuple[int | None, int | None]]:
        """From and before which value each query reads; the first and the last are open, and the
        first has the rows without a value."""
        step = max(1, -(-(self.upper - self.lower + 1) // self.count))
        cuts = [self.lower + step * at for at in range(1, self.count)]
        cuts = [cut for cut in cuts if cut <= self.upper]
        return list(zip([None, *cuts], [*cuts, None], strict=True))


@dataclass(frozen=True)
class TableQuery:
    """SELECT of some columns of a table."""

    table: str
    columns: tuple[str, ...]
    types: tuple[LogicalType, ...]
    order: tuple[str, ...] = ()
    condition: str = ""
    """In the database's words, with `?` for `values`."""
    values: tuple[Any, ...] = ()

    def text(self, database: Database, extra: str = "", *, ordered: bool = False) -> str:
        names = ", ".join(map(database.quote, self.columns))
        where = " AND ".join(f"({part})" for part in (self.condition, extra) if part)
        text = f"SELECT {names} FROM {database.quote_table(self.table)}"
        text += f" WHERE {where}" if where else ""
        if ordered and self.order:
            text += f" ORDER BY {', '.join(map(database.quote, self.order))}"
        return text


class JdbcScan(Source[Row]):
    """The rows of a table, each once; a split for each partition."""

    def __init__(
        self,
        connection: JdbcConnectionOptions,
        query: TableQuery,
        partitions: Partitions | None = None,
        fetch_size: int = 0,
    ):
        self.connection = connection
        self.query = query
        self.partitions = partitions
        self.fetch_size = fetch_size

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return _Ranges(self.partitions)

    def create_reader(self) -> SplitReader[Row]:
        return _Reader(self)


class _Ranges(SplitEnumerator):
    """A split is read as a whole: it is at 0, and then at 1."""

    def __init__(self, partitions: Partitions | None):
        ranges = partitions.ranges() if partitions is not None else [(None, None)]
        self._splits = [Split(f"partition-{at}", list(each)) for at, each in enumerate(ranges)]

    def splits(self) -> list[Split]:
        return self._splits

    def latest_position(self, split: Split, start: Any) -> int:
        return 1


class _Reader(SplitReader[Row]):
    def __init__(self, scan: JdbcScan):
        self._scan = scan
        self._database = open_database(scan.connection)
        self._session = Session(self._database)
        self._convert = inward(scan.query.types)

    def read(self, split: Split, start: Any, end: Any) -> Iterable[Row]:
        for rows in self.read_lists(split, start, end):
            yield from rows

    def read_lists(self, split: Split, start: Any, end: Any) -> Iterator[list[Row]]:
        if start >= end:
            return
        text, values = self._query(split.info)
        cursor = self._session.attempt(
            lambda connection: self._execute(connection, text, values), "cannot read from", 3
        )
        convert, size = self._convert, self._scan.fetch_size or _ROWS_AT_ONCE
        try:
            while rows := self._session.attempt(
                lambda _: cursor.fetchmany(size), "cannot read from"
            ):
                yield [(0, *convert(row)) for row in rows]
        finally:  # also of who reads no further
            self._database.drop(cursor)
            self._session.close()

    def _query(self, info: Sequence[Any]) -> tuple[str, list[Any]]:
        lower, upper = info
        quote = self._database.quote
        parts, values = [], []
        if lower is not None or upper is not None:
            assert self._scan.partitions is not None
            column = quote(self._scan.partitions.column)
            if lower is not None:
                parts.append(f"{column} >= ?")
                values.append(lower)
            if upper is not None:
                below = f"{column} < ?"
                parts.append(below if lower is not None else f"({below} OR {column} IS NULL)")
                values.append(upper)
        text = self._scan.query.text(self._database, " AND ".join(parts), ordered=True)
        statement = parse_statement(text, self._database.address.kind)
        return statement.text, [*self._scan.query.values, *values]

    def _execute(self, connection: Any, text: str, values: list[Any]) -> Any:
        cursor = self._database.stream_cursor(connection, self._scan.fetch_size or _ROWS_AT_ONCE)
        cursor.execute(text, values)
        return cursor

    def close(self) -> None:
        self._session.close()
