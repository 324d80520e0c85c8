"""ResolvedSchema: a table's columns with their types, and what is known of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.logical_types import Field, LogicalType, materialized
from headrace.core.table_connector import CatalogTable
from headrace.errors import InvalidArgument
from headrace.graph.relations import AssignWatermark, Relation
from headrace.origin import calling_origin
from headrace.sql.ddl_text import primary_key_name
from headrace.table.data_types import DataType, RowField, RowType
from headrace.table.schema import Schema
from headrace.table.type_mapping import data_type_of, logical_type_of

__all__ = [
    "Column",
    "ComputedColumn",
    "Constraint",
    "MetadataColumn",
    "PhysicalColumn",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]

_SOURCE_WATERMARK = "SOURCE_WATERMARK()"
"""It is of the type of its column."""


def type_text(type: LogicalType) -> str:
    """A type with its mark as a time attribute at the end, as Flink shows it in schemas."""
    if lt.is_time_attribute(type):
        kind = type.kind.upper()  # type: ignore[attr-defined]
        return f"{lt.materialized(type)} *{kind}*"
    return str(type)


class Column(ABC):
    """A column of a table."""

    def __init__(self, name: str, type: LogicalType, comment: str | None = None) -> None:
        self._name = name
        self._type = type
        self._comment = comment

    @staticmethod
    def physical(name: str, data_type: DataType) -> PhysicalColumn:
        return PhysicalColumn(name, logical_type_of(data_type))

    @staticmethod
    def computed(name: str, resolved_expression: Any) -> ComputedColumn:
        """A column that is computed; the expression knows its type."""
        type = logical_type_of(resolved_expression.get_output_data_type())
        return ComputedColumn(name, type, resolved_expression)

    @staticmethod
    def metadata(
        name: str, data_type: DataType, metadata_key: str | None, is_virtual: bool
    ) -> MetadataColumn:
        return MetadataColumn(name, logical_type_of(data_type), metadata_key, is_virtual)

    def get_name(self) -> str:
        return self._name

    def get_data_type(self) -> DataType:
        return data_type_of(self._type)

    @property
    def logical(self) -> LogicalType:
        return self._type

    def get_comment(self) -> str | None:
        return self._comment

    def as_summary_string(self) -> str:
        extra = self.explain_extras()
        comment = "" if self._comment is None else f" COMMENT '{self._comment}'"
        tail = "" if extra is None else f" {extra}"
        return f"`{self._name}` {type_text(self._type)}{tail}{comment}"

    def __str__(self) -> str:
        return self.as_summary_string()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def _changed(self, **changes: Any) -> Any:
        made = self.__class__.__new__(self.__class__)
        vars(made).update(vars(self), **changes)
        return made

    def with_comment(self, comment: str | None) -> Any:
        return self._changed(_comment=comment)

    def copy(self, new_type: DataType) -> Any:
        """The same column with another type."""
        return self._changed(_type=logical_type_of(new_type))

    def rename(self, new_name: str) -> Any:
        return self._changed(_name=new_name)

    @abstractmethod
    def is_physical(self) -> bool: ...

    @abstractmethod
    def is_persisted(self) -> bool: ...

    @abstractmethod
    def explain_extras(self) -> str | None: ...


class PhysicalColumn(Column):
    """A column that the table stores."""

    def is_physical(self) -> bool:
        return True

    def is_persisted(self) -> bool:
        return True

    def explain_extras(self) -> str | None:
        return None


class ComputedColumn(Column):
    """A column that is computed when it is read."""

    def __init__(self, name: str, type: LogicalType, expression: Any) -> None:
        super().__init__(name, type)
        self._expression = expression

    def is_physical(self) -> bool:
        return False

    def is_persisted(self) -> bool:
        return False

    def get_expression(self) -> Any:
        return self._expression

    def explain_extras(self) -> str | None:
        return f"AS {self._expression}"


class MetadataColumn(Column):
    """A column that shows what the connector knows."""

    def __init__(self, name: str, type: LogicalType, key: str | None, virtual: bool) -> None:
        super().__init__(name, type)
        self._key = key
        self._virtual = virtual

    def is_physical(self) -> bool:
        return False

    def is_persisted(self) -> bool:
        return not self._virtual

    def is_virtual(self) -> bool:
        return self._virtual

    def get_metadata_key(self) -> str | None:
        return self._key

    def explain_extras(self) -> str | None:
        source = "" if self._key is None else f" FROM '{self._key}'"
        return f"METADATA{source}{' VIRTUAL' if self._virtual else ''}"


class WatermarkSpec:
    """The column of event time, and how far behind it time is known to be."""

    def __init__(self, rowtime_attribute: str, expression: Any, type: LogicalType) -> None:
        self._attribute = rowtime_attribute
        self._expression = expression
        self._type = type

    @staticmethod
    def of(rowtime_attribute: str, watermark_expression: Any) -> WatermarkSpec:
        type = logical_type_of(watermark_expression.get_output_data_type())
        return WatermarkSpec(rowtime_attribute, watermark_expression, type)

    def get_rowtime_attribute(self) -> str:
        return self._attribute

    def get_watermark_expression(self) -> Any:
        return self._expression

    def as_summary_string(self) -> str:
        type = lt.materialized(self._type).with_nullable(True)
        return f"WATERMARK FOR `{self._attribute}`: {type} AS {self._expression}"

    def __str__(self) -> str:
        return self.as_summary_string()


class Constraint(ABC):
    """Something that holds for all rows of a table."""

    class ConstraintType(Enum):
        PRIMARY_KEY = 0
        UNIQUE_KEY = 1

    def __init__(self, name: str, kind: Constraint.ConstraintType) -> None:
        self._name = name
        self._kind = kind

    def get_name(self) -> str:
        return self._name

    def is_enforced(self) -> bool:
        """Nobody checks it: programs promise it."""
        return False

    def get_type(self) -> Constraint.ConstraintType:
        return self._kind

    @abstractmethod
    def as_summary_string(self) -> str: ...

    def __str__(self) -> str:
        return self.as_summary_string()


class UniqueConstraint(Constraint):
    """Columns whose values no two rows share."""

    def __init__(self, name: str, columns: Sequence[str]) -> None:
        super().__init__(name, Constraint.ConstraintType.PRIMARY_KEY)
        self._columns = list(columns)

    @staticmethod
    def primary_key(name: str, columns: Sequence[str]) -> UniqueConstraint:
        return UniqueConstraint(name, columns)

    def get_columns(self) -> list[str]:
        return list(self._columns)

    def get_type_string(self) -> str:
        return "PRIMARY KEY"

    def as_summary_string(self) -> str:
        listed = ", ".join(f"`{column}`" for column in self._columns)
        return f"CONSTRAINT `{self._name}` PRIMARY KEY ({listed}) NOT ENFORCED"


class ResolvedSchema:
    """Columns, watermarks and the primary key of a table."""

    def __init__(
        self, columns: Iterable[Column] = (), watermark_specs: Iterable[WatermarkSpec] = (),
        primary_key: UniqueConstraint | None = None,
    ) -> None:  # fmt: skip
        self._columns = list(columns)
        self._watermarks = list(watermark_specs)
        self._key = primary_key

    @staticmethod
    def of(columns: Iterable[Column]) -> ResolvedSchema:
        return ResolvedSchema(columns)

    @staticmethod
    def physical(
        column_names: Sequence[str], column_data_types: Sequence[DataType]
    ) -> ResolvedSchema:
        pairs = zip(column_names, column_data_types, strict=True)
        return ResolvedSchema([Column.physical(name, type) for name, type in pairs])

    @staticmethod
    def of_fields(fields: Iterable[Field]) -> ResolvedSchema:
        return ResolvedSchema([PhysicalColumn(f.name, f.type, f.description) for f in fields])

    @staticmethod
    def of_relation(relation: Relation) -> ResolvedSchema:
        """The columns of a query."""
        return ResolvedSchema.of_fields(relation.schema)

    @staticmethod
    def of_table(table: CatalogTable, relation: Relation) -> ResolvedSchema:
        """The columns of a table as it was declared, with the types of its relation."""
        columns: list[Column] = []
        for declared, field in zip(table.schema.columns, relation.schema, strict=True):
            name, type = field.name, field.type
            if declared.computed is not None:
                columns.append(ComputedColumn(name, type, declared.computed))
            elif declared.metadata is not None:
                key = None if declared.metadata == name else declared.metadata
                columns.append(MetadataColumn(name, type, key, declared.virtual))
            else:
                columns.append(PhysicalColumn(name, type, declared.field.description))
        marks = []
        mark = table.schema.watermark
        if mark is not None and isinstance(relation, AssignWatermark):
            type = relation.watermark.type
            if mark.expression.upper() == _SOURCE_WATERMARK:
                type = materialized(relation.types[relation.names.index(mark.column)])
            marks.append(WatermarkSpec(mark.column, mark.expression, type))
        keys = None
        if table.schema.primary_key is not None:
            name = table.schema.primary_key_name or primary_key_name(table.schema.primary_key)
            keys = UniqueConstraint(name, table.schema.primary_key)
        return ResolvedSchema(columns, marks, keys)

    def as_schema(self) -> Schema:
        """The same as a program would declare it."""
        builder = Schema.new_builder()
        for column in self._columns:
            name, type = column.get_name(), column.get_data_type()
            if isinstance(column, ComputedColumn):
                builder.column_by_expression(name, str(column.get_expression()))
            elif isinstance(column, MetadataColumn):
                builder.column_by_metadata(
                    name, type, column.get_metadata_key(), column.is_virtual()
                )
            else:
                builder.column(name, type)
        for mark in self._watermarks:
            builder.watermark(mark.get_rowtime_attribute(), str(mark.get_watermark_expression()))
        if self._key is not None:
            builder.primary_key_named(self._key.get_name(), *self._key.get_columns())
        return builder.build()

    def get_column_count(self) -> int:
        return len(self._columns)

    def get_columns(self) -> list[Column]:
        return list(self._columns)

    def get_column_names(self) -> list[str]:
        return [column.get_name() for column in self._columns]

    def get_column_data_types(self) -> list[DataType]:
        return [column.get_data_type() for column in self._columns]

    def get_column(self, column_index_or_name: int | str) -> Column | None:
        """A column by its position or name; None if there is none."""
        if isinstance(column_index_or_name, int):
            inside = 0 <= column_index_or_name < len(self._columns)
            return self._columns[column_index_or_name] if inside else None
        if not isinstance(column_index_or_name, str):
            raise InvalidArgument(
                "a column is named by its position or name", origin=calling_origin()
            )
        named = (c for c in self._columns if c.get_name() == column_index_or_name)
        return next(named, None)

    def get_watermark_specs(self) -> list[WatermarkSpec]:
        return list(self._watermarks)

    def get_primary_key(self) -> UniqueConstraint | None:
        return self._key

    def get_primary_key_indexes(self) -> list[int]:
        names = self.get_column_names()
        return [] if self._key is None else [names.index(c) for c in self._key.get_columns()]

    def to_source_row_data_type(self) -> RowType:
        """All columns as a row."""
        return _row(self._columns)

    def to_physical_row_data_type(self) -> RowType:
        return _row(c for c in self._columns if c.is_physical())

    def to_sink_row_data_type(self) -> RowType:
        return _row(c for c in self._columns if c.is_persisted())

    def __str__(self) -> str:
        parts = [*map(str, self._columns), *map(str, self._watermarks)]
        if self._key is not None:
            parts.append(str(self._key))
        return "(\n" + ",\n".join(f"  {part}" for part in parts) + "\n)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResolvedSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def _row(columns: Iterable[Column]) -> RowType:
    fields = [RowField(c.get_name(), c.get_data_type(), c.get_comment()) for c in columns]
    return RowType(fields).not_null()
