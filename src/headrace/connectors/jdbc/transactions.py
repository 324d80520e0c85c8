"""Transactions in two phases: prepared by one process, committed by another, perhaps later.

Their names tell whose they are: a sink of a job, an attempt at it, a checkpoint and a subtask. So
a job that comes back finds what it left behind, and lets alone what others did.
"""

from __future__ import annotations

import re
import uuid
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from headrace.connectors.jdbc.databases import Database
from headrace.connectors.jdbc.mysql import MySQL
from headrace.core.operator import TaskInfo

_NAME = re.compile(
    r"headrace-(?P<owner>[0-9a-f]{16})[-.](?P<attempt>\d+)-(?P<checkpoint>\d+)-(?P<subtask>\d+)"
    r"-(?P<nonce>[0-9a-f]{8})"
)
_MOST_SUBTASKS = 256


@dataclass(frozen=True)
class TransactionName:
    owner: str
    attempt: int
    checkpoint: int
    subtask: int
    nonce: str
    """No two transactions ever have the same name."""

    @property
    def branch(self) -> str:
        return f"{self.attempt}-{self.checkpoint}-{self.subtask}-{self.nonce}"

    def __str__(self) -> str:
        return f"headrace-{self.owner}-{self.branch}"


def new_name(owner: str, task: TaskInfo) -> TransactionName:
    nonce = uuid.uuid4().hex[:8]
    return TransactionName(owner, task.attempt, task.batch_id, task.partition, nonce)


def _read_name(text: str) -> TransactionName | None:
    found = _NAME.fullmatch(text)
    if found is None:
        return None
    attempt, checkpoint, subtask = map(int, found.group("attempt", "checkpoint", "subtask"))
    return TransactionName(found["owner"], attempt, checkpoint, subtask, found["nonce"])


@dataclass(frozen=True)
class Prepared:
    """What a subtask prepared for a checkpoint."""

    name: TransactionName
    number: str | None = None
    """What the database itself calls it, where it can be asked what became of that."""


class Transactions(ABC):
    """How one kind of database prepares and commits."""

    reuses_connection = True
    """Whether a connection that has prepared a transaction can go on with the next."""

    @abstractmethod
    def set_up(self, connection: Any, lock_timeout_s: int) -> None:
        """A connection for writing: it waits so long for rows that others hold."""

    @abstractmethod
    def begin(self, cursor: Any, name: TransactionName) -> None: ...

    @abstractmethod
    def prepare(self, cursor: Any, name: TransactionName) -> Prepared: ...

    @abstractmethod
    def commit(self, cursor: Any, name: TransactionName) -> bool:
        """Whether there was such a transaction."""

    @abstractmethod
    def roll_back(self, cursor: Any, name: TransactionName) -> bool: ...

    @abstractmethod
    def find(self, cursor: Any, owner: str) -> list[TransactionName]:
        """The prepared transactions of an owner."""

    def became(self, cursor: Any, prepared: Prepared) -> str | None:
        """Of a transaction that is not prepared any more: 'committed', 'aborted' or unknown."""
        return None

    def end_sessions(self, cursor: Any, owner: str) -> None:
        """Cut off earlier attempts that have not noticed yet that they are over."""


