"""INSERT: a query's columns become those of the table it is written to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression
from headrace.core.logical_types import Field
from headrace.core.table_connector import CatalogTable, TableColumn, TableSink
from headrace.errors import InvalidQuery
from headrace.graph.relations import Insert, Relation
from headrace.sql.calls import null_of
from headrace.sql.functions.conversion import (
    can_cast_explicitly,
    can_cast_implicitly,
    cast,
    count_interval,
    needs_no_cast,
)
from headrace.sql.position import did_you_mean
from headrace.sql.relations import columns, projected


def written_columns(table: CatalogTable) -> tuple[TableColumn, ...]:
    """The columns that INSERT fills: not the computed ones, nor metadata that is only read."""
    return tuple(
        column
        for column in table.schema.columns
        if column.computed is None and not (column.metadata is not None and column.virtual)
    )


def inserted(
    relation: Relation,
    path: tuple[str, ...],
    table: CatalogTable,
    sink: TableSink,
    *,
    names: Sequence[str] | None = None,
    partition: Mapping[str, Expression] | None = None,
    overwrite: bool = False,
    conflict: str | None = None,
    at: object | None = None,
) -> Relation:
    """The query's rows in the form of the table, written to it.

    `names` are the columns the query fills, all of the table's by default; `partition` has values
    for columns the query does not fill.
    """
    targets = written_columns(table)
    fixed = dict(partition or {})
    _check_partition(path, table, fixed, at)
    wanted = _filled(path, targets, names, fixed, at)
    _check_count(relation, path, targets, wanted, at)
    given = dict(zip(wanted, columns(relation), strict=True))
    called = dict(zip(wanted, relation.names, strict=True))
    outputs = []
    for target in targets:
        name = target.field.name
        value = given.get(name, fixed.get(name))
        outputs.append(_fitted(path, target.field, value, called.get(name, name), at))
    fitted = projected(relation, outputs, [target.field.name for target in targets])
    order = [target.field.name for target in targets]
    keys = table.schema.primary_key
    return Insert(
        schema=tuple(target.field for target in targets),
        input=fitted,
        path=path,
        sink=sink,
        overwrite=overwrite,
        primary_key=None if keys is None else tuple(order.index(key) for key in keys),
        partition_keys=tuple(order.index(key) for key in table.partition_keys if key in order),
        conflict=conflict,
    )


def _check_partition(
    path: tuple[str, ...], table: CatalogTable, fixed: Mapping[str, Expression], at: object | None
) -> None:
    """PARTITION (…) is about columns that the table is partitioned by."""
    keys = table.partition_keys
    for name in fixed:
        if name not in keys:
            listed = f"it is partitioned by {', '.join(keys)}" if keys else "it is not partitioned"
            raise InvalidQuery(
                f"{name} is no partition column of {'.'.join(path)}: {listed}",
                origin=at,
                hint=f"give {name} its value in the query",
            )


def _filled(
    path: tuple[str, ...],
    targets: Sequence[TableColumn],
    names: Sequence[str] | None,
    fixed: Mapping[str, Expression],
    at: object | None,
) -> list[str]:
    """The columns that the query gives, in its order."""
    known = [target.field.name for target in targets]
    for name in (*(names or ()), *fixed):
        if name not in known:
            raise InvalidQuery(
                f"table {'.'.join(path)} has no column {name} to write", origin=at,
                hint=did_you_mean(name, known, f"columns are {', '.join(known)}"),
            )  # fmt: skip
    wanted = [name for name in known if name not in fixed] if names is None else list(names)
    for name in wanted:
        if wanted.count(name) > 1 or name in fixed:
            raise InvalidQuery(f"column {name} is given twice", origin=at)
    return wanted


def _check_count(
    relation: Relation,
    path: tuple[str, ...],
    targets: Sequence[TableColumn],
    wanted: Sequence[str],
    at: object | None,
) -> None:
    if len(relation.schema) == len(wanted):
        return
    query = ", ".join(f"{field.name}: {field.type}" for field in relation.schema)
    by_name = {target.field.name: target.field for target in targets}
    sink = ", ".join(f"{name}: {by_name[name].type}" for name in wanted)
    raise InvalidQuery(
        f"column types of query result and sink for {'.'.join(path)} do not match: different "
        f"number of columns.\n  query schema: [{query}]\n  sink schema:  [{sink}]",
        origin=at,
    )


def _fitted(
    path: tuple[str, ...],
    target: Field,
    value: Expression | None,
    called: str,
    at: object | None,
) -> Expression:
    """A value, `called` so in the query, as the column's type: with the casts Flink does itself."""
    place = f"{'.'.join(path)}.{target.name}"
    if value is None:
        if not target.type.nullable:
            raise InvalidQuery(
                f"column {place} is NOT NULL, but the statement gives it no value", origin=at,
                hint=f"add {target.name} to the columns",
            )  # fmt: skip
        return null_of(target.type)
    if isinstance(value.type, lt.NullType):
        return null_of(target.type)
    counted = count_interval(value, target.type)
    if counted is not None:
        return counted
    if not can_cast_implicitly(lt.materialized(value.type), target.type):
        given = lt.materialized(value.type)
        raise InvalidQuery(
            f"column types of query result and sink do not match: {place} is {target.type}, "
            f"the query gives {given}",
            origin=at,
            hint=_way_out(called, given, target.type),
        )
    if needs_no_cast(value.type, target.type):
        return value
    return cast(value, target.type.with_nullable(value.type.nullable))


def _way_out(called: str, given: lt.LogicalType, wanted: lt.LogicalType) -> str:
    if can_cast_explicitly(given, wanted):
        value = "…" if called.startswith("EXPR$") else called
        return f"write CAST({value} AS {wanted.name()}) in the query"
    return f"{given.name()} cannot be cast to {wanted.name()}: give the column other values"
