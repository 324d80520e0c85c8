"""Tables whose rows came with the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.core.logical_types import LogicalType
from headrace.core.source import CollectionSpec
from headrace.core.table_connector import APPEND, METADATA_PREFIX, ChangelogMode, TableSource

Row = tuple[Any, ...]


@dataclass(frozen=True)
class RowsSource(TableSource):
    """Rows (kind, column, …) in internal form, all columns and then all metadata."""

    rows: tuple[Row, ...]
    types: tuple[LogicalType, ...]
    """Of the columns that are read."""
    names: tuple[str, ...]
    changelog: ChangelogMode = APPEND
    bounded: bool = True
    columns: tuple[int, ...] | None = None
    """Which columns of the rows are read; None: all."""
    readable_metadata: Mapping[str, LogicalType] | None = None
    width: int | None = None
    """How many columns come before the metadata."""
    lookups: bool = False

    def _chosen(self) -> tuple[Row, ...]:
        if self.columns is None:
            return self.rows
        return tuple((row[0], *(row[at + 1] for at in self.columns)) for row in self.rows)

    def reader(self) -> Any:
        return CollectionSpec(self._chosen())

    def native(self, session: Any, files: list[str] | None = None) -> Any:
        from headrace.spark.native.frames import frame_of_rows

        frame = frame_of_rows(session, tuple(row[1:] for row in self._chosen()), self.types)
        return frame.toDF(*self.names)

    def with_projection(self, columns: tuple[int, ...]) -> TableSource:
        inner = self.columns or tuple(range(len(self.types)))
        return replace(
            self,
            columns=tuple(inner[at] for at in columns),
            types=tuple(self.types[at] for at in columns),
            names=tuple(self.names[at] for at in columns),
        )

    def metadata(self) -> Mapping[str, LogicalType]:
        return self.readable_metadata or {}

    def with_metadata(self, keys: tuple[str, ...]) -> TableSource:
        known = list(self.metadata())
        width = len(self.types) if self.width is None else self.width
        extra = tuple(width + known.index(key) for key in keys)
        return replace(
            self,
            columns=(*(self.columns or range(len(self.types))), *extra),
            types=(*self.types, *(self.metadata()[key] for key in keys)),
            names=(*self.names, *(METADATA_PREFIX + key for key in keys)),
        )

    def lookup(self, keys: tuple[int, ...]) -> Any:
        return RowsByKey(self._chosen(), keys) if self.lookups else None


class RowsByKey:
    """Finds rows by the values of some columns."""

    def __init__(self, rows: Sequence[Row], keys: tuple[int, ...]):
        self._found: dict[Row, list[Row]] = {}
        for row in rows:
            name = tuple(row[key + 1] for key in keys)
            if None not in name:
                self._found.setdefault(name, []).append(row[1:])

    def __call__(self, key: Row) -> list[Row]:
        return self._found.get(key, [])
