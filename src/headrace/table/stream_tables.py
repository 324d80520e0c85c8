"""DataStreams as tables: which columns they have, and how records become rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.given_values import from_python
from headrace.core.logical_types import Field
from headrace.core.rows import Row
from headrace.core.stream_types import logical_type_of_stream
from headrace.core.table_connector import (
    APPEND,
    INSERT,
    ChangelogMode,
    TableColumn,
    TableSchema,
    TableSource,
    WatermarkText,
)
from headrace.core.table_values import nullable
from headrace.core.types import PickledBytesTypeInfo, TypeInformation
from headrace.errors import InvalidArgument, InvalidQuery
from headrace.graph.relations import Relation, Scan
from headrace.origin import calling_origin
from headrace.sql import unresolved as un
from headrace.sql.expressions import resolve_text
from headrace.sql.relations import columns, projected
from headrace.sql.resolver import Surroundings
from headrace.sql.scans import watermarked, with_declared_columns
from headrace.table.schema import Schema

ROWTIME = "rowtime"
_TIME = lt.LocalZonedTimestampType(3)
_NANOS_PER_MS = 1_000_000


class StreamSource(TableSource):
    """Stands for a stream of the program, which is no connector's."""

    bounded = False

    def __init__(self, changelog: ChangelogMode = APPEND):
        self.changelog = changelog


@dataclass(frozen=True)
class StreamConverter:
    """From (record, time in milliseconds) to a row (kind, column, …); travels to the workers."""

    types: tuple[lt.LogicalType, ...]
    atomic: bool = False
    """Whether a record is a value, not a row of values."""
    with_time: bool = False
    """Whether the record's time is a column after the others."""
    with_kinds: bool = False

    def __call__(self, value: Any, stamp: int | None) -> tuple[Any, ...]:
        return self._function()(value, stamp)

    def _function(self) -> Callable[[Any, int | None], tuple[Any, ...]]:
        # Made once per process: what converts values cannot travel.
        made: Any = self.__dict__.get("_made")
        if made is None:
            made = self._compiled()
            object.__setattr__(self, "_made", made)
        return made  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_made"}

    def _compiled(self) -> Callable[[Any, int | None], tuple[Any, ...]]:
        parts = [nullable(from_python(type)) for type in self.types]
        with_time, with_kinds, atomic = self.with_time, self.with_kinds, self.atomic
        width = len(parts)

        def convert(value: Any, stamp: int | None) -> tuple[Any, ...]:
            kind = value.get_row_kind().value if with_kinds and isinstance(value, Row) else INSERT
            given = (value,) if atomic else value
            if len(given) != width:
                raise InvalidArgument(
                    f"the record has {len(given)} values, the table {width} columns",
                    hint="Declare the type of the stream, or a Schema with these columns.",
                )
            row = [kind, *(part(each) for part, each in zip(parts, given, strict=True))]
            if with_time:
                if stamp is None:
                    raise InvalidArgument(
                        "the record has no event time",
                        hint="Use assign_timestamps_and_watermarks(...) before it is a table.",
                    )
                row.append(stamp * _NANOS_PER_MS)
            return tuple(row)

        return convert


