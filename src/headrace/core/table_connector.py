"""What a table needs to know of the outside: how its rows are read and written."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.core.expressions import Expression
from headrace.core.logical_types import Field, RowType
from headrace.errors import Unsupported

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = 0, 1, 2, 3
KIND_TEXTS = ("+I", "-U", "+U", "-D")
LEGACY_CSV = "legacy-csv"
"""The format of files that tables with 'connector.type' have; nobody else names it."""
METADATA_PREFIX = "$metadata$"
"""Begins the names of a source's columns that are metadata."""


@dataclass(frozen=True)
class ChangelogMode:
    """Which kinds of changes a stream of rows has.

    `key` are the columns by which updates and deletions name the row they mean; None where a
    deletion repeats the whole row. With UPDATE_AFTER but no UPDATE_BEFORE there must be a key.
    """

    updates_before: bool = False
    updates_after: bool = False
    deletes: bool = False
    key: tuple[int, ...] | None = None
    deletes_by_key: bool = False
    """Whether a deletion may have only the key's columns filled."""

    @property
    def insert_only(self) -> bool:
        return not (self.updates_before or self.updates_after or self.deletes)

    @property
    def upsert(self) -> bool:
        return self.updates_after and not self.updates_before

    def __str__(self) -> str:
        kinds = "I" + ",UB" * self.updates_before + ",UA" * self.updates_after + ",D" * self.deletes
        return f"[{kinds}]"


APPEND = ChangelogMode()
RETRACT = ChangelogMode(updates_before=True, updates_after=True, deletes=True)


@dataclass(frozen=True)
class TableColumn:
    """A column as it was declared: physical, computed (`expression`), or of metadata."""

    field: Field
    computed: str | None = None
    """The expression's text, as SQL; resolved when the table is read."""
    metadata: str | None = None
    """The name of the metadata it shows."""
    virtual: bool = False
    """Of metadata: only read, never written."""

    @property
    def physical(self) -> bool:
        return self.computed is None and self.metadata is None


@dataclass(frozen=True)
class WatermarkText:
    """WATERMARK FOR column AS expression, as SQL text."""

    column: str
    expression: str


@dataclass(frozen=True)
class TableSchema:
    columns: tuple[TableColumn, ...]
    watermark: WatermarkText | None = None
    primary_key: tuple[str, ...] | None = None
    primary_key_name: str | None = None

    def column(self, name: str) -> TableColumn | None:
        return next((column for column in self.columns if column.field.name == name), None)


@dataclass(frozen=True)
class CatalogTable:
    """A table as a catalog keeps it."""

    schema: TableSchema
    options: Mapping[str, str] = field(default_factory=dict)
    partition_keys: tuple[str, ...] = ()
    comment: str | None = None
    connector: Any = None
    """For a table made by a program, not by options: the object that is its connector."""
    distribution: str | None = None


@dataclass(frozen=True)
class BadRows:
    """Operators for a source whose records include rows that could not be read."""

    take_out: Any
    """Makes rows of the table of what `reader` gives."""
    keep: Any = None
    """A sink of the same records, which writes the others; None: nobody wants them."""


class TableSource(ABC):
    """How rows of a table are read. Rows have the physical columns, then the wanted metadata.

    A source is at least one of two things: something Spark reads itself (`native`), or records that
    readers in the workers make (`reader`).
    """

    bounded = True
    changelog = APPEND
    makes_watermarks = False
    """Whether Flink lets the source itself make watermarks; then one may be of 1970 or before."""

    by_files = False
    """Whether Spark reads it from files, which can be read one after the other."""

    def native(self, session: Any, files: list[str] | None = None) -> Any:
        """A Spark DataFrame with the table's columns by name; None if Spark cannot read it.

        Columns of metadata are named METADATA_PREFIX and the metadata's name. `files`: of a table
        made of files, only these.
        """
        return None

    def reader(self) -> Any:
        """A `headrace.core.source.SourceSpec` of tuples (kind, column, …) in internal form; None
        if only Spark can read it."""
        return None

    def bad_rows(self, name: str) -> BadRows | None:
        """What to do with rows that could not be read, if `reader` gives them too; `name` is the
        table's."""
        return None

    def lookup(self, keys: tuple[int, ...]) -> Any:
        """A picklable function, plain or async, from a tuple of the columns' values to rows (no
        kind); None if rows cannot be looked up."""
        return None

    def metadata(self) -> Mapping[str, Any]:
        """Types (`LogicalType`) of the metadata that can be read, by name."""
        return {}

    def with_metadata(self, keys: tuple[str, ...]) -> TableSource:
        """The same source, whose rows have these metadata after the physical columns."""
        return self

    def with_projection(self, columns: tuple[int, ...]) -> TableSource | None:
        """The same source with only these columns; None if it always reads all."""
        return None

    def with_filter(self, conditions: tuple[Expression, ...]) -> tuple[TableSource, Any] | None:
        """The same source that leaves out what the conditions exclude, and the conditions it could
        not use; None if it cannot filter."""
        return None


class TableSink(ABC):
    """How rows of a table are written: tuples (kind, column, …) in internal form."""

    def accepts(self, wanted: ChangelogMode) -> ChangelogMode:
        """The changes it takes of a query that would give `wanted`; APPEND by default."""
        return APPEND

    def native(self, frame: Any) -> Callable[[], None] | None:
        """A function that writes a Spark DataFrame of inserts; None if it wants rows."""
        return None

    def overwriting(self) -> TableSink | None:
        """The same sink, which first removes the rows that are there; None if it cannot."""
        return None

    def prepare(self) -> None:
        """A statement that writes here begins to run."""
        return

    def operator(self) -> Any:
        """The `headrace.core.operator.Operator` that writes rows."""
        raise Unsupported(
            f"{type(self).__name__} only writes the result of queries over tables that end",
            hint="Override operator() to write rows of streams, too.",
        )


@dataclass(frozen=True)
class TableConnector(ABC):
    """A kind of table that WITH ('connector' = '…') names; one line in the list of connectors."""

    identifier: str

    def source(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSource:
        """How to read such a table; `row` are its physical columns."""
        raise Unsupported(
            f"tables of connector '{self.identifier}' can only be written",
            hint="Read from a table of another connector.",
        )

    def sink(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSink:
        """How to write such a table; `row` are its columns without computed and virtual ones."""
        raise Unsupported(
            f"tables of connector '{self.identifier}' can only be read",
            hint="Write to a table of another connector.",
        )
