"""The replication protocol of MySQL and MariaDB over a connection of PyMySQL's: a server sends the
events of its binary log as if to a replica. PyMySQL waits for packets; here none is waited for."""

from __future__ import annotations

import select
import ssl
import struct
import time
from collections.abc import Iterator
from typing import Any

from headrace.connectors.cdc.binlog_events import EventChecks
from headrace.connectors.jdbc.mysql import load_pymysql

_DUMP = 0x12
_NOT_WAITING = 1
_PART = 0xFFFFFF
"""The longest packet; a longer one comes in parts."""
_OK, _END, _ERROR = 0, 0xFE, 0xFF
_HEARTBEAT_S, _SILENT_S = 5, 30
_AT_ONCE = 1 << 18
_LOST = 2013
_BEAT = f"{_HEARTBEAT_S}000000000"
_VARIABLES = {
    "@master_binlog_checksum": "@@global.binlog_checksum",
    "@source_binlog_checksum": "@@global.binlog_checksum",
    "@master_heartbeat_period": _BEAT,
    "@source_heartbeat_period": _BEAT,
    "@mariadb_slave_capability": "4",
    "SESSION net_write_timeout": "3600",
}
"""Events with their checksums, also while nothing happens, and of MariaDB's kinds, too."""


class BinlogWire:
    """The events from a place in the log on; with `follow` those that are still to come."""

    def __init__(
        self, connection: Any, server_id: int, file: str, offset: int, *, follow: bool = True
    ):
        self._connection = connection
        self._received = bytearray()
        self._last_heard = time.monotonic()
        self._checks = EventChecks()
        self.ended = False
        """There is no more: only of a log that is not followed."""
        with connection.cursor() as cursor:
            assigned = ", ".join(f"{name} = {value}" for name, value in _VARIABLES.items())
            cursor.execute(f"SET {assigned}")
        flags = 0 if follow else _NOT_WAITING
        given = struct.pack("<IHI", offset, flags, server_id) + file.encode()
        connection._execute_command(_DUMP, given)
        self._socket = connection._sock
        self._socket.setblocking(False)

    def events(self) -> Iterator[bytes]:
        """Those that are here by now."""
        while not self.ended:
            packet = self._take_packet()
            while packet is None:
                if not self._receive():
                    return
                packet = self._take_packet()
            if packet[0] == _OK:
                event = self._checks.take(packet[1:])
                if event is None:
                    raise self._lost("an event came damaged")
                yield event
            elif packet[0] == _ERROR:
                load_pymysql().err.raise_mysql_exception(packet)
            else:
                self.ended = True

    def wait(self, seconds: float) -> None:
        """Until there is more, or for so long."""
        pending = getattr(self._socket, "pending", None)
        if not self._received and not (pending and pending()):
            select.select([self._socket], [], [], seconds)

    def _receive(self) -> bool:
        try:
            data = self._socket.recv(_AT_ONCE)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            if time.monotonic() - self._last_heard > _SILENT_S:
                raise self._lost(f"nothing came for {_SILENT_S} s") from None
            return False
        except OSError as error:
            raise self._lost(str(error)) from None
        if not data:
            raise self._lost("the server has ended the stream of changes")
        self._last_heard = time.monotonic()
        self._received += data
        return True

    def _lost(self, why: str) -> Exception:
        found: Exception = load_pymysql().err.OperationalError(_LOST, why)
        return found

    def _take_packet(self) -> bytes | None:
        """The next whole packet, put together of its parts."""
        data, at, parts = self._received, 0, []
        while True:
            if len(data) < at + 4:
                return None
            size = int.from_bytes(data[at : at + 3], "little")
            if len(data) < at + 4 + size:
                return None
            parts.append(bytes(data[at + 4 : at + 4 + size]))
            at += 4 + size
            if size < _PART:
                break
        del data[:at]
        return b"".join(parts)

    def close(self) -> None:
        self._connection._force_close()
