"""StreamTableEnvironment: tables and streams in one program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import Expression
from headrace.core.logical_types import LogicalType, RowType, is_rowtime, materialized
from headrace.core.stream_types import logical_type_of_stream, stream_row_type
from headrace.core.table_connector import APPEND, RETRACT, CatalogTable, TableSchema
from headrace.core.table_connector import ChangelogMode as Mode
from headrace.core.types import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from headrace.datastream.stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.errors import InvalidArgument, InvalidQuery, TableException, TypeMismatch
from headrace.graph.nodes import OperatorNode
from headrace.graph.relations import Relation
from headrace.operators.functions.session import session_time_zone
from headrace.origin import calling_origin
from headrace.plan.relational.changelog import annotated
from headrace.sql.calls import as_type
from headrace.sql.catalog import anonymous_name
from headrace.sql.functions.conversion import can_cast_implicitly
from headrace.sql.relations import columns, projected
from headrace.table.changelog_mode import ChangelogMode
from headrace.table.environment import TableEnvironment
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.expression_base import expression_node
from headrace.table.lowering.stream_sinks import (
    CHANGES,
    RETRACTIONS,
    ROWS,
    TUPLES,
    VALUES,
    StreamRecords,
)
from headrace.table.object_names import path_parts
from headrace.table.schema import Schema
from headrace.table.stream_tables import ROWTIME, StreamTable
from headrace.table.table import Table


class StreamTableEnvironment(TableEnvironment):
    """A table environment over a StreamExecutionEnvironment, whose execute() runs both."""

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        environment = stream_execution_environment
        if environment is not None and not isinstance(environment, StreamExecutionEnvironment):
            raise TypeMismatch(
                f"a StreamExecutionEnvironment is needed, not {environment!r}",
                origin=calling_origin(),
            )
        if environment is None:
            environment = StreamExecutionEnvironment.get_execution_environment()
        settings = environment_settings or EnvironmentSettings()
        return StreamTableEnvironment(settings, environment)

    # Streams as tables.

    def from_data_stream(self, data_stream: DataStream, *fields_or_schema: Any) -> Table:
        """A stream of insertions as a table, with columns by a Schema or by expressions."""
        relation, declared = self._of_stream(data_stream, fields_or_schema)
        return Table(relation, self, None if declared is None else CatalogTable(declared))

    def _of_stream(
        self, stream: DataStream, fields_or_schema: tuple[Any, ...]
    ) -> tuple[Relation, TableSchema | None]:
        """The stream's rows, and what a Schema declared of them."""
        table = StreamTable(_node(stream, self._env), stream.get_type())
        path = self._stream_path()
        surroundings = self._session.builder
        with session_time_zone(self._session.settings.zone):
            if len(fields_or_schema) == 1 and isinstance(fields_or_schema[0], Schema):
                schema = fields_or_schema[0]
                relation = table.relation(path, schema, surroundings)
                return relation, table.declaration(schema, surroundings)
            if not fields_or_schema:
                return table.relation(path, None, surroundings), None
            nodes = [expression_node(each, "from_data_stream") for each in fields_or_schema]
            return table.chosen(path, nodes, surroundings), None

    def _stream_path(self) -> tuple[str, ...]:
        self._sources += 1
        return (anonymous_name("datastream_source", self._sources),)

    def from_changelog_stream(
        self, data_stream: DataStream, schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> Table:  # fmt: skip
        """A stream of Rows, whose kinds say what changes, as a table."""
        mode = RETRACT if changelog_mode is None else changelog_mode.mode
        table = StreamTable(_node(data_stream, self._env), data_stream.get_type(), mode, True)
        surroundings = self._session.builder
        with session_time_zone(self._session.settings.zone):
            relation = table.relation(self._stream_path(), schema, surroundings)
            if schema is None:
                return Table(relation, self)
            return Table(relation, self, CatalogTable(table.declaration(schema, surroundings)))

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any
    ) -> None:
        """A name for a table or a stream, for this session."""
        if isinstance(table_or_data_stream, DataStream):
            relation, declared = self._of_stream(table_or_data_stream, fields_or_schema)
            self._create_view(path_parts(view_path), relation, temporary=True, declared=declared)
        else:
            super().create_temporary_view(view_path, table_or_data_stream)

    # Tables as streams.

    def to_data_stream(self, table: Table) -> DataStream:
        """A table without updates as a stream of Rows."""
        self._require_append(table.relation, "to_data_stream")
        return self._stream(table.relation, ROWS, APPEND)

    def to_changelog_stream(
        self, table: Table, target_schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> DataStream:  # fmt: skip
        """A table as a stream of Rows, whose kinds say what changes.

        A metadata column `rowtime` of the schema becomes the records' time.
        """
        relation, time = table.relation, None
        if target_schema is not None:
            relation = _as_declared(relation, target_schema)
            time = _time_apart(target_schema)
        mode = RETRACT if changelog_mode is None else changelog_mode.mode
        if mode.insert_only:
            self._require_append(relation, "to_changelog_stream")
        return self._stream(relation, CHANGES, mode, time=time)

    def to_append_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """A table without updates as a stream of a type."""
        self._require_append(table.relation, "to_append_stream")
        relation = _as_type(table.relation, type_info)
        form = ROWS if isinstance(type_info, RowTypeInfo) else VALUES
        form = TUPLES if isinstance(type_info, TupleTypeInfo) else form
        return self._stream(relation, form, APPEND, type_info)

    def to_retract_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """A table as a stream of pairs: whether a row comes or goes, and the row."""
        relation = _as_type(table.relation, type_info)
        declared = Types.TUPLE([Types.BOOLEAN(), type_info])
        return self._stream(relation, RETRACTIONS, RETRACT, declared)

    def _require_append(self, relation: Relation, method: str) -> None:
        optimized = self._execution.optimized(relation)
        mode = annotated(optimized, final=self._execution.settings.final).mode(optimized)
        if not mode.insert_only:
            raise TableException(
                f"{method}() takes tables without updates, this one has {mode}",
                origin=calling_origin(), hint="Use to_changelog_stream(...).",
            )  # fmt: skip

    def _stream(
        self, relation: Relation, form: str, taken: Mode, declared: TypeInformation | None = None,
        *, time: int | None = None,
    ) -> DataStream:  # fmt: skip
        """`time`: the column that becomes the records' time, and nothing else."""
        optimized = self._execution.optimized(relation)
        node = self._execution.lower(optimized, taken)
        fields = relation.schema
        if time is None:
            times = [at for at, type in enumerate(relation.types) if is_rowtime(type)]
            records = StreamRecords(RowType(fields), form, times[0] if len(times) == 1 else None)
        else:
            fields = (*fields[:time], *fields[time + 1 :])
            records = StreamRecords(RowType(fields), form, time, apart=True)
        made = self._env.builder.add(
            OperatorNode, "TableToDataStream", (node,), operator=records,
            type=declared or stream_row_type(fields),
        )  # fmt: skip
        return DataStream(self._env, made)


def _node(stream: Any, environment: StreamExecutionEnvironment) -> int:
    if not isinstance(stream, DataStream):
        raise TypeMismatch(f"{stream!r} is no DataStream", origin=calling_origin())
    if stream.get_execution_environment() is not environment:
        raise InvalidArgument(
            "the stream belongs to another StreamExecutionEnvironment", origin=calling_origin()
        )
    return stream.node_id


def _as_declared(relation: Relation, schema: Schema) -> Relation:
    """The columns, by position, as a schema declares those it keeps."""
    kept = _kept(schema)
    types = [column.type for column in kept if column.type is not None]
    return _fitted(relation, [column.name for column in kept], types, "the schema")


def _kept(schema: Schema) -> list[Any]:
    return [c for c in schema.columns if c.type is not None and not c.virtual]


def _time_apart(schema: Schema) -> int | None:
    """Where the column is that a stream keeps beside its records."""
    found = None
    for at, column in enumerate(_kept(schema)):
        if column.metadata == ROWTIME:
            found = at
        elif column.metadata is not None:
            raise InvalidQuery(
                f"streams have no metadata {column.metadata}, only {ROWTIME}",
                origin=calling_origin(),
            )
    return found


def _as_type(relation: Relation, info: TypeInformation) -> Relation:
    """The columns, by position, as the types of a stream's type."""
    row = logical_type_of_stream(info)
    types = row.types if isinstance(row, RowType) else (row,)
    names = row.names if isinstance(row, RowType) else relation.names
    return _fitted(relation, names, types, str(info))


def _fitted(
    relation: Relation, names: Sequence[str], types: Sequence[LogicalType], what: str
) -> Relation:
    if len(types) != len(relation.schema):
        raise InvalidQuery(
            f"the table has {len(relation.schema)} columns, {what} has {len(types)}",
            origin=calling_origin(),
            hint=f"The table's columns are {', '.join(relation.names)}; they go by position.",
        )
    parts: list[Expression] = []
    for column, type in zip(columns(relation), types, strict=True):
        if not can_cast_implicitly(column.type, type.with_nullable(True)):
            raise InvalidQuery(
                f"column {relation.names[column.index]} is {column.type}, {what} wants {type}",
                origin=calling_origin(), hint="Cast it: col('…').cast(DataTypes.…).",
            )  # fmt: skip
        # A column that is as wanted stays a time attribute, if it is one.
        same = materialized(column.type).with_nullable(True) == type.with_nullable(True)
        parts.append(column if same else as_type(column, type))
    return projected(relation, parts, names)
