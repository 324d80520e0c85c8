"""Rows that came with the program, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headrace.core.logical_types import RowType
from headrace.core.source import CollectionSpec, SourceSpec
from headrace.core.table_columns import from_arrow, to_arrow
from headrace.core.table_connector import INSERT, TableSource
from headrace.spark.native.types import quoted, spark_type


class ElementSource(TableSource):
    """Rows in internal form, or columns of Arrow; each is made of the other when it is needed."""

    def __init__(
        self, row: RowType, rows: Sequence[tuple[Any, ...]] | None = None,
        columns: pa.Table | None = None,
    ) -> None:  # fmt: skip
        self._row = row
        self._rows = rows
        self._columns = columns

    def native(self, session: Any, files: list[str] | None = None) -> Any:
        if self._columns is None:
            assert self._rows is not None
            arrays = [
                to_arrow([row[index] for row in self._rows], type)
                for index, type in enumerate(self._row.types)
            ]
            self._columns = pa.Table.from_arrays(arrays, names=list(self._row.names))
        declared = (f"{quoted(f.name)} {spark_type(f.type)}" for f in self._row.fields)
        return session.createDataFrame(self._columns, ", ".join(declared))

    def reader(self) -> SourceSpec:
        return CollectionSpec(tuple((INSERT, *row) for row in self._as_rows()))

    def _as_rows(self) -> Sequence[tuple[Any, ...]]:
        if self._rows is None:
            assert self._columns is not None
            lists = [
                from_arrow(self._columns.column(index), type)
                for index, type in enumerate(self._row.types)
            ]
            self._rows = list(zip(*lists, strict=True))
        return self._rows
