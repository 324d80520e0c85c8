"""What catalogs keep, as JSON: no pickles, so that files of others can be read without harm."""

from __future__ import annotations

from typing import Any

from headrace.core.logical_types import Field, materialized
from headrace.core.table_connector import CatalogTable, TableColumn, TableSchema, WatermarkText
from headrace.errors import Unsupported
from headrace.sql.catalog import CatalogDatabase, CatalogFunction, CatalogObject, CatalogView
from headrace.sql.types import parse_type

Json = dict[str, Any]


def database_json(database: CatalogDatabase) -> Json:
    return {"options": dict(database.options), "comment": database.comment}


def database_of(data: Json) -> CatalogDatabase:
    return CatalogDatabase(data["options"], data["comment"])


def table_json(table: CatalogObject) -> Json:
    if isinstance(table, CatalogView):
        return _view_json(table)
    if table.connector is not None:
        raise Unsupported(
            "a table made of a program's objects cannot be kept in files",
            hint="register it as a temporary table",
        )
    return {
        "kind": "table",
        "schema": _schema_json(table.schema),
        "options": dict(table.options),
        "partition_keys": list(table.partition_keys),
        "comment": table.comment,
        "distribution": table.distribution,
    }


def table_of(data: Json) -> CatalogObject:
    if data["kind"] == "view":
        return _view_of(data)
    return CatalogTable(
        schema=_schema_of(data["schema"]),
        options=data["options"],
        partition_keys=tuple(data["partition_keys"]),
        comment=data["comment"],
        distribution=data["distribution"],
    )


def function_json(function: CatalogFunction) -> Json:
    if function.function is not None:
        raise Unsupported(
            "a function that is an object of a program cannot be kept in files",
            hint="create it as a temporary function, or by name: CREATE FUNCTION f AS "
            "'module.name' LANGUAGE PYTHON",
        )
    return {
        "class_name": function.class_name,
        "language": function.language,
        "options": dict(function.options),
        "resources": list(function.resources),
    }


def function_of(data: Json) -> CatalogFunction:
    return CatalogFunction(
        data["class_name"],
        data["language"],
        options=data["options"],
        resources=tuple(data["resources"]),
    )


def _view_json(view: CatalogView) -> Json:
    if view.relation is not None:
        raise Unsupported(
            "a view made of a Table cannot be kept in files",
            hint="create it as a temporary view, or with CREATE VIEW",
        )
    return {
        "kind": "view",
        "query": view.query,
        "schema": _schema_json(view.schema),
        "catalog": view.catalog,
        "database": view.database,
        "comment": view.comment,
        "options": dict(view.options),
        "columns": None if view.columns is None else list(view.columns),
    }


def _view_of(data: Json) -> CatalogView:
    names = data["columns"]
    return CatalogView(
        query=data["query"],
        schema=_schema_of(data["schema"]),
        catalog=data["catalog"],
        database=data["database"],
        comment=data["comment"],
        options=data["options"],
        columns=None if names is None else tuple(names),
    )


def _schema_json(schema: TableSchema) -> Json:
    mark = schema.watermark
    key = schema.primary_key
    return {
        "columns": [_column_json(column) for column in schema.columns],
        "watermark": None if mark is None else [mark.column, mark.expression],
        "primary_key": None if key is None else list(key),
        "primary_key_name": schema.primary_key_name,
    }


def _schema_of(data: Json) -> TableSchema:
    mark, key = data["watermark"], data["primary_key"]
    return TableSchema(
        tuple(_column_of(column) for column in data["columns"]),
        None if mark is None else WatermarkText(*mark),
        None if key is None else tuple(key),
        data["primary_key_name"],
    )


def _column_json(column: TableColumn) -> Json:
    return {
        "name": column.field.name,
        "type": str(materialized(column.field.type)),
        "comment": column.field.description,
        "computed": column.computed,
        "metadata": column.metadata,
        "virtual": column.virtual,
    }


def _column_of(data: Json) -> TableColumn:
    field = Field(data["name"], parse_type(data["type"]), data["comment"])
    return TableColumn(field, data["computed"], data["metadata"], data["virtual"])
