"""The replication protocol of PostgreSQL, as far as logical decoding needs it, over psycopg."""

from __future__ import annotations

import os
import struct
import time
import uuid
from collections.abc import Iterator
from typing import Any

from headrace.connectors.cdc.capture import ChangeLog, Transaction
from headrace.connectors.cdc.pgoutput import PgOutput
from headrace.connectors.jdbc.postgres import load_psycopg

_DATA = struct.Struct(">cqqq")
_ALIVE = struct.Struct(">cqqb")
_STATUS = struct.Struct(">cqqqqb")
_SAY_EVERY_S = 1.0
_LONGEST_NAME = 63


def lsn_text(lsn: int) -> str:
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def lsn_number(text: str) -> int:
    high, _, low = text.partition("/")
    return (int(high, 16) << 32) + int(low, 16)


class ReplicationLog(ChangeLog):
    """The changes of a publication from a place on, by a copy of the slot that is gone with the
    connection: the slot itself moves when a checkpoint is complete, and not before."""

    def __init__(self, connection: Any, slot: str, publication: str, log: int, decoder: PgOutput):
        self._connection = connection
        self._wire = connection.pgconn
        self._decoder = decoder
        self.reached = log
        self._asked_at = 0.0
        copy = f"{slot[: _LONGEST_NAME - 24]}_{os.getpid()}_{uuid.uuid4().hex[:12]}"
        self._run(f"SELECT pg_copy_logical_replication_slot('{slot}', '{copy}', true)")
        names = '"' + publication.replace('"', '""').replace("'", "''") + '"'
        self._run(
            f'START_REPLICATION SLOT "{copy}" LOGICAL {lsn_text(log)} '
            f"(proto_version '1', publication_names '{names}')"
        )

    def _run(self, command: str) -> None:
        result = self._wire.exec_(command.encode())
        status = load_psycopg().pq.ExecStatus
        if result.status not in (status.TUPLES_OK, status.COPY_BOTH):
            raise load_psycopg().errors.error_from_result(result)

    def read(self) -> Iterator[Transaction]:
        self._wire.consume_input()
        while True:
            size, data = self._wire.get_copy_data(1)
            if size == 0:
                break
            if size < 0:
                raise load_psycopg().OperationalError("the server has ended the stream of changes")
            message = bytes(data)
            if message[:1] == b"k":
                self._hear_alive(message)
                continue
            transaction = self._decoder.feed(message[_DATA.size :])
            if transaction is not None:
                self.reached = max(self.reached, transaction.end)
                yield transaction
        self._ask_how_far()

    def _hear_alive(self, message: bytes) -> None:
        """All that was committed up to there has been sent."""
        _, reached, _, wants_answer = _ALIVE.unpack(message)
        self.reached = max(self.reached, reached)
        if wants_answer:
            self._say(0)

    def _ask_how_far(self) -> None:
        now = time.monotonic()
        if now - self._asked_at >= _SAY_EVERY_S:
            self._asked_at = now
            self._say(1)

    def _say(self, wants_answer: int) -> None:
        at = self.reached
        self._wire.put_copy_data(_STATUS.pack(b"r", at, at, at, 0, wants_answer))
        self._wire.flush()

    def close(self) -> None:
        self._connection.close()
