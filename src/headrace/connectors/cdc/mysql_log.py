"""The binary log put together to transactions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from headrace.connectors.cdc import binlog_events as be
from headrace.connectors.cdc.binlog_events import Event
from headrace.connectors.cdc.binlog_wire import BinlogWire
from headrace.connectors.cdc.capture import Change, ChangeLog, Transaction
from headrace.connectors.cdc.mysql_places import Place, place_of
from headrace.connectors.cdc.mysql_rows import TableRows

_EVENTS_AT_ONCE = 20_000
_WAIT_S = 1.0
_WHOLE = 1 << 32
_XA_END = re.compile(r"XA (COMMIT|ROLLBACK) X'([0-9a-f]*)',X'([0-9a-f]*)',(\d+)", re.IGNORECASE)
_SAVEPOINT = re.compile(r"(SAVEPOINT|ROLLBACK TO)\s+(?:SAVEPOINT\s+)?(.*)", re.IGNORECASE)


class BinlogLog(ChangeLog):
    """Changes of a table from a place in the log on.

    A transaction that was prepared (XA) is in the log twice: its changes where it was prepared, and
    later what became of it. `find_prepared` looks for changes that were before the place.
    """

    def __init__(
        self,
        wire: BinlogWire,
        start: Place,
        rows: TableRows,
        on_statement: Callable[[be.Query], None],
        broken: Callable[[str, str], Exception],
        find_prepared: Callable[[str, Place], list[Change]] | None,
    ):
        self.wire = wire
        self.reached = start
        self.prepared: dict[str, list[Change]] = {}
        self.prepared_at: dict[str, tuple[Place, Place]] = {}
        """From where to where they are in the log."""
        self.saw_xa = False
        self._rows, self._on_statement, self._broken = rows, on_statement, broken
        self._find_prepared = find_prepared
        self._at = start
        """After the last event."""
        self._before = start
        """After the one before it."""
        self._began = start
        """Where the transaction begins."""
        self._changes: list[Change] = []
        self._savepoints: dict[str, int] = {}

    def read(self) -> Iterator[Transaction]:
        for number, data in enumerate(self.wire.events()):
            transaction = self._take(be.read_event(data))
            if transaction is not None:
                yield transaction
            if number >= _EVENTS_AT_ONCE:
                return

    def read_until(self, end: Place) -> Iterator[Transaction]:
        """All up to a place; of a log that is not followed, which may be waited for."""
        while not self.wire.ended and self._at < end:
            for data in self.wire.events():
                event = be.read_event(data)
                if not event.is_artificial and self._after(event) > end:
                    return
                transaction = self._take(event)
                if transaction is not None:
                    yield transaction
            self.wire.wait(_WAIT_S)

    def began_at(self) -> int:
        """When its file was begun, in seconds."""
        while not self.wire.ended:
            for data in self.wire.events():
                event = be.read_event(data)
                if event.kind == be.FORMAT:
                    return event.seconds
            self.wire.wait(_WAIT_S)
        raise AssertionError("a file of the log begins with its form")

    def _take(self, event: Event) -> Transaction | None:
        if event.kind == be.ROTATE:
            self._at = place_of(*be.read_rotate(event))
            self.reached = max(self.reached, self._at)
            return None
        if not event.is_artificial:
            self._before, self._at = self._at, self._after(event)
        match event.kind:
            case be.TABLE_MAP:
                self._rows.map(event)
            case be.XID:
                return self._commit(event, self._changes)
            case be.QUERY | be.QUERY_COMPRESSED:
                return self._take_query(event)
            case be.XA_PREPARE:
                return self._prepare(event)
            case be.TRANSACTION_PAYLOAD:
                raise self._broken(
                    "is changed by transactions that are compressed in the log",
                    "SET GLOBAL binlog_transaction_compression = OFF; then start the job without "
                    "its checkpoint.",
                )
            case kind if kind in be.BEGINNINGS:
                self._began = self._before
                self._begin()
            case kind if kind in be.ROWS:
                if self._rows.are_of_table(event):
                    self._changes += self._rows.changes(event)
            case be.PARTIAL_UPDATE:
                self._refuse_partial(event)
            case kind if not event.may_be_ignored:
                raise self._broken(
                    f"cannot be followed over an event of kind {kind} in the log",
                    "The server is newer than this reader, or the log is encrypted.",
                )
        return None

    def _after(self, event: Event) -> Place:
        """The place after an event; files may be longer than events can tell."""
        number, offset, base = self._at
        end = event.end + offset - offset % _WHOLE
        return [number, end if end >= offset else end + _WHOLE, base]

    def _begin(self) -> None:
        self._changes, self._savepoints = [], {}

    def _finish(self) -> None:
        self._begin()
        self.reached = self._at

    def _commit(self, event: Event, changes: list[Change]) -> Transaction:
        self._finish()
        return Transaction(None, self._at, event.seconds * 1000, changes)

    def _take_query(self, event: Event) -> Transaction | None:
        query = be.read_query(event)
        text = query.text.strip()
        ended = _XA_END.match(text)
        if ended is not None:
            return self._end_prepared(event, ended)
        match text.upper():
            case "BEGIN":
                self._begin()
            case "COMMIT":
                return self._commit(event, self._changes)
            case "ROLLBACK":
                self._finish()
            case upper if upper.startswith("XA START"):
                self._begin()
            case upper if upper.startswith("XA END"):
                pass
            case _ if (found := _SAVEPOINT.match(text)) is not None:
                self._keep_or_undo(found[1].upper(), found[2])
            case _:
                self._on_statement(query)
                if not self._changes:
                    self.reached = self._at
        return None

    def _keep_or_undo(self, what: str, name: str) -> None:
        if what == "SAVEPOINT":
            self._savepoints[name] = len(self._changes)
        else:
            del self._changes[self._savepoints.get(name, 0) :]

    def _prepare(self, event: Event) -> Transaction | None:
        one_phase, name = be.read_xa_prepare(event)
        if one_phase:
            return self._commit(event, self._changes)
        self.saw_xa = True
        self.prepared[name] = self._changes
        self.prepared_at[name] = self._began, self._at
        self._finish()
        return None

    def _end_prepared(self, event: Event, ended: re.Match[str]) -> Transaction | None:
        self.saw_xa = True
        name = be.xa_name(ended[2], ended[3], int(ended[4]))
        changes = self.prepared.pop(name, None)
        self.prepared_at.pop(name, None)
        if ended[1].upper() == "ROLLBACK" or (changes is None and self._find_prepared is None):
            self._finish()
            return None
        if changes is None:
            assert self._find_prepared is not None
            changes = self._find_prepared(name, self._before)
        return self._commit(event, changes)

    def _refuse_partial(self, event: Event) -> None:
        if self._rows.are_of_table(event):
            raise self._broken(
                "does not tell its JSON values whole",
                "SET GLOBAL binlog_row_value_options = ''; then start the job without its "
                "checkpoint.",
            )

    def close(self) -> None:
        self.wire.close()
