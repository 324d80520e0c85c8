"""A table and its changes as a source with one split."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from headrace.connectors.cdc.capture import (
    Capture,
    CapturedTable,
    Change,
    ChangeLog,
    Row,
    TableView,
    Transaction,
)
from headrace.connectors.cdc.places import Place, View
from headrace.connectors.jdbc.databases import Cause, explain
from headrace.connectors.pauses import growing_pauses
from headrace.core.crash_points import reach
from headrace.core.source import LiveReader, Source, Split, SplitEnumerator
from headrace.core.table_connector import (
    DELETE,
    INSERT,
    KIND_TEXTS,
    UPDATE_AFTER,
    UPDATE_BEFORE,
)
from headrace.errors import HeadraceError

_LOG = logging.getLogger("headrace")
_ROWS_AT_ONCE = 8192
_CONFIRM_EVERY_S = 0.5
_MS = 1_000_000


class ChangeSource(Source[Row]):
    """Rows as they are, then their changes: tuples (kind, column, …, metadata, …)."""

    def __init__(
        self,
        table: CapturedTable,
        make_capture: Callable[[CapturedTable], Capture],
        metadata: tuple[str, ...] = (),
    ):
        self.table = table
        self.make_capture = make_capture
        self.metadata = metadata

    def create_enumerator(self) -> SplitEnumerator:
        return _OneTable(self.make_capture(self.table))

    def create_reader(self) -> LiveReader[Row]:
        return ChangeReader(self.make_capture(self.table), self.metadata)


class _OneTable(SplitEnumerator):
    def __init__(self, capture: Capture):
        self._capture = capture
        self._split = Split(capture.table.path)
        self._start: Place | None = None
        self._goes_on = self._checked = False
        self._confirmed: Any = None
        self._confirmed_at = 0.0
        self._confirmations = 0
        self._told_of_failure = False

    def restore(self, splits: list[Split]) -> None:
        self._goes_on = bool(splits)

    def splits(self) -> list[Split]:
        if not self._checked:
            if self._goes_on:
                self._capture.check_going_on()
            else:
                self._start = self._capture.prepare()
            self._checked = True
        return [self._split]

    def initial_position(self, split: Split) -> Any:
        assert self._start is not None
        return self._start.to_json()

    def latest_position(self, split: Split, start: Any) -> Any:
        return start

    def checkpoint_completed(self, positions: dict[str, Any]) -> None:
        found = positions.get(self._split.id)
        is_due = time.monotonic() - self._confirmed_at >= _CONFIRM_EVERY_S
        if found is None or not is_due or found["log"] == self._confirmed:
            return
        self._confirmations += 1
        reach("cdc-confirm.before", self._confirmations)
        self._confirmed_at = time.monotonic()
        try:
            self._capture.confirm(found["log"])
            self._confirmed, self._told_of_failure = found["log"], False
        except Exception as error:
            self._tell_of_failure(error)
        reach("cdc-confirm.after", self._confirmations)

    def _tell_of_failure(self, error: Exception) -> None:
        """The next try comes soon; meanwhile the database keeps more of its log."""
        database = self._capture.database
        if not database.is_driver_error(error):
            raise error
        if not self._told_of_failure:
            text = database.trouble(error).text
            _LOG.warning("%s cannot be told how far it was read: %s", self._capture.where(), text)
        self._told_of_failure = True


class ChangeReader(LiveReader[Row]):
    """Reads the table, then the log; while the database is away it waits."""

    def __init__(self, capture: Capture, metadata: tuple[str, ...]):
        self._capture = capture
        self._describe = _metadata_of(capture.table, metadata)
        self._view: TableView | None = None
        self._log: ChangeLog | None = None
        self._at: Any = None
        """Where the open view or log goes on."""
        self._fetches = 0
        self._pauses, self._try_at, self._away = growing_pauses(), 0.0, False

    def poll(self, split: Split, position: Any) -> tuple[list[Row], Any]:
        if time.monotonic() < self._try_at:
            return [], position
        if position != self._at:
            self.close()
        place = Place.from_json(position)
        try:
            rows, place = self._read_table(place) if place.reads_table else self._read_log(place)
        except Exception as error:
            self.close()
            self._wait_or_raise(error)
            return [], position
        if self._away:
            _LOG.warning("%s answers again", self._capture.where())
            self._pauses, self._away = growing_pauses(), False
        self._at = place.to_json()
        return rows, self._at

    def _wait_or_raise(self, error: Exception) -> None:
        database = self._capture.database
        if isinstance(error, HeadraceError) or not database.is_driver_error(error):
            raise error
        trouble = database.trouble(error)
        if trouble.cause not in (Cause.AWAY, Cause.BUSY):
            raise explain(database, error, "cannot read changes from") from None
        if not self._away:
            where = self._capture.where()
            _LOG.warning("%s does not answer (%s); it is tried again", where, trouble.text)
        self._away = True
        self._try_at = time.monotonic() + next(self._pauses)

    def _read_table(self, place: Place) -> tuple[list[Row], Place]:
        if self._view is None:
            after = place.views[-1].upto if place.views else None
            self._view = self._capture.open_view(after)
            place = replace(place, views=(*place.views, View(self._view.mark, after)))
        found = self._view.fetch(self._capture.table.fetch_size)
        self._fetches += 1
        reach("cdc-table", self._fetches)
        *before, last = place.views
        if not found:
            view, self._view = self._view, None
            view.close()
            place = replace(place, reads_table=False, until=view.until)
            return [], replace(place, views=(*before, View(last.mark)))
        rows = [(INSERT, *row, *self._describe(INSERT, 0)) for row in found]
        return rows, replace(
            place, views=(*before, View(last.mark, self._capture.json_key(found[-1])))
        )

    def _read_log(self, place: Place) -> tuple[list[Row], Place]:
        if self._log is None:
            self._log = self._capture.open_log(place.log)
        rows: list[Row] = []
        for transaction in self._log.read():
            changes = transaction.changes
            if place.views and transaction.end > place.until:
                place = replace(place, views=(), until=None)
            if place.views:
                changes = self._unseen(changes, transaction, place.views)
            describe, millis = self._describe, transaction.millis
            rows += [(kind, *row, *describe(kind, millis)) for kind, row in changes]
            if len(rows) >= _ROWS_AT_ONCE:
                break
        return rows, replace(place, log=self._log.reached)

    def _unseen(
        self, changes: list[Change], transaction: Transaction, views: tuple[View, ...]
    ) -> list[Change]:
        """Without those that the rows had when they were read."""
        seen = [self._capture.has_seen(view.mark, transaction) for view in views]
        if all(seen):
            return []
        if not any(seen):
            return changes
        kept = [not seen[self._part_of(row, views)] for _, row in changes]
        return _without(changes, kept)

    def _part_of(self, row: Row, views: tuple[View, ...]) -> int:
        key = self._capture.json_key(row)
        for number, view in enumerate(views):
            if view.upto is None or self._capture.is_upto(key, view.upto):
                return number
        raise AssertionError("the last view has no end")

    def close(self) -> None:
        for part in (self._view, self._log):
            if part is not None:
                with suppress(Exception):
                    part.close()
        self._view = self._log = None


def _without(changes: list[Change], kept: list[bool]) -> list[Change]:
    """Some changes; half of an update, whose row got a key of another part, is one of its own."""
    found = []
    for at, (kind, row) in enumerate(changes):
        if not kept[at]:
            continue
        if kind == UPDATE_BEFORE and not kept[at + 1]:
            kind = DELETE
        elif kind == UPDATE_AFTER and at and changes[at - 1][0] == UPDATE_BEFORE:
            kind = kind if kept[at - 1] else INSERT
        found.append((kind, row))
    return found


def _metadata_of(
    table: CapturedTable, wanted: tuple[str, ...]
) -> Callable[[int, int], tuple[Any, ...]]:
    if not wanted:
        return lambda kind, millis: ()
    readers: dict[str, Callable[[int, int], Any]] = {
        "database_name": lambda kind, millis: table.database,
        "schema_name": lambda kind, millis: table.schema,
        "table_name": lambda kind, millis: table.name,
        "op_ts": lambda kind, millis: millis * _MS,
        "row_kind": lambda kind, millis: KIND_TEXTS[kind],
    }
    chosen = [readers[name] for name in wanted]
    return lambda kind, millis: tuple(read(kind, millis) for read in chosen)
