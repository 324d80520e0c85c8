"""What one kind of database does otherwise than another."""

from __future__ import annotations

import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from headrace.connectors.jdbc.addresses import MYSQL, Address, parse_address
from headrace.connectors.jdbc.options import JdbcConnectionOptions
from headrace.errors import (
    HeadraceError,
    InvalidArgument,
    JobFailed,
    SourceUnavailable,
    Unsupported,
)


class Cause(Enum):
    """Why a database did not do what it was asked for."""

    AWAY = auto()
    """It does not answer, or no more: a new connection may help, perhaps later."""
    BUSY = auto()
    """Others were in the way: the same again may help."""
    TLS = auto()
    """What it would say cannot be read, or not be trusted."""
    LOGIN = auto()
    NO_DATABASE = auto()
    NO_TABLE = auto()
    NO_COLUMN = auto()
    DUPLICATE = auto()
    CONSTRAINT = auto()
    NO_PREPARED_TRANSACTIONS = auto()
    OTHER = auto()


_HINTS = {
    Cause.AWAY: "See that the server runs and that host and port are right.",
    Cause.TLS: "See that the server speaks TLS at this port, that its certificate is for this "
    "host, and that whoever signed it is trusted: serverSslCert, for PostgreSQL sslrootcert.",
    Cause.LOGIN: "Check the user's name and password, and what the user may do.",
    Cause.NO_DATABASE: "The database's name is the last part of the address.",
    Cause.NO_TABLE: "Create the table in the database first: it is not made by itself.",
    Cause.NO_COLUMN: "Compare the columns with those the table has in the database.",
    Cause.DUPLICATE: "Rows with a key that is there are replaced if the statement says so: "
    "INSERT … ON CONFLICT … DO UPDATE, INSERT … ON DUPLICATE KEY UPDATE, or a PRIMARY KEY … NOT "
    "ENFORCED of the table in SQL.",
    Cause.NO_PREPARED_TRANSACTIONS: "Set max_prepared_transactions of the server to at least "
    "twice the sink's parallelism, and start it again.",
    Cause.BUSY: "Rows of one key must be written by one subtask: key_by() before the sink.",
}
_CLASSES: dict[Cause, type[HeadraceError]] = {
    Cause.AWAY: SourceUnavailable,
    Cause.TLS: SourceUnavailable,
    Cause.LOGIN: SourceUnavailable,
    Cause.NO_DATABASE: SourceUnavailable,
    Cause.NO_TABLE: InvalidArgument,
    Cause.NO_COLUMN: InvalidArgument,
}


@dataclass(frozen=True)
class Trouble:
    cause: Cause
    text: str
    """What the database says, in a line."""


@dataclass(frozen=True)
class ColumnNote:
    """A column as the database describes it."""

    name: str
    type: str
    """Its type's name, in the database's words."""
    nullable: bool
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    fraction: int | None = None
    """Digits of a second's fraction."""
    unsigned: bool = False


class Database(ABC):
    """One database: how to reach it, how it writes SQL, and what its errors mean."""

    label: str
    quotes: str
    """The character around names."""

    def __init__(self, options: JdbcConnectionOptions):
        self.address: Address = parse_address(options.url)
        properties = self.address.properties
        self.user = options.user_name or properties.get("user")
        self.password = options.password or properties.get("password")
        self.timeout_s = options.timeout_s

    @abstractmethod
    def connect(self, application: str = "headrace") -> Any:
        """A connection of the driver's, on which every statement is within a transaction."""

    @abstractmethod
    def is_driver_error(self, error: BaseException) -> bool: ...

    @abstractmethod
    def trouble(self, error: Any) -> Trouble:
        """What an error of the driver means."""

    def refuses_many(self, error: BaseException) -> bool:
        """Whether an error says that a statement has one row twice, which two statements may."""
        return False

    @abstractmethod
    def stream_cursor(self, connection: Any, fetch_size: int) -> Any:
        """A cursor that fetches many rows little by little."""

    @abstractmethod
    def drop(self, cursor: Any) -> None:
        """Let go of such a cursor whose connection is about to be closed; what rows it has left
        are not read."""

    @abstractmethod
    def commit_each(self, connection: Any) -> None:
        """From now on every statement is a transaction of its own."""

    @abstractmethod
    def cut(self, connection: Any) -> None:
        """End what another thread waits for on a connection, which is of no use from then on."""

    # SQL.

    def quote(self, name: str) -> str:
        return f"{self.quotes}{name.replace(self.quotes, self.quotes * 2)}{self.quotes}"

    def quote_table(self, name: str) -> str:
        """A table's name, with its schema or database before a dot."""
        return ".".join(self.quote(part) for part in name.split("."))

    def insert(self, table: str, columns: Sequence[str]) -> str:
        names = ", ".join(map(self.quote, columns))
        marks = ", ".join("?" for _ in columns)
        return f"INSERT INTO {self.quote_table(table)} ({names}) VALUES ({marks})"

    @abstractmethod
    def upsert(self, table: str, columns: Sequence[str], key: Sequence[str]) -> str:
        """Inserts a row, or replaces the one of its key."""

    def delete(self, table: str, key: Sequence[str]) -> str:
        return f"DELETE FROM {self.quote_table(table)} WHERE {self._equal(key)}"

    def _equal(self, columns: Sequence[str]) -> str:
        return " AND ".join(f"{self.quote(name)} = ?" for name in columns)

    # What is there.

    @abstractmethod
    def databases(self, connection: Any) -> list[str]: ...

    @abstractmethod
    def tables(self, connection: Any) -> list[str]:
        """Of the database that the connection is to; in another schema than usual with its name."""

    @abstractmethod
    def columns(self, connection: Any, table: str) -> list[ColumnNote]:
        """None if there is no such table."""

    @abstractmethod
    def primary_key(self, connection: Any, table: str) -> tuple[str | None, list[str]]:
        """Its name and its columns, in order."""


def explain(database: Database, error: Any, doing: str) -> HeadraceError:
    """The error that a user sees: what was done, where, and what the database says."""
    trouble = database.trouble(error)
    kind = _CLASSES.get(trouble.cause, JobFailed)
    return kind(
        f"{doing} {database.label} at {database.address}: {trouble.text}",
        hint=_HINTS.get(trouble.cause),
    )


def missing_driver(label: str, package: str) -> Unsupported:
    return Unsupported(
        f"{label} needs the package {package}: install headrace[jdbc]",
        hint="pip install 'headrace[jdbc]'",
    )


def shut_down(descriptor: int) -> None:
    """Let whoever waits for a connection's socket see its end."""
    with socket.socket(fileno=os.dup(descriptor)) as same:
        same.shutdown(socket.SHUT_RDWR)


def open_database(options: JdbcConnectionOptions) -> Database:
    """The database behind an address."""
    from headrace.connectors.jdbc.mysql import MySQL
    from headrace.connectors.jdbc.postgres import PostgreSQL

    kind: Callable[[JdbcConnectionOptions], Database] = PostgreSQL
    if parse_address(options.url).kind == MYSQL:
        kind = MySQL
    return kind(options)