@dataclass(frozen=True)
class StreamTable:
    """A DataStream that is to become a table."""

    node: int
    type: TypeInformation
    changelog: ChangelogMode = APPEND
    with_kinds: bool = False

    def fields(self, schema: Schema | None) -> tuple[tuple[Field, ...], bool]:
        """The columns a record has, and whether it is a single value."""
        declared = [] if schema is None else [c for c in schema.columns if c.type is not None]
        physical = [c for c in declared if c.metadata is None]
        found = logical_type_of_stream(self.type)
        if isinstance(self.type, PickledBytesTypeInfo) and physical:
            # Nothing is known of the records: the schema alone says what they are.
            fields = tuple(Field(c.name, c.type) for c in physical if c.type is not None)
            return fields, len(fields) == 1
        if not isinstance(found, lt.RowType):
            name = physical[0].name if physical else "f0"
            own: tuple[Field, ...] = (Field(name, found),)
        else:
            own = found.fields
        types = {c.name: c.type for c in physical}
        for name in types:
            if name not in [field.name for field in own]:
                listed = ", ".join(field.name for field in own)
                raise InvalidQuery(
                    f"the stream has no column {name}", origin=calling_origin(),
                    hint=f"Its columns are {listed}.",
                )  # fmt: skip
        patched = tuple(replace(f, type=types.get(f.name) or f.type) for f in own)
        return patched, not isinstance(found, lt.RowType)

    def relation(
        self, path: tuple[str, ...], schema: Schema | None, surroundings: Surroundings
    ) -> Relation:
        """The stream's rows in the columns that a schema declares."""
        fields, atomic = self.fields(schema)
        timed = schema is not None and any(c.metadata == ROWTIME for c in schema.columns)
        for column in () if schema is None else schema.columns:
            if column.metadata not in (None, ROWTIME):
                raise InvalidQuery(
                    f"streams have no metadata {column.metadata}, only {ROWTIME}",
                    origin=calling_origin(),
                )
        scan = self._scan(path, fields, atomic, timed, schema)
        if schema is None:
            return scan
        hidden = [TableColumn(field) for field in fields if field.name not in _names(schema)]
        declared = _declared(schema, fields, surroundings)
        relation = with_declared_columns(scan, [*declared.columns, *hidden], surroundings)
        names = [c.field.name for c in self.declaration(schema, surroundings).columns]
        places = dict(zip(relation.names, columns(relation), strict=True))
        relation = projected(relation, [places[name] for name in names], names)
        if declared.watermark is not None:
            mark = declared.watermark
            relation = watermarked(relation, mark.column, mark.expression, surroundings)
        return relation

    def declaration(self, schema: Schema, surroundings: Surroundings) -> TableSchema:
        """The columns that the table has by a schema."""
        fields, _ = self.fields(schema)
        made = _declared(schema, fields, surroundings)
        if not any(c.type is not None and c.metadata is None for c in schema.columns):
            # A schema without columns of its own only adds to those of the stream.
            own = (TableColumn(field) for field in fields if field.name not in _names(schema))
            made = replace(made, columns=(*own, *made.columns))
        if schema.key is not None:
            made = replace(made, primary_key=schema.key[1], primary_key_name=schema.key[0])
        return made

    def _scan(
        self, path: tuple[str, ...], fields: tuple[Field, ...], atomic: bool, timed: bool,
        schema: Schema | None,
    ) -> Scan:  # fmt: skip
        key = None
        if schema is not None and schema.key is not None:
            names = [field.name for field in fields]
            key = tuple(names.index(name) for name in schema.key[1])
            fields = tuple(
                replace(f, type=f.type.not_null()) if at in key else f
                for at, f in enumerate(fields)
            )
        mode = self.changelog
        if mode.upsert:
            if key is None:
                raise InvalidArgument(
                    "a stream of new versions needs a primary key", origin=calling_origin(),
                    hint="Schema.new_builder()….primary_key(…)",
                )  # fmt: skip
            mode = replace(mode, key=key)
        types = tuple(field.type for field in fields)
        converter = StreamConverter(types, atomic, timed, self.with_kinds)
        wide = (*fields, Field(f"$metadata${ROWTIME}", _TIME)) if timed else fields
        return Scan(
            schema=wide, path=path, source=StreamSource(mode), primary_key=key, stream=self.node,
            converter=converter,
        )  # fmt: skip

    def chosen(
        self, path: tuple[str, ...], nodes: Sequence[un.Unresolved], surroundings: Surroundings
    ) -> Relation:
        """The stream's rows in the columns that expressions choose: names, aliases, times."""
        own, _ = self.fields(None)
        names = [field.name for field in own]
        by_name = all(_column_name(node) in names for node in nodes if _time_kind(node) is None)
        builder = Schema.new_builder()
        order: list[str] = []
        renames: list[str] = []
        rowtime = None
        for position, node in enumerate(nodes):
            said, shown = _column_name(node), _shown_name(node)
            kind = _time_kind(node)
            if kind == "WINDOW_ROWTIME":
                rowtime = shown
                builder.column_by_metadata(shown, "TIMESTAMP_LTZ(3)", ROWTIME)
                order.append(shown)
            elif kind == "WINDOW_PROCTIME":
                builder.column_by_expression(shown, "PROCTIME()")
                order.append(shown)
            elif by_name or position < len(names):
                order.append(said if by_name else names[position])
            else:
                raise InvalidQuery(f"the stream has {len(names)} columns", origin=node.at)
            renames.append(shown)
        if rowtime is not None:
            builder.watermark(rowtime, "SOURCE_WATERMARK()")
        relation = self.relation(path, builder.build(), surroundings)
        places = dict(zip(relation.names, columns(relation), strict=True))
        return projected(relation, [places[name] for name in order], renames)


def _names(schema: Schema) -> list[str]:
    return [column.name for column in schema.columns]


def _declared(schema: Schema, fields: tuple[Field, ...], surroundings: Surroundings) -> TableSchema:
    made = []
    by_name = {field.name: field for field in fields}
    metadata = [Field(c.name, c.type) for c in schema.columns if c.metadata is not None and c.type]
    for column in schema.columns:
        if column.computed is not None:
            type = resolve_text(column.computed, (*fields, *metadata), surroundings).type
            made.append(TableColumn(Field(column.name, type), computed=column.computed))
        elif column.metadata is not None:
            assert column.type is not None
            field = Field(column.name, column.type)
            made.append(TableColumn(field, metadata=column.metadata, virtual=column.virtual))
        else:
            made.append(TableColumn(by_name[column.name]))
    mark = None if schema.watermark_of is None else WatermarkText(*schema.watermark_of)
    return TableSchema(tuple(made), mark)


def _time_kind(node: un.Unresolved) -> str | None:
    inner = node.operand if isinstance(node, un.Alias) else node
    if isinstance(inner, un.Apply) and inner.function in ("WINDOW_ROWTIME", "WINDOW_PROCTIME"):
        return inner.function
    return None


def _column_name(node: un.Unresolved) -> str:
    inner = node.operand if isinstance(node, un.Alias) else node
    if isinstance(inner, un.Apply) and inner.arguments:
        inner = inner.arguments[0]
        inner = inner.operand if isinstance(inner, un.Alias) else inner
    if not isinstance(inner, un.Name):
        raise InvalidQuery(
            "a stream's columns are named with col('…'), perhaps with alias, rowtime or proctime",
            origin=node.at,
        )
    return inner.parts[-1]


def _shown_name(node: un.Unresolved) -> str:
    if isinstance(node, un.Alias):
        return node.name
    if isinstance(node, un.Apply) and isinstance(node.arguments[0], un.Alias):
        return node.arguments[0].name
    return _column_name(node)
