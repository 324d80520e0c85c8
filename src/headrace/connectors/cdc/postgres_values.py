"""Values of PostgreSQL's columns: from the texts that it sends to the internal form."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from headrace.connectors.cdc.capture import CapturedTable
from headrace.connectors.jdbc.table_values import inward
from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType
from headrace.errors import UnfitValue

IN_ISO = (
    "-c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres -c bytea_output=hex "
    "-c extra_float_digits=3 -c client_encoding=UTF8"
)
"""Settings of a session that sends such texts."""


def _read_text(type: LogicalType) -> Callable[[str], Any] | None:
    match type:
        case lt.BooleanType():
            return lambda text: text in ("t", "true", "1")
        case lt.BinaryType() | lt.VarBinaryType():
            return lambda text: bytes.fromhex(text.removeprefix("\\x"))
        case lt.DateType():
            return datetime.date.fromisoformat
        case lt.TimeType():
            return datetime.time.fromisoformat
        case lt.TimestampType() | lt.LocalZonedTimestampType():
            return datetime.datetime.fromisoformat
    return None


class RowTexts:
    """Converts the texts of a row."""

    def __init__(self, table: CapturedTable):
        self._table = table
        self._texts = [_read_text(type) for type in table.types]
        self._inward = inward(table.types)

    def __call__(self, row: Sequence[str | None]) -> tuple[Any, ...]:
        at = 0
        values: list[Any] = []
        try:
            for at, (text, read) in enumerate(zip(row, self._texts, strict=True)):  # noqa: B007
                values.append(text if text is None or read is None else read(text))
            return self._inward(values)
        except (ValueError, ArithmeticError):
            raise self._unfit(row, at) from None

    def _unfit(self, row: Sequence[str | None], at: int) -> UnfitValue:
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
