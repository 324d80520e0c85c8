"""Files of messages as rows: a message on each line, or a file that holds many."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from headrace.connectors.tables.bad_rows import DeadLetters
from headrace.connectors.tables.line_reading import DEAD_LETTER, FAIL
from headrace.core.accumulators import LongCounter
from headrace.core.logical_types import BYTES, STRING, LogicalType, RowType
from headrace.core.operator import Batch, Context, Operator
from headrace.core.table_connector import BadRows
from headrace.errors import Unsupported
from headrace.formats.messages.avro_formats import AvroMessages
from headrace.formats.messages.message_format import (
    BadMessage,
    Change,
    MessageFormat,
    bad_message,
    shown_message,
)
from headrace.operators.sinks import WriteOperator

__all__ = ["MESSAGE_COLUMNS", "MessageFiles", "bad_messages"]

MESSAGE_COLUMNS: tuple[LogicalType, ...] = (BYTES, STRING)
"""What Spark gives before other columns: a line, or nothing where a file holds the messages, and
the file's path."""
_ROWS_AT_ONCE = 2048
_Read = Callable[[bytes | None, str], Iterator[list[Change]]]


@dataclass(frozen=True)
class MessageFiles:
    """How records of Spark's, (kind, line, path, other, …), become rows of the table."""

    format: MessageFormat
    columns: RowType
    """Those that are read and stand in messages."""
    metadata: tuple[str, ...] = ()
    picks: tuple[int, ...] | None = None
    """Where a row's values stand among columns, metadata and others; None: in that order."""
    whole: bool = False
    """Whether a file is not of lines: it holds messages in its own way."""
    bad_rows: str = FAIL

    def reader(self) -> _Read:
        """Makes the function that reads a record; it raises BadMessage."""
        if not self.whole:
            decode = self.format.decoder(self.columns, self.metadata)
            return lambda line, path: iter((decode(line or b""),))
        assert isinstance(self.format, AvroMessages)
        read = self.format.file_reader(self.columns)

        def pieces(line: bytes | None, path: str) -> Iterator[list[Change]]:
            with Path(shown_path(path)).open("rb") as file:
                changes = read(file)
                while part := list(islice(changes, _ROWS_AT_ONCE)):
                    yield part

        return pieces

    def arrange(self) -> Callable[[list[Change], tuple[Any, ...]], list[Change]]:
        """Puts the others of a record, such as its file's name, to their places in rows."""
        if self.picks is None:
            return lambda changes, others: changes
        if not self.picks:
            return lambda changes, others: [(change[0],) for change in changes]
        pick = itemgetter(0, *(at + 1 for at in self.picks))
        return lambda changes, others: [pick(change + others) for change in changes]


def shown_path(path: str) -> str:
    """A path of Spark's as users write it."""
    local = re.sub("^file:/+", "/", unquote(path))
    if re.match(r"\w[\w+.-]*://", local):
        raise Unsupported(
            f"{local} cannot be opened: only files in folders that all workers see",
            hint="Copy it to such a folder, or use a format that Spark reads, such as parquet.",
        )
    return local


class ReadMessages(Operator):
    """Makes rows of messages. Those that are none end the job, or are counted and left out."""

    def __init__(self, files: MessageFiles, label: str):
        self._files = files
        self._label = label

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._read, self._arrange = self._files.reader(), self._files.arrange()
        self._count = LongCounter()
        if self._files.bad_rows != FAIL:
            ctx.accumulators[self._label] = self._count
            self._metric = ctx.metrics.counter("numBadRows")

    def receive(self, side: int, batch: Batch) -> None:
        rows: list[Change] = []
        for _, line, path, *others in batch.values:
            try:
                for changes in self._read(line, path):
                    rows += self._arrange(changes, tuple(others))
                    if len(rows) >= _ROWS_AT_ONCE:
                        self.ctx.emit(rows, None)
                        rows = []
            except BadMessage as error:
                self._note(error, line, path)
        if rows:
            self.ctx.emit(rows, None)

    def _note(self, error: BadMessage, line: bytes | None, path: str) -> None:
        if self._files.bad_rows == FAIL:
            name = self._files.format.name
            raise bad_message(name, shown_path(path), error, line or b"") from None
        self._count.add(1)
        self._metric.inc(1)


class KeepMessages(DeadLetters):
    """Writes the messages that are no rows."""

    def __init__(self, files: MessageFiles, table: str, folder: str):
        super().__init__(table, folder)
        self._files = files

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._read = self._files.reader()

    def receive(self, side: int, batch: Batch) -> None:
        bad = []
        for _, line, path, *_ in batch.values:
            try:
                for _ in self._read(line, path):
                    pass
            except BadMessage as error:
                bad.append((str(error), shown_message(line or b""), shown_path(path)))
        if bad:
            WriteOperator.receive(self, side, Batch(bad))


def bad_messages(files: MessageFiles, table: str, folder: str | None) -> BadRows:
    """The operators that read a table's messages, and keep those that are no rows."""
    outcome = "skipped" if folder is None else f"kept in {folder}"
    read = ReadMessages(files, f"bad rows of {table} ({outcome})")
    if files.bad_rows != DEAD_LETTER or folder is None:
        return BadRows(read)
    return BadRows(read, KeepMessages(files, table, folder))
