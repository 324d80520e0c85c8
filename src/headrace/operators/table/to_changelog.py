"""TO_CHANGELOG: a changelog as a table of changes, to which rows are only added."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.operator import Batch
from headrace.core.table_connector import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.errors import InvalidArgument
from headrace.operators.table.keyed_changes import Row, TableOperator

KIND_NAMES = {
    "INSERT": INSERT, "UPDATE_BEFORE": UPDATE_BEFORE, "UPDATE_AFTER": UPDATE_AFTER,
    "DELETE": DELETE,
}  # fmt: skip
EVERY_CHANGE = tuple((name, name) for name in KIND_NAMES)
"""The operations where the query names none: each change is called what it is."""


def kind_of(name: str) -> int:
    """The number of a kind of change."""
    kind = KIND_NAMES.get(name.strip().upper())
    if kind is None:
        raise InvalidArgument(
            f"{name!r} is no kind of change", hint=f"There are {', '.join(KIND_NAMES)}."
        )
    return kind


class ToChangelogOperator(TableOperator):
    """Emits (+I, text of the operation, *columns); changes without a text are left out.

    `operations` are pairs of a change's name (or several, with commas) and its text. Columns of
    `partition` come before the text, the others after it.
    """

    def __init__(
        self, width: int, operations: Sequence[tuple[str, str]] = EVERY_CHANGE,
        partition: Sequence[int] | None = None,
    ):  # fmt: skip
        self._texts: list[str | None] = [None] * len(KIND_NAMES)
        for names, text in operations:
            for name in names.split(","):
                self._texts[kind_of(name)] = text
        self._front = [column + 1 for column in partition or ()]
        self._rest = [column + 1 for column in range(width) if column + 1 not in self._front]

    def receive(self, side: int, batch: Batch) -> None:
        texts, stamps = self._texts, batch.timestamps
        wanted = [texts[row[0]] is not None for row in batch.values]
        rows = [self._told(row) for row, keep in zip(batch.values, wanted, strict=True) if keep]
        if stamps is not None:
            stamps = [stamp for stamp, keep in zip(stamps, wanted, strict=True) if keep]
        if rows:
            self.ctx.emit(rows, stamps)

    def _told(self, row: Row) -> Row:
        text = self._texts[row[0]]
        if not self._front:
            return (INSERT, text, *row[1:])
        return (INSERT, *[row[at] for at in self._front], text, *[row[at] for at in self._rest])
