"""What is done with records within a transaction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.connectors.jdbc.statements import Statement
from headrace.core.table_connector import DELETE, UPDATE_BEFORE

Values = Sequence[Any]
Insert = Callable[[Any, Statement, list[Any]], None]
_MOST_VALUES = 8192
"""In one statement."""


class Work(ABC):
    """Takes records in, and later writes many of them."""

    @abstractmethod
    def bind(self, record: Any) -> Any:
        """A record as it waits."""

    @abstractmethod
    def apply(self, cursor: Any, waiting: list[Any]) -> None:
        """Write what has waited, within the transaction of a cursor."""

    def apply_at_once(self, cursor: Any, waiting: list[Any]) -> None:
        """The same with few statements of many rows, where it can be; a database may refuse them
        that would take one row after the other: then all of it is to be done by `apply`."""
        self.apply(cursor, waiting)


@dataclass(frozen=True)
class StatementWork(Work):
    """One statement for each record."""

    statement: Statement
    values_of: Callable[[Any], Values]

    def bind(self, record: Any) -> Values:
        return self.values_of(record)

    def apply(self, cursor: Any, waiting: list[Any]) -> None:
        cursor.executemany(self.statement.text, waiting)

    def apply_at_once(self, cursor: Any, waiting: list[Any]) -> None:
        _insert_many(cursor, self.statement, waiting)


@dataclass(frozen=True)
class ChangesWork(Work):
    """Changes of a table, each (kind, column, …): rows are inserted; or those of a key replaced
    and deleted, of which only the last change counts."""

    write: Statement
    delete: Statement | None
    key: tuple[int, ...]
    values_of: Callable[[Sequence[Any]], Values]

    def bind(self, record: Any) -> tuple[int, Values]:
        return record[0], self.values_of(record[1:])

    def apply(self, cursor: Any, waiting: list[Any]) -> None:
        self._apply(cursor, waiting, _insert_each)

    def apply_at_once(self, cursor: Any, waiting: list[Any]) -> None:
        self._apply(cursor, waiting, _insert_many)

    def _apply(self, cursor: Any, waiting: list[Any], insert: Insert) -> None:
        if self.delete is None:
            insert(cursor, self.write, [values for _, values in waiting])
            return
        last: dict[tuple[Any, ...], tuple[int, Values]] = {}
        for kind, values in waiting:
            if kind != UPDATE_BEFORE:
                last[tuple(values[at] for at in self.key)] = kind, values
        gone = [key for key, (kind, _) in last.items() if kind == DELETE]
        kept = [values for kind, values in last.values() if kind != DELETE]
        if gone:
            cursor.executemany(self.delete.text, gone)
        if kept:
            insert(cursor, self.write, kept)


def _insert_each(cursor: Any, statement: Statement, rows: list[Any]) -> None:
    cursor.executemany(statement.text, rows)


def _insert_many(cursor: Any, statement: Statement, rows: list[Any]) -> None:
    """Statements of a few sizes, so that the database has few to plan."""
    size = max(1, _MOST_VALUES // max(1, statement.values))
    while rows:
        size = min(size, 1 << (len(rows).bit_length() - 1))
        text = statement.of_rows(size) if size > 1 else None
        if text is None:
            cursor.executemany(statement.text, rows)
            return
        cursor.execute(text, [value for row in rows[:size] for value in row])
        rows = rows[size:]
