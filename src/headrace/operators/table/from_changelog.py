"""FROM_CHANGELOG: a table of changes as the table that they change."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.operator import Batch
from headrace.core.user_code import RecordFailure
from headrace.errors import InvalidArgument
from headrace.operators.table.keyed_changes import Row, TableOperator
from headrace.operators.table.to_changelog import EVERY_CHANGE, kind_of

FAIL, SKIP = "FAIL", "SKIP"


class FromChangelogOperator(TableOperator):
    """Emits the input's columns without the one of the operation, as changes of that kind.

    `operations` are pairs of a change's name and the text (or several, with commas) that stands
    for it. Rows with any other text make the job fail, or are skipped if `on_unknown` says so.
    Columns of `partition` come first.
    """

    def __init__(
        self, width: int, operation: int, operations: Sequence[tuple[str, str]] = EVERY_CHANGE,
        partition: Sequence[int] | None = None, on_unknown: str = FAIL,
    ):  # fmt: skip
        self._operation = operation + 1
        self._kinds = {
            text.strip(): kind_of(name) for name, texts in operations for text in texts.split(",")
        }
        front = [column + 1 for column in partition or ()]
        rest = [place for place in range(1, width + 1) if place not in (*front, operation + 1)]
        self._columns = [*front, *rest]
        self._skips = on_unknown.upper() == SKIP

    def receive(self, side: int, batch: Batch) -> None:
        rows: list[Row] = []
        stamps: list[int | None] | None = None if batch.timestamps is None else []
        columns, at, kinds = self._columns, self._operation, self._kinds
        for place, row in enumerate(batch.values):
            kind = kinds.get(row[at])
            if kind is None:
                if self._skips:
                    continue
                raise RecordFailure(self._unknown(row[at]), "FROM_CHANGELOG", row)
            rows.append((kind, *[row[column] for column in columns]))
            if stamps is not None and batch.timestamps is not None:
                stamps.append(batch.timestamps[place])
        if rows:
            self.ctx.emit(rows, stamps)

    def _unknown(self, text: object) -> InvalidArgument:
        return InvalidArgument(
            f"{text!r} stands for no change; known are {', '.join(map(repr, self._kinds))}",
            hint="Add it to op_mapping, or let such rows be skipped: error_handling => 'SKIP'.",
        )