class PostgresTransactions(Transactions):
    """PREPARE TRANSACTION; a session has nothing to do with it from then on."""

    def set_up(self, connection: Any, lock_timeout_s: int) -> None:
        connection.autocommit = True  # BEGIN is said here
        connection.execute(f"SET lock_timeout = '{lock_timeout_s}s'")

    def begin(self, cursor: Any, name: TransactionName) -> None:
        cursor.execute("BEGIN")

    def prepare(self, cursor: Any, name: TransactionName) -> Prepared:
        (number,) = cursor.execute("SELECT pg_current_xact_id()::text").fetchone()
        cursor.execute(f"PREPARE TRANSACTION '{name}'")
        return Prepared(name, number)

    def commit(self, cursor: Any, name: TransactionName) -> bool:
        return self._end("COMMIT", cursor, name)

    def roll_back(self, cursor: Any, name: TransactionName) -> bool:
        return self._end("ROLLBACK", cursor, name)

    def _end(self, how: str, cursor: Any, name: TransactionName) -> bool:
        try:
            cursor.execute(f"{how} PREPARED '{name}'")
        except Exception as error:
            if getattr(error, "sqlstate", None) != "42704":  # there is no such transaction
                raise
            return False
        return True

    def find(self, cursor: Any, owner: str) -> list[TransactionName]:
        cursor.execute(
            "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() "
            "AND starts_with(gid, %s)",
            (f"headrace-{owner}-",),
        )
        return _own(owner, [gid for (gid,) in cursor.fetchall()])

    def became(self, cursor: Any, prepared: Prepared) -> str | None:
        if prepared.number is None:
            return None
        cursor.execute("SELECT pg_xact_status(%s::xid8)", (prepared.number,))
        (status,) = cursor.fetchone()
        return None if status is None else str(status)

    def end_sessions(self, cursor: Any, owner: str) -> None:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s "
            "AND usename = current_user AND pid <> pg_backend_pid()",
            (session_label(owner),),
        )


class MySQLTransactions(Transactions):
    """XA; a prepared transaction can be committed by others once its session is gone."""

    reuses_connection = False

    def set_up(self, connection: Any, lock_timeout_s: int) -> None:
        connection.autocommit(True)
        with connection.cursor() as cursor:
            cursor.execute(f"SET SESSION innodb_lock_wait_timeout = {lock_timeout_s}")

    def begin(self, cursor: Any, name: TransactionName) -> None:
        # A lock by name tells who writes: sessions have no other name that all may see.
        cursor.execute("SELECT GET_LOCK(%s, 0)", (_lock(name.owner, name.subtask),))
        cursor.fetchall()
        cursor.execute(f"XA START {_parts(name)}")

    def prepare(self, cursor: Any, name: TransactionName) -> Prepared:
        cursor.execute(f"XA END {_parts(name)}")
        cursor.execute(f"XA PREPARE {_parts(name)}")
        return Prepared(name)

    def commit(self, cursor: Any, name: TransactionName) -> bool:
        return self._end("COMMIT", cursor, name)

    def roll_back(self, cursor: Any, name: TransactionName) -> bool:
        return self._end("ROLLBACK", cursor, name)

    def _end(self, how: str, cursor: Any, name: TransactionName) -> bool:
        try:
            cursor.execute(f"XA {how} {_parts(name)}")
        except Exception as error:
            if error.args[:1] != (1397,):  # there is no such transaction
                raise
            return False
        return True

    def find(self, cursor: Any, owner: str) -> list[TransactionName]:
        cursor.execute("XA RECOVER")
        found = []
        for _, length, _, data in cursor.fetchall():
            text = data.decode() if isinstance(data, bytes) else str(data)
            found.append(f"{text[:length]}-{text[length:]}")
        return _own(owner, found)

    def end_sessions(self, cursor: Any, owner: str) -> None:
        locks = [_lock(owner, subtask) for subtask in range(_MOST_SUBTASKS)]
        cursor.execute(f"SELECT {', '.join('IS_USED_LOCK(%s)' for _ in locks)}", locks)
        (holders,) = cursor.fetchall()
        for session in filter(None, holders):
            with suppress(Exception):  # it is gone by now
                cursor.execute(f"KILL {int(session)}")


def _lock(owner: str, subtask: int) -> str:
    return f"headrace-{owner}-{subtask}"


def _parts(name: TransactionName) -> str:
    return f"'headrace-{name.owner}', '{name.branch}'"


def _own(owner: str, texts: list[str]) -> list[TransactionName]:
    names = (_read_name(text) for text in texts)
    return [name for name in names if name is not None and name.owner == owner]


def session_label(owner: str) -> str:
    """What sessions that write for a sink call themselves."""
    return f"headrace-{owner}"


def transactions_of(database: Database) -> Transactions:
    return MySQLTransactions() if isinstance(database, MySQL) else PostgresTransactions()
