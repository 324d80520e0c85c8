"""What keyed operators over changelogs share: taking rows in, and when changes go out.

With `per_record` every row is answered at once, as Flink does without mini-batches. Otherwise the
rows of a key wait for the end of the micro-batch and are answered together, with one change.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from headrace.core.operator import Batch, Context, Operator
from headrace.core.state import S, StateDescriptor
from headrace.core.state_ttl import StateTtlConfig
from headrace.core.table_connector import INSERT
from headrace.core.time import Duration
from headrace.core.user_code import RecordFailure

Row = tuple[Any, ...]
"""A change: its kind, then the columns."""
NANOS_PER_MS = 1_000_000


def is_retraction(row: Row) -> bool:
    """Whether a change takes a row back: -U and -D have odd numbers."""
    return bool(row[0] & 1)


def of_kind(kind: int, row: Row) -> Row:
    """The same columns as a change of another kind."""
    return row if row[0] == kind else (kind, *row[1:])


def as_insert(row: Row) -> Row:
    return row if row[0] == INSERT else (INSERT, *row[1:])


def with_ttl(descriptor: StateDescriptor[S], ttl_ms: int | None) -> StateDescriptor[S]:
    """The descriptor of state that expires after that long without a write; None or 0: never."""
    if ttl_ms:
        config = StateTtlConfig.new_builder(Duration.of_millis(ttl_ms)).build()
        descriptor.enable_time_to_live(config)
    return descriptor


class TableOperator(Operator):
    """An operator that emits rows; those of a table with event time have it as timestamp."""

    time: int | None = None
    """Which column is the rows' event time."""

    def emit_rows(self, rows: list[Row]) -> None:
        if not rows:
            return
        if self.time is None:
            self.ctx.emit(rows, None)
            return
        at = self.time + 1
        stamps = [None if row[at] is None else row[at] // NANOS_PER_MS for row in rows]
        self.ctx.emit(rows, stamps)


class KeyedChangesOperator(TableOperator):
    """Answers the rows of one key with changes."""

    keyed = True
    step = "the changes of a key"
    """What it does, in words, for messages about records that fail."""

    def __init__(
        self, *, per_record: bool = False, emits_before: bool = True, ttl_ms: int | None = None,
        time: int | None = None,
    ):  # fmt: skip
        self.per_record = per_record
        self.emits_before = emits_before
        self.ttl_ms = ttl_ms
        self.time = time

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._waiting: dict[Any, list[Row]] = {}

    @abstractmethod
    def change(self, key: Any, rows: Sequence[Row], out: list[Row]) -> None:
        """Take rows of the current key in, in order, and append what changed to `out`."""

    def receive(self, side: int, batch: Batch) -> None:
        assert batch.keys is not None
        if self.per_record:
            self._answer(zip(batch.keys, ([row] for row in batch.values), strict=True))
            return
        waiting = self._waiting
        for key, row in zip(batch.keys, batch.values, strict=True):
            rows = waiting.get(key)
            if rows is None:
                waiting[key] = [row]
            else:
                rows.append(row)

    def _answer(self, groups: Any) -> None:
        out: list[Row] = []
        scope, change = self.ctx.scope, self.change
        key: Any = None
        rows: Sequence[Row] = ()
        try:
            for key, rows in groups:
                scope.key = key
                change(key, rows, out)
        except RecordFailure:
            raise
        except Exception as error:
            raise RecordFailure(error, self.step, rows[-1] if rows else None, key) from error
        self.emit_rows(out)

    def flush(self) -> None:
        """Answer the rows that wait."""
        if self._waiting:
            waiting, self._waiting = self._waiting, {}
            self._answer(waiting.items())

    def end_round(self) -> None:
        self.flush()

    def finish(self) -> None:
        # What comes after this operator must have its rows before it is told to finish.
        self.flush()
