"""Events of the binary log of MySQL and MariaDB: what they are, and their parts."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field

from headrace.connectors.cdc.binlog_types import ColumnType, read_columns, take_length

QUERY, STOP, ROTATE, FORMAT, XID = 2, 3, 4, 15, 16
TABLE_MAP, HEARTBEAT, HEARTBEAT_2 = 19, 27, 41
GTID, ANONYMOUS_GTID, TAGGED_GTID, MARIADB_GTID = 33, 34, 42, 162
XA_PREPARE, PARTIAL_UPDATE, TRANSACTION_PAYLOAD = 38, 39, 40
QUERY_COMPRESSED = 165
WRITES, UPDATES, DELETES = (23, 30, 166, 169), (24, 31, 167, 170), (25, 32, 168, 171)
ROWS = (*WRITES, *UPDATES, *DELETES)
BEGINNINGS = (GTID, ANONYMOUS_GTID, TAGGED_GTID, MARIADB_GTID)
_SESSION_VALUES = (5, 13, 14)
_LOADED_FILES = (17, 18)
_OF_REPLICATION = (1, 26, 35, 36, 37, 160, 161, 163, 164)
_NOTES = (28, 29)
WITHOUT_ROWS = frozenset(
    (
        *_SESSION_VALUES,
        *_LOADED_FILES,
        *_OF_REPLICATION,
        *_NOTES,
        STOP,
        FORMAT,
        HEARTBEAT,
        HEARTBEAT_2,
    )
)
"""Events that a reader of rows may leave out."""
_MAY_BE_IGNORED, _IS_ARTIFICIAL = 0x80, 0x20
_HEADER = struct.Struct("<IBIIIH")
_QUERY = struct.Struct("<IIBHH")
_XA_PREPARE = struct.Struct("<BIII")
_FIRST_COMPRESSED = 165
_CHECKSUM_SIZE = 4


@dataclass(frozen=True)
class Event:
    """An event without its header."""

    kind: int
    seconds: int
    """When it was written, since 1970."""
    end: int
    """The place in the file after it, as far as 32 bits tell it; 0: it is in no file."""
    flags: int
    body: bytes

    @property
    def is_artificial(self) -> bool:
        return self.end == 0 or bool(self.flags & _IS_ARTIFICIAL)

    @property
    def may_be_ignored(self) -> bool:
        return self.kind in WITHOUT_ROWS or bool(self.flags & _MAY_BE_IGNORED)


def read_event(data: bytes) -> Event:
    seconds, kind, _, _, end, flags = _HEADER.unpack_from(data)
    return Event(kind, seconds, end, flags, data[_HEADER.size :])


class EventChecks:
    """Takes checksums off events. Whether they have them is said at the begin of each file."""

    def __init__(self) -> None:
        self._are_there = False

    def take(self, data: bytes) -> bytes | None:
        """The event without its checksum; None if it is damaged."""
        kind = data[4]
        fits = zlib.crc32(data[:-_CHECKSUM_SIZE]) == int.from_bytes(
            data[-_CHECKSUM_SIZE:], "little"
        )
        if kind == FORMAT:
            self._are_there = data[-_CHECKSUM_SIZE - 1] == 1
            return data
        if kind == ROTATE:  # those that are made up have one or not
            return data[:-_CHECKSUM_SIZE] if fits else data
        if not self._are_there:
            return data
        return data[:-_CHECKSUM_SIZE] if fits else None


def read_rotate(event: Event) -> tuple[str, int]:
    """The file that goes on, and where in it."""
    (offset,) = struct.unpack_from("<Q", event.body)
    return event.body[8:].decode(), offset


@dataclass(frozen=True)
class Query:
    database: str
    text: str


def read_query(event: Event) -> Query:
    _, _, size, _, status = _QUERY.unpack_from(event.body)
    at = _QUERY.size + status
    database = event.body[at : at + size].decode()
    text = event.body[at + size + 1 :]
    if event.kind == QUERY_COMPRESSED:
        text = _decompressed(text)
    return Query(database, text.decode(errors="replace"))


def read_xa_prepare(event: Event) -> tuple[bool, str]:
    """Whether it is a commit in one phase, and the transaction's name as statements write it."""
    one_phase, form, size, more = _XA_PREPARE.unpack_from(event.body)
    at = _XA_PREPARE.size
    data = event.body[at : at + size + more]
    return bool(one_phase), xa_name(data[:size].hex(), data[size:].hex(), form)


def xa_name(first: str, second: str, form: int) -> str:
    return f"X'{first.lower()}',X'{second.lower()}',{form}"


@dataclass(frozen=True)
class TableMap:
    """A table as it was when the rows after it were written."""

    database: str
    name: str
    columns: tuple[ColumnType, ...]


def read_table_id(event: Event) -> int:
    return int.from_bytes(event.body[:6], "little")


def read_table_name(event: Event) -> tuple[str, str, int]:
    """Database and table, and where the rest begins."""
    body, at = event.body, 8
    end = at + 1 + body[at]
    database = body[at + 1 : end].decode()
    at = end + 1
    end = at + 1 + body[at]
    return database, body[at + 1 : end].decode(), end + 1


def read_table_map(event: Event, *, of_mariadb: bool) -> TableMap:
    database, name, at = read_table_name(event)
    return TableMap(database, name, read_columns(event.body, at, of_mariadb=of_mariadb))


@dataclass(frozen=True)
class RowsEvent:
    """Rows as they are sent, and which of the columns are in them, before and after."""

    data: bytes
    before: frozenset[int] = field(default_factory=frozenset)
    after: frozenset[int] = field(default_factory=frozenset)


def read_rows(event: Event) -> tuple[RowsEvent, int]:
    """The rows, and how many columns their table has."""
    body, at = event.body, 8
    if event.kind in (30, 31, 32, 169, 170, 171):
        at += int.from_bytes(body[at : at + 2], "little")
    count, at = take_length(body, at)
    size = (count + 7) // 8
    first = _bits(body[at : at + size], count)
    second = first
    at += size
    if event.kind in UPDATES:
        second = _bits(body[at : at + size], count)
        at += size
    data = body[at:]
    if event.kind >= _FIRST_COMPRESSED:
        data = _decompressed(data)
    return RowsEvent(data, first, second), count


def _bits(data: bytes, count: int) -> frozenset[int]:
    number = int.from_bytes(data, "little")
    return frozenset(at for at in range(count) if number >> at & 1)


def _decompressed(data: bytes) -> bytes:
    """MariaDB's form: a byte of flags with the number of length bytes, the length, zlib."""
    return zlib.decompress(data[1 + (data[0] & 0x07) :])
