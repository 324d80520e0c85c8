"""Tables being read: physical columns and metadata, computed columns, watermarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.core import logical_types as lt
from headrace.core.expressions import Column, Expression
from headrace.core.logical_types import Field
from headrace.core.table_connector import CatalogTable, TableColumn, TableSource
from headrace.errors import InvalidQuery
from headrace.graph.relations import AssignWatermark, Relation, Scan
from headrace.sql.expressions import resolve_text
from headrace.sql.functions.conversion import can_cast_explicitly, cast
from headrace.sql.position import did_you_mean
from headrace.sql.relations import columns, projected
from headrace.sql.resolver import NoSurroundings, Surroundings


def scan(
    path: tuple[str, ...],
    table: CatalogTable,
    source: TableSource,
    surroundings: Surroundings | None = None,
) -> Relation:
    """A table's columns in the order of its declaration, with its watermark."""
    schema = table.schema
    physical = [column.field for column in schema.columns if column.physical]
    source, metadata = _with_metadata(path, schema.columns, source)
    fields = (*physical, *metadata)
    names = [field.name for field in physical]
    key = None
    if schema.primary_key is not None:
        key = tuple(names.index(name) for name in schema.primary_key)
    relation: Relation = Scan(schema=fields, path=path, source=source, primary_key=key)
    relation = with_declared_columns(relation, schema.columns, surroundings)
    if schema.watermark is not None:
        mark = schema.watermark
        relation = watermarked(relation, mark.column, mark.expression, surroundings)
    return relation


def _with_metadata(
    path: tuple[str, ...], declared: Sequence[TableColumn], source: TableSource
) -> tuple[TableSource, list[Field]]:
    """The source with the metadata that columns show, and the fields these are after the others."""
    keys = list(dict.fromkeys(each.metadata for each in declared if each.metadata is not None))
    if not keys:
        return source, []
    known = source.metadata()
    for key in keys:
        if key not in known:
            raise InvalidQuery(
                f"table {'.'.join(path)} has no metadata {key} to read",
                hint=did_you_mean(key, known, f"it has {', '.join(known) or 'none'}"),
            )
    fields = [Field(f"$metadata${key}", known[key]) for key in keys]
    return source.with_metadata(tuple(keys)), fields


def with_declared_columns(
    relation: Relation,
    declared: Sequence[TableColumn],
    surroundings: Surroundings | None = None,
) -> Relation:
    """Physical, metadata and computed columns in their order, of a relation that has the physical
    ones and then `$metadata$…`."""
    by_name = dict(zip(relation.names, columns(relation), strict=True))
    visible: dict[str, Expression] = {
        each.field.name: _stored(each, by_name) for each in declared if each.computed is None
    }
    names = tuple(visible)
    below = projected(relation, list(visible.values()), names)
    fields = [Field(name, each.type) for name, each in zip(names, visible.values(), strict=True)]
    outputs: list[Expression] = []
    for each in declared:
        if each.computed is None:
            index = names.index(each.field.name)
            outputs.append(Column(fields[index].type, index))
        else:
            outputs.append(resolve_text(each.computed, fields, surroundings or NoSurroundings()))
    return projected(below, outputs, [each.field.name for each in declared])


def _stored(column: TableColumn, by_name: dict[str, Column]) -> Expression:
    if column.metadata is None:
        return by_name[column.field.name]
    value = by_name[f"$metadata${column.metadata}"]
    if not can_cast_explicitly(value.type, column.field.type):
        raise InvalidQuery(
            f"metadata {column.metadata} is {value.type}, column {column.field.name} is "
            f"declared {column.field.type}",
            hint=f"declare it as {value.type}",
        )
    return cast(value, column.field.type)


def watermarked(
    relation: Relation,
    column: str,
    text: str | Expression,
    surroundings: Surroundings | None = None,
) -> Relation:
    """WATERMARK FOR column AS expression."""
    if column not in relation.names:
        raise InvalidQuery(
            f"the watermark is for column {column}, which the table does not have",
            hint=did_you_mean(column, relation.names),
        )
    time = relation.names.index(column)
    type = relation.types[time]
    if not isinstance(type, lt.TIMESTAMPS) or type.precision > 3:
        raise InvalidQuery(
            f"a watermark needs a column of TIMESTAMP(p) or TIMESTAMP_LTZ(p) with p at most 3, "
            f"{column} is {type}",
            hint=f"declare {column} TIMESTAMP(3), or compute such a column",
        )
    expression = text
    if isinstance(expression, str):
        expression = resolve_text(expression, relation.schema, surroundings or NoSurroundings())
    if not isinstance(expression.type, lt.TIMESTAMPS):
        raise InvalidQuery(
            f"the watermark of {column} must be a timestamp, its expression is {expression.type}"
        )
    schema = list(relation.schema)
    schema[time] = replace(schema[time], type=replace(type, kind=lt.ROWTIME))
    return AssignWatermark(schema=tuple(schema), input=relation, time=time, watermark=expression)
