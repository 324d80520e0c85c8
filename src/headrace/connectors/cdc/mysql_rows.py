"""Changes of one table's declared columns, of the events of the binary log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from headrace.connectors.cdc import binlog_types as bt
from headrace.connectors.cdc.binlog_events import (
    DELETES,
    UPDATES,
    Event,
    read_rows,
    read_table_id,
    read_table_map,
    read_table_name,
)
from headrace.connectors.cdc.binlog_values import RowReader, UnreadableColumn
from headrace.connectors.cdc.capture import CapturedTable, Change
from headrace.connectors.cdc.mysql_values import row_texts
from headrace.connectors.cdc.row_texts import RowTexts
from headrace.core.table_connector import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE

_KINDS = {bt.TIMESTAMP2: "timestamp", bt.FLOAT: "float", bt.DOUBLE: "double"}


@dataclass(frozen=True)
class _Form:
    """How rows were when they were written."""

    places: dict[str, int]
    reader: RowReader
    convert: RowTexts
    width: int


class TableRows:
    """What events tell of the table; without one they tell nothing."""

    def __init__(
        self,
        table: CapturedTable | None,
        zone: ZoneInfo,
        charsets: Mapping[int, str],
        broken: Callable[[str, str], Exception],
        *,
        of_mariadb: bool,
    ):
        self._table, self._zone, self._charsets = table, zone, charsets
        self._broken, self._of_mariadb = broken, of_mariadb
        self._ids: dict[int, bytes] = {}
        self._forms: dict[bytes, _Form] = {}

    def map(self, event: Event) -> None:
        """Which table the number means from now on."""
        number = read_table_id(event)
        database, name, _ = read_table_name(event)
        table = self._table
        if table is not None and (database, name) == (table.database, table.name):
            self._ids[number] = event.body[8:]
            if self._ids[number] not in self._forms:
                self._forms[self._ids[number]] = self._form(event, table)
        else:
            self._ids.pop(number, None)

    def are_of_table(self, event: Event) -> bool:
        return read_table_id(event) in self._ids

    def changes(self, event: Event) -> list[Change]:
        form = self._forms[self._ids[read_table_id(event)]]
        rows, width = read_rows(event)
        if width != form.width:
            raise self._broken(
                f"has rows of {width} columns in the log, and {form.width} were announced",
                "Is the log damaged? Start the job without its checkpoint.",
            )
        self._check_present(form, rows.before & rows.after)
        before, after = sorted(rows.before), sorted(rows.after)
        found: list[Change] = []
        at, data = 0, rows.data
        kind = DELETE if event.kind in DELETES else INSERT
        while at < len(data):
            values, at = form.reader.read(data, at, before)
            if event.kind in UPDATES:
                found.append((UPDATE_BEFORE, form.convert(values)))
                values, at = form.reader.read(data, at, after)
                found.append((UPDATE_AFTER, form.convert(values)))
            else:
                found.append((kind, form.convert(values)))
        return found

    def _check_present(self, form: _Form, present: frozenset[int]) -> None:
        missing = [name for name, place in form.places.items() if place not in present]
        if missing:
            raise self._broken(
                f"does not tell column {', '.join(map(repr, missing))} of rows that are changed",
                "SET GLOBAL binlog_row_image = 'FULL', and see that no session has another; then "
                "start the job without its checkpoint. Virtual columns are not in the log.",
            )

    def _form(self, event: Event, table: CapturedTable) -> _Form:
        columns = read_table_map(event, of_mariadb=self._of_mariadb).columns
        names = [column.name for column in columns]
        if not all(names):
            raise self._broken(
                "was changed without the columns' names in the log",
                "SET GLOBAL binlog_row_metadata = 'FULL'; then start the job without its "
                "checkpoint, or from a place after that.",
            )
        missing = [name for name in table.columns if name not in names]
        if missing:
            raise self._broken(
                f"has lost the column {', '.join(map(repr, missing))}",
                "Declare the table without it, and go on from a savepoint or begin anew.",
            )
        places = {name: names.index(name) for name in table.columns}
        try:
            reader = RowReader(columns, tuple(places.values()), self._charsets)
        except UnreadableColumn as why:
            raise self._broken(str(why), "ALTER the column to a type of today.") from None
        kinds = [_KINDS.get(columns[place].code, "") for place in places.values()]
        return _Form(places, reader, row_texts(table, kinds, self._zone), len(columns))
