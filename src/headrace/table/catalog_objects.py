"""What catalogs hold, as programs see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.core.logical_types import Field
from headrace.core.table_connector import CatalogTable, TableColumn
from headrace.core.table_connector import TableSchema as DeclaredSchema
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin
from headrace.sql import catalog as sc
from headrace.table.object_names import require_name
from headrace.table.schema import Schema
from headrace.table.table_schema import TableSchema
from headrace.table.type_mapping import data_type_of

_LANGUAGES = ("PYTHON", "JAVA", "SCALA")


class CatalogDatabase:
    """A database: its properties and comment."""

    def __init__(self, database: sc.CatalogDatabase) -> None:
        self.database = database

    @staticmethod
    def create_instance(
        properties: Mapping[str, str], comment: str | None = None
    ) -> CatalogDatabase:
        return CatalogDatabase(sc.CatalogDatabase(dict(properties), comment))

    def get_properties(self) -> dict[str, str]:
        return dict(self.database.options)

    def get_comment(self) -> str | None:
        return self.database.comment

    def copy(self) -> CatalogDatabase:
        return CatalogDatabase(replace(self.database, options=dict(self.database.options)))

    def get_description(self) -> str | None:
        return self.database.comment

    def get_detailed_description(self) -> str | None:
        return self.database.comment


class CatalogBaseTable:
    """A table or view: its columns, options and comment."""

    def __init__(self, table: sc.CatalogObject) -> None:
        self.table = table

    @staticmethod
    def create_table(
        schema: TableSchema,
        partition_keys: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> CatalogBaseTable:
        table = CatalogTable(
            _declared(schema), dict(properties or {}), tuple(partition_keys), comment
        )
        return CatalogBaseTable(table)

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: TableSchema,
        properties: Mapping[str, str],
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """A view of a query whose names are whole ones."""
        view = sc.CatalogView(
            expanded_query or original_query, _declared(schema), "", "", comment, dict(properties)
        )
        return CatalogBaseTable(view)

    def get_options(self) -> dict[str, str]:
        return dict(self.table.options)

    def get_unresolved_schema(self) -> Schema:
        """The columns as they were declared."""
        builder = Schema.new_builder()
        schema = self.table.schema
        for column in schema.columns:
            name, type = column.field.name, data_type_of(column.field.type)
            if column.computed is not None:
                builder.column_by_expression(name, column.computed)
            elif column.metadata is not None:
                builder.column_by_metadata(name, type, column.metadata, column.virtual)
            else:
                builder.column(name, type)
        if schema.watermark is not None:
            builder.watermark(schema.watermark.column, schema.watermark.expression)
        if schema.primary_key is not None:
            builder.primary_key_named(schema.primary_key_name, *schema.primary_key)
        return builder.build()

    def get_comment(self) -> str:
        return self.table.comment or ""

    def copy(self) -> CatalogBaseTable:
        return CatalogBaseTable(replace(self.table, options=dict(self.table.options)))

    def get_description(self) -> str | None:
        return self.get_comment()

    def get_detailed_description(self) -> str | None:
        """Flink has none either."""
        return None


def _declared(schema: TableSchema) -> DeclaredSchema:
    pairs = zip(schema.get_field_names(), schema.get_field_data_types(), strict=True)
    return DeclaredSchema(tuple(TableColumn(Field(name, type.logical())) for name, type in pairs))


class CatalogPartition:
    """A partition: its properties and comment."""

    def __init__(self, properties: Mapping[str, str], comment: str | None = None) -> None:
        self._properties = dict(properties)
        self._comment = comment

    @staticmethod
    def create_instance(
        properties: Mapping[str, str], comment: str | None = None
    ) -> CatalogPartition:
        return CatalogPartition(properties, comment)

    def get_properties(self) -> dict[str, str]:
        return dict(self._properties)

    def get_comment(self) -> str | None:
        return self._comment

    def copy(self) -> CatalogPartition:
        return CatalogPartition(self._properties, self._comment)

    def get_description(self) -> str | None:
        """Flink has none of partitions, even if they have a comment."""
        return None

    def get_detailed_description(self) -> str | None:
        return None


class CatalogPartitionSpec:
    """Which partition is meant: a value for each partition column."""

    def __init__(self, partition_spec: Mapping[str, str]) -> None:
        if not isinstance(partition_spec, Mapping):
            raise TypeMismatch(
                f"a partition is told by a dict of columns and values, not {partition_spec!r}",
                origin=calling_origin(),
            )
        self._values = dict(partition_spec)

    def get_partition_spec(self) -> dict[str, str]:
        return dict(self._values)

    def __str__(self) -> str:
        shown = ", ".join(f"{key}={value}" for key, value in self._values.items())
        return f"CatalogPartitionSpec{{{{{shown}}}}}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogPartitionSpec) and self._values == other._values

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))


class CatalogFunction:
    """A function: the name of its Python object."""

    def __init__(self, function: sc.CatalogFunction) -> None:
        self.function = function

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        language = function_language.upper()
        if language not in _LANGUAGES:
            raise InvalidArgument(
                f"the language of a function is one of {', '.join(_LANGUAGES)}, "
                f"not {function_language!r}",
                origin=calling_origin(),
            )
        return CatalogFunction(sc.CatalogFunction(require_name(class_name, "class"), language))

    def get_class_name(self) -> str:
        return self.function.class_name

    def copy(self) -> CatalogFunction:
        return CatalogFunction(self.function)

    def get_description(self) -> str | None:
        return "This is a user-defined function"

    def get_detailed_description(self) -> str | None:
        return self.get_description()

    def get_function_language(self) -> str:
        return self.function.language

    def get_options(self) -> dict[str, str]:
        return dict(self.function.options)


class CatalogModel:
    """A model: what it takes and gives, its options and comment. Nothing here can call it."""

    def __init__(self, model: sc.CatalogModel) -> None:
        self.model = model

    @staticmethod
    def create_model(
        input_schema: Schema,
        output_schema: Schema,
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> CatalogModel:
        return CatalogModel(
            sc.CatalogModel(input_schema, output_schema, dict(options or {}), comment)
        )

    def copy(self) -> CatalogModel:
        return CatalogModel(replace(self.model, options=dict(self.model.options)))

    def get_comment(self) -> str | None:
        return self.model.comment

    def get_options(self) -> dict[str, str]:
        return dict(self.model.options)


class Procedure:
    """Something that CALL runs."""

    def __init__(self, procedure: Any) -> None:
        self.procedure = procedure


class CatalogTableStatistics:
    """How large a table is."""

    def __init__(
        self,
        row_count: int | None = None,
        field_count: int | None = None,
        total_size: int | None = None,
        raw_data_size: int | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._numbers = (
            _number(row_count, 64),
            _number(field_count, 32),
            _number(total_size, 64),
            _number(raw_data_size, 64),
        )
        self._properties = dict(properties or {})

    def get_row_count(self) -> int:
        return self._numbers[0]

    def get_field_count(self) -> int:
        return self._numbers[1]

    def get_total_size(self) -> int:
        return self._numbers[2]

    def get_raw_data_size(self) -> int:
        return self._numbers[3]

    def get_properties(self) -> dict[str, str]:
        return dict(self._properties)

    def copy(self) -> CatalogTableStatistics:
        return CatalogTableStatistics(*self._numbers, properties=self._properties)


def _number(value: Any, bits: int) -> int:
    if type(value) is not int or not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise InvalidArgument(
            f"statistics are integers of {bits} bits, not {value!r}",
            origin=calling_origin(),
            hint="Give all four; -1 is what is not known.",
        )
    return value


class CatalogColumnStatistics:
    """What is known of the values of columns."""

    def __init__(
        self,
        column_statistics_data: Mapping[str, Any] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        if column_statistics_data is None:
            raise InvalidArgument(
                "statistics of columns are needed",
                origin=calling_origin(),
                hint="Give a dict, which may be empty.",
            )
        self._data = dict(column_statistics_data)
        self._properties = dict(properties or {})

    def get_column_statistics_data(self) -> dict[str, Any]:
        return dict(self._data)

    def get_properties(self) -> dict[str, str]:
        return dict(self._properties)

    def copy(self) -> CatalogColumnStatistics:
        return CatalogColumnStatistics(self._data, self._properties)
