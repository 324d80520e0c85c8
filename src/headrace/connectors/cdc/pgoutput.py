"""Messages of PostgreSQL's logical decoding (plugin pgoutput, protocol 1)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.connectors.cdc.capture import Change, Transaction
from headrace.core.table_connector import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE

_EPOCH_MS = 946_684_800_000
"""2000-01-01, from which PostgreSQL counts."""
UNCHANGED = object()
"""A long value that an update did not touch: it is not sent."""
Values = list[Any]
"""Texts, None or UNCHANGED."""


@dataclass(frozen=True)
class Relation:
    """A table as it was when the messages after it were written."""

    schema: str
    name: str
    identity: str
    """What is sent of rows that are gone: f is all columns, d those of the primary key."""
    columns: tuple[str, ...]


class _Bytes:
    def __init__(self, data: bytes, at: int):
        self._data, self._at = data, at

    def take(self, form: struct.Struct) -> Any:
        found = form.unpack_from(self._data, self._at)
        self._at += form.size
        return found if len(found) > 1 else found[0]

    def letter(self) -> str:
        self._at += 1
        return chr(self._data[self._at - 1])

    def name(self) -> str:
        end = self._data.index(0, self._at)
        found = self._data[self._at : end].decode()
        self._at = end + 1
        return found

    def text(self) -> str:
        size = self.take(_INT)
        self._at += size
        return self._data[self._at - size : self._at].decode()

    def row(self) -> Values:
        values: Values = []
        for _ in range(self.take(_SHORT)):
            match self.letter():
                case "t":
                    values.append(self.text())
                case "n":
                    values.append(None)
                case _:
                    values.append(UNCHANGED)
        return values


_BYTE, _SHORT, _INT = struct.Struct(">b"), struct.Struct(">h"), struct.Struct(">i")
_BEGIN, _COMMIT = struct.Struct(">qqI"), struct.Struct(">bqqq")
_OID, _COLUMN_TYPE, _TRUNCATE = struct.Struct(">I"), struct.Struct(">Ii"), struct.Struct(">ib")


class PgOutput:
    """Puts messages together to transactions."""

    def __init__(
        self,
        make_change: Callable[[Relation, int, Values, Values | None], list[Change]],
        on_truncate: Callable[[Relation], None],
    ):
        """`make_change`: of a kind, a row and the row before, as far as it was sent."""
        self._make_change = make_change
        self._on_truncate = on_truncate
        self._relations: dict[int, Relation] = {}
        self._xid = self._millis = 0
        self._changes: list[Change] = []

    def feed(self, message: bytes) -> Transaction | None:
        """Take a message in; a transaction if it was its last."""
        data = _Bytes(message, 1)
        match chr(message[0]):
            case "B":
                _, micros, self._xid = data.take(_BEGIN)
                self._millis, self._changes = micros // 1000 + _EPOCH_MS, []
            case "C":
                _, _, end, _ = data.take(_COMMIT)
                return Transaction(self._xid, end, self._millis, self._changes)
            case "R":
                self._relate(data)
            case "I":
                relation = self._relations[data.take(_OID)]
                data.letter()
                self._changes += self._make_change(relation, INSERT, data.row(), None)
            case "U":
                self._update(data)
            case "D":
                relation = self._relations[data.take(_OID)]
                data.letter()
                self._changes += self._make_change(relation, DELETE, data.row(), None)
            case "T":
                count, _ = data.take(_TRUNCATE)
                for _ in range(count):
                    self._on_truncate(self._relations[data.take(_OID)])
        return None

    def _update(self, data: _Bytes) -> None:
        relation = self._relations[data.take(_OID)]
        before = None
        if data.letter() in "KO":
            before = data.row()
            data.letter()
        self._changes += self._make_change(relation, UPDATE_AFTER, data.row(), before)

    def _relate(self, data: _Bytes) -> None:
        oid, schema, name, identity = data.take(_OID), data.name(), data.name(), data.letter()
        columns = []
        for _ in range(data.take(_SHORT)):
            data.take(_BYTE)
            columns.append(data.name())
            data.take(_COLUMN_TYPE)
        self._relations[oid] = Relation(schema, name, identity, tuple(columns))


class RowChanges:
    """Makes changes of the table's declared columns."""

    def __init__(
        self,
        columns: tuple[str, ...],
        key: tuple[int, ...],
        convert: Callable[[list[Any]], tuple[Any, ...]],
        broken: Callable[[str, str], Exception],
        upsert: bool,
    ):
        self._columns, self._key, self._convert = columns, key, convert
        self._broken, self._upsert = broken, upsert
        self._places: dict[Relation, list[int]] = {}

    def __call__(
        self, relation: Relation, kind: int, values: Values, before: Values | None
    ) -> list[Change]:
        if kind == INSERT:
            return [(UPDATE_AFTER if self._upsert else INSERT, self._row(relation, values))]
        if relation.identity != "f" and not self._upsert:
            raise self._broken(
                "does not tell the rows that are changed",
                f"ALTER TABLE {relation.schema}.{relation.name} REPLICA IDENTITY FULL; or set "
                "'changelog-mode' = 'upsert'.",
            )
        if kind == DELETE:
            return [(DELETE, self._row(relation, values))]
        if before is not None and relation.identity == "f":
            values = [b if v is UNCHANGED else v for v, b in zip(values, before, strict=True)]
        after = self._row(relation, values)
        if not self._upsert:
            assert before is not None
            return [(UPDATE_BEFORE, self._row(relation, before)), (UPDATE_AFTER, after)]
        if before is not None:
            old = self._row(relation, before)
            if any(old[at] != after[at] for at in self._key):
                return [(DELETE, old), (UPDATE_AFTER, after)]
        return [(UPDATE_AFTER, after)]

    def _row(self, relation: Relation, values: Values) -> tuple[Any, ...]:
        places = self._places.get(relation)
        if places is None:
            missing = [name for name in self._columns if name not in relation.columns]
            if missing:
                raise self._broken(
                    f"has lost the column {', '.join(map(repr, missing))}",
                    "Declare the table without it, and go on from a savepoint or begin anew.",
                )
            places = [relation.columns.index(name) for name in self._columns]
            self._places[relation] = places
        row = [values[at] for at in places]
        if UNCHANGED in row:
            raise self._broken(
                f"does not tell the long value of column {self._columns[row.index(UNCHANGED)]!r} "
                "that an update left as it was",
                f"ALTER TABLE {relation.schema}.{relation.name} REPLICA IDENTITY FULL.",
            )
        return self._convert(row)
