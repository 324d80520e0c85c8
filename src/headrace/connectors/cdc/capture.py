"""What databases have in common: a table that can be read as it is, and a log of changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.connectors.cdc.places import Key, Mark, Place, Position
from headrace.connectors.jdbc.databases import Database, open_database
from headrace.connectors.jdbc.options import JdbcConnectionOptions
from headrace.connectors.jdbc.table_values import outward
from headrace.core.logical_types import LogicalType
from headrace.errors import HeadraceError, InvalidArgument, JobFailed

Row = tuple[Any, ...]
Change = tuple[int, Row]
"""Its kind, and the table's columns in internal form."""


@dataclass(frozen=True)
class CapturedTable:
    """Which table is followed, and from where on."""

    connection: JdbcConnectionOptions
    database: str
    schema: str | None
    name: str
    columns: tuple[str, ...]
    types: tuple[LogicalType, ...]
    key: tuple[str, ...]
    startup: str = "initial"
    upsert: bool = False
    """Whether updates come without the row that they replace."""
    fetch_size: int = 1024
    settings: dict[str, Any] = field(default_factory=dict)
    """What only one kind of database knows."""

    @property
    def path(self) -> str:
        """Its name within the database."""
        return self.name if self.schema is None else f"{self.schema}.{self.name}"

    @property
    def key_places(self) -> tuple[int, ...]:
        return tuple(self.columns.index(name) for name in self.key)


@dataclass
class Transaction:
    """Changes of the table that were committed together."""

    id: Any
    """By which a mark tells whether it has seen it."""
    end: Position
    """The place in the log after it."""
    millis: int
    """When it was committed."""
    changes: list[Change]


class TableView(ABC):
    """The rows after a key, in the order of keys, as they were at one moment."""

    mark: Mark
    until: Position

    @abstractmethod
    def fetch(self, count: int) -> list[Row]:
        """The next rows; none: the table's end."""

    @abstractmethod
    def close(self) -> None: ...


class ChangeLog(ABC):
    """The changes from a place in the log on."""

    reached: Position
    """Up to where all changes were handed over."""

    @abstractmethod
    def read(self) -> Iterator[Transaction]:
        """What has come by now, some of it; it does not wait."""

    @abstractmethod
    def close(self) -> None: ...


class Capture(ABC):
    """One table of one database."""

    def __init__(self, table: CapturedTable):
        self.table = table
        self.database: Database = open_database(table.connection)
        key_types = [table.types[at] for at in table.key_places]
        self._outward = outward(key_types, self.database.address.kind)

    @abstractmethod
    def prepare(self) -> Place:
        """Check what is needed, reserve the log, and say where to begin; beside the driver."""

    @abstractmethod
    def check_going_on(self) -> None:
        """The same for a job that goes on from a checkpoint."""

    def confirm(self, log: Position) -> None:
        """All up to there is durable; the database need not keep it."""

    @abstractmethod
    def open_view(self, after: Key | None) -> TableView: ...

    @abstractmethod
    def open_log(self, log: Position) -> ChangeLog: ...

    @abstractmethod
    def has_seen(self, mark: Mark, transaction: Transaction) -> bool:
        """Whether a transaction is part of what was seen."""

    def json_key(self, row: Row) -> Key:
        """The key of a row, as texts that the database reads."""
        values = self._outward([row[at] for at in self.table.key_places])
        return tuple(_text(value) for value in values)

    @abstractmethod
    def is_upto(self, key: Key, bound: Key) -> bool:
        """Whether a key is not after another, in the order in which the database has them."""

    # What is wrong.

    def where(self) -> str:
        return f"table {self.table.path} of {self.database.label} at {self.database.address}"

    def refuse(self, what: str, hint: str) -> InvalidArgument:
        return InvalidArgument(f"{self.where()} {what}", hint=hint)

    def broken(self, what: str, hint: str) -> HeadraceError:
        return JobFailed(f"{self.where()} {what}", hint=hint)

    def check_columns(self, found: Sequence[str], key: Sequence[str]) -> None:
        """The declared columns and key against those of the table in the database."""
        if not found:
            raise self.refuse(
                "is not there",
                "Check the names of database, schema and table, which are no regular expressions, "
                "and that the user may see it.",
            )
        missing = [name for name in self.table.columns if name not in found]
        if missing:
            raise self.refuse(
                f"has no column {', '.join(map(repr, missing))}",
                f"There are: {', '.join(found)}.",
            )
        if set(key) != set(self.table.key):
            has = f"the primary key ({', '.join(key)})" if key else "no primary key"
            raise self.refuse(
                f"has {has}, and ({', '.join(self.table.key)}) was declared",
                "Declare PRIMARY KEY (…) NOT ENFORCED with the key that the table has.",
            )


def _text(value: Any) -> str:
    return f"\\x{value.hex()}" if isinstance(value, bytes) else str(value)
