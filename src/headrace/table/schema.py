"""Schema: the columns of a table as a program declares them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.core.logical_types import Field, LogicalType
from headrace.core.table_connector import TableColumn, TableSchema, WatermarkText
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.origin import calling_origin
from headrace.sql import unresolved as un
from headrace.table.data_types import DataType, RowType
from headrace.table.expression_base import ExpressionBase
from headrace.table.expression_text import sql_text
from headrace.table.type_mapping import logical_type_of

if TYPE_CHECKING:
    from headrace.table.resolved_schema import ResolvedSchema

__all__ = ["Schema"]


class _Declared:
    """A column as declared: its text form is part of what a Schema prints."""

    def __init__(
        self, name: str, type: LogicalType | None = None, *, said: str = "",
        computed: str | None = None, metadata: str | None = None, virtual: bool = False,
    ) -> None:  # fmt: skip
        self.name = name
        self.type = type
        self.said = said
        self.computed = computed
        self.metadata = metadata
        self.virtual = virtual

    def __str__(self) -> str:
        if self.computed is not None:
            return f"`{self.name}` AS [{self.computed}]"
        text = f"`{self.name}` {self.said}"
        if self.metadata is None:
            return text
        source = "" if self.metadata == self.name else f" FROM '{self.metadata}'"
        return f"{text} METADATA{source}{' VIRTUAL' if self.virtual else ''}"


class Schema:
    """Columns, a watermark and a primary key."""

    def __init__(self, builder: Schema.Builder) -> None:
        self.columns: tuple[_Declared, ...] = tuple(builder._columns)
        self.watermark_of: tuple[str, str] | None = builder._watermark
        self.key: tuple[str | None, tuple[str, ...]] | None = builder._key

    @staticmethod
    def new_builder() -> Schema.Builder:
        return Schema.Builder()

    def __str__(self) -> str:
        lines = [str(column) for column in self.columns]
        if self.watermark_of is not None:
            lines.append(f"WATERMARK FOR `{self.watermark_of[0]}` AS [{self.watermark_of[1]}]")
        if self.key is not None:
            name, columns = self.key
            name = name or "PK_" + "_".join(columns)
            listed = ", ".join(f"`{column}`" for column in columns)
            lines.append(f"CONSTRAINT `{name}` PRIMARY KEY ({listed}) NOT ENFORCED")
        return "(\n" + ",\n".join(f"  {line}" for line in lines) + "\n)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def declared(self, type_of_computed: Any) -> TableSchema:
        """As catalogs keep it; `type_of_computed` gives the type of (text, physical fields)."""
        key = () if self.key is None else self.key[1]
        known = [
            Field(each.name, _keyed(each.type, each.name in key))
            for each in self.columns
            if each.type is not None
        ]
        columns = []
        for each in self.columns:
            if each.computed is not None:
                type = type_of_computed(each.computed, known)
                columns.append(TableColumn(Field(each.name, type), computed=each.computed))
            else:
                field = next(field for field in known if field.name == each.name)
                columns.append(TableColumn(field, metadata=each.metadata, virtual=each.virtual))
        mark = None if self.watermark_of is None else WatermarkText(*self.watermark_of)
        name = None if self.key is None else self.key[0]
        return TableSchema(tuple(columns), mark, key or None, name)

    class Builder:
        """Says a schema's columns one by one."""

        def __init__(self) -> None:
            self._columns: list[_Declared] = []
            self._watermark: tuple[str, str] | None = None
            self._key: tuple[str | None, tuple[str, ...]] | None = None

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """All that another schema says."""
            self._columns += unresolved_schema.columns
            if unresolved_schema.watermark_of is not None:
                self._watermark = unresolved_schema.watermark_of
            if unresolved_schema.key is not None:
                self._key = unresolved_schema.key
            return self

        def from_resolved_schema(self, resolved_schema: ResolvedSchema) -> Schema.Builder:
            """The columns, watermark and key of a table."""
            return self.from_schema(resolved_schema.as_schema())

        def from_row_data_type(self, data_type: DataType) -> Schema.Builder:
            """A column for each field of a row."""
            if not isinstance(data_type, RowType):
                raise TypeMismatch(
                    f"from_row_data_type() takes a ROW, not {data_type!r}", origin=calling_origin()
                )
            return self.from_fields(data_type.field_names(), data_type.field_types())

        def from_fields(
            self, field_names: Sequence[str], field_data_types: Sequence[DataType | str]
        ) -> Schema.Builder:
            if len(field_names) != len(field_data_types):
                raise InvalidArgument(
                    f"{len(field_names)} names and {len(field_data_types)} types do not fit",
                    origin=calling_origin(),
                )
            for name, type in zip(field_names, field_data_types, strict=True):
                self.column(name, type)
            return self

        def column(self, column_name: str, data_type: str | DataType) -> Schema.Builder:
            """A column that the table stores."""
            type, said = _typed(data_type)
            return self._add(_Declared(column_name, type, said=said))

        def column_by_expression(self, column_name: str, expr: Any) -> Schema.Builder:
            """A column that is computed of others."""
            return self._add(_Declared(column_name, computed=_text(expr)))

        def column_by_metadata(
            self, column_name: str, data_type: DataType | str, metadata_key: str | None = None,
            is_virtual: bool = False,
        ) -> Schema.Builder:  # fmt: skip
            """A column that shows what a connector knows of a row besides its columns."""
            type, said = _typed(data_type)
            key = column_name if metadata_key is None else metadata_key
            made = _Declared(column_name, type, said=said, metadata=key, virtual=is_virtual)
            return self._add(made)

        def watermark(self, column_name: str, watermark_expr: Any) -> Schema.Builder:
            """The column of event time, and how far behind it time is known to be."""
            if self._watermark is not None:
                raise Unsupported("a table has one watermark", origin=calling_origin())
            self._watermark = column_name, _text(watermark_expr)
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            return self._with_key(None, column_names)

        def primary_key_named(
            self, constraint_name: str | None, *column_names: str
        ) -> Schema.Builder:
            return self._with_key(constraint_name, column_names)

        def _with_key(self, name: str | None, columns: tuple[str, ...]) -> Schema.Builder:
            if self._key is not None:
                raise InvalidArgument("a table has one primary key", origin=calling_origin())
            self._key = name, columns
            return self

        def _add(self, column: _Declared) -> Schema.Builder:
            if not isinstance(column.name, str):
                raise TypeMismatch(
                    f"a column's name is a text, not {column.name!r}", origin=calling_origin()
                )
            if any(each.name == column.name for each in self._columns):
                raise InvalidArgument(
                    f"there are two columns {column.name}", origin=calling_origin()
                )
            self._columns.append(column)
            return self

        def build(self) -> Schema:
            return Schema(self)


def _keyed(type: LogicalType | None, in_key: bool) -> LogicalType:
    """Columns of a primary key are never NULL."""
    assert type is not None
    return type.not_null() if in_key else type


def _typed(given: str | DataType) -> tuple[LogicalType, str]:
    """A type, and how it is shown: in brackets as long as it is only a text, as in Flink."""
    type = logical_type_of(given)
    return type, f"[{given}]" if isinstance(given, str) else str(type)


def _text(given: Any) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, ExpressionBase):
        return getattr(given, "_written", None) or sql_text(given.node)
    raise TypeMismatch(
        f"an expression is needed, as SQL text or made with col(), not {given!r}",
        origin=calling_origin(),
    )


def renamed_columns(schema: TableSchema, names: Sequence[str]) -> TableSchema:
    """The same columns under other names."""
    pairs = zip(schema.columns, names, strict=True)
    columns = tuple(replace(c, field=replace(c.field, name=name)) for c, name in pairs)
    return replace(schema, columns=columns)


def is_name(node: un.Unresolved) -> bool:
    return isinstance(node, un.Name)
