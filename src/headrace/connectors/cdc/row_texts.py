"""Rows in the words of a database, converted to the internal form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.connectors.cdc.capture import CapturedTable
from headrace.connectors.jdbc.table_values import inward
from headrace.errors import UnfitValue


class RowTexts:
    """Converts the texts of a row. `readers`: for each column what makes of its text what a driver
    would give; None: the text itself."""

    def __init__(self, table: CapturedTable, readers: Sequence[Callable[[Any], Any] | None]):
        self._table = table
        self._texts = readers
        self._inward = inward(table.types)

    def __call__(self, row: Sequence[Any]) -> tuple[Any, ...]:
        at = 0
        values: list[Any] = []
        try:
            for at, (text, read) in enumerate(zip(row, self._texts, strict=True)):  # noqa: B007
                values.append(text if text is None or read is None else read(text))
            return self._inward(values)
        except (ValueError, ArithmeticError):
            raise self._unfit(row, at) from None

    def _unfit(self, row: Sequence[Any], at: int) -> UnfitValue:
        for place, (text, type) in enumerate(zip(row, self._table.types, strict=True)):
            read = self._texts[place]
            try:
                inward([type])([text if text is None or read is None else read(text)])
            except (ValueError, ArithmeticError):
                at = place
                break
        return UnfitValue(
            f"column {self._table.columns[at]!r} of table {self._table.path} is declared as "
            f"{self._table.types[at]} and has the value {row[at]!r}",
            hint="Declare the column with the type that it has in the database, or as STRING.",
        )
