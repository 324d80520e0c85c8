"""Tables one can only write to: print and blackhole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.connectors.tables.options import Options
from headrace.core.logical_types import RowType
from headrace.core.operator import Batch, Operator
from headrace.core.table_connector import (
    CatalogTable,
    ChangelogMode,
    TableConnector,
    TableSink,
)
from headrace.core.table_values import change_text
from headrace.operators.sinks import DiscardOperator, PrintOperator


class PrintRows(PrintOperator):
    """Sends each change as text to the driver, which prints it."""

    def __init__(self, row: RowType, identifier: str | None, to_error: bool):
        super().__init__(None, identifier, to_error=to_error)
        self._types = row.types

    def receive(self, side: int, batch: Batch) -> None:
        lines = [self._start + change_text(record, self._types) for record in batch.values]
        self.ctx.to_driver(("print", lines))


@dataclass(frozen=True)
class PrintSink(TableSink):
    row: RowType
    identifier: str | None = None
    to_error: bool = False

    def accepts(self, wanted: ChangelogMode) -> ChangelogMode:
        return wanted

    def operator(self) -> Operator:
        return PrintRows(self.row, self.identifier, self.to_error)


@dataclass(frozen=True)
class BlackholeSink(TableSink):
    def accepts(self, wanted: ChangelogMode) -> ChangelogMode:
        return wanted

    def native(self, frame: Any) -> Callable[[], None]:
        return lambda: frame.write.format("noop").mode("overwrite").save()

    def operator(self) -> Operator:
        return DiscardOperator()


@dataclass(frozen=True)
class PrintConnector(TableConnector):
    identifier: str = "print"

    def sink(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSink:
        given = Options(self.identifier, options)
        sink = PrintSink(row, given.text("print-identifier"), given.flag("standard-error"))
        given.done()
        return sink


@dataclass(frozen=True)
class BlackholeConnector(TableConnector):
    identifier: str = "blackhole"

    def sink(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSink:
        Options(self.identifier, options).done()
        return BlackholeSink()
