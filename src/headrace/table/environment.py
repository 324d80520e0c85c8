"""TableEnvironment: where SQL and tables begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.config import Configuration
from headrace.core.table_connector import CatalogTable, TableColumn, TableSchema
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.errors import InvalidArgument, TypeMismatch, naming_the_caller
from headrace.graph.relations import Insert, Relation, Scan
from headrace.operators.functions.session import session_time_zone
from headrace.origin import calling_origin
from headrace.spark.dependencies import add_archive, add_file, set_requirements
from headrace.sql import unresolved as un
from headrace.sql.calls import as_type
from headrace.sql.catalog import CatalogView, anonymous_name
from headrace.sql.catalog_manager import CatalogManager
from headrace.sql.completion import completion_hints
from headrace.sql.ddl_tables import Draft
from headrace.sql.parse_statements import parse_statement
from headrace.sql.scope import Scope
from headrace.sql.set_operations import values
from headrace.table.catalog_methods import CatalogMethods
from headrace.table.compiled_plan import CompiledPlan, compile_inserts, read_plan
from headrace.table.data_types import DataType
from headrace.table.element_source import ElementSource
from headrace.table.elements import inferred_row_type, internal_rows
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.execution import Execution
from headrace.table.explain_detail import ExplainDetail
from headrace.table.explaining import explained
from headrace.table.expression_base import ExpressionBase
from headrace.table.object_names import path_parts
from headrace.table.pandas_source import pandas_source
from headrace.table.plan_details import plan_details
from headrace.table.plan_reference import PlanReference
from headrace.table.results import TableResult
from headrace.table.session import TableSession
from headrace.table.settings import TableSettings
from headrace.table.statement_runner import StatementRunner
from headrace.table.statement_set import StatementSet
from headrace.table.table import Table
from headrace.table.table_config import TableConfig
from headrace.table.table_descriptor import TableDescriptor
from headrace.table.type_mapping import logical_type_of
from headrace.table.user_defined_types import serialize_objects


class TableEnvironment(CatalogMethods):
    """Catalogs, options and the statements that are run with them."""

    def __init__(
        self, settings: EnvironmentSettings, environment: StreamExecutionEnvironment | None = None
    ):
        self._env = environment or StreamExecutionEnvironment(settings.get_configuration())
        own = Configuration(settings.get_configuration())
        self._config = TableConfig(own, self._env.configuration)
        catalogs = CatalogManager(
            settings.get_built_in_catalog_name(), settings.get_built_in_database_name(),
            settings.catalog,
        )  # fmt: skip
        table_settings = TableSettings(own.over(self._env.configuration), own)
        self._session = TableSession(catalogs, table_settings)
        self._execution = Execution(self._env, table_settings, settings.planner)
        self._runner = StatementRunner(self._session, self._execution)
        self._unnamed = 0
        self._sources = 0

    @staticmethod
    def create(
        environment_settings: EnvironmentSettings | Configuration | None = None,
    ) -> TableEnvironment:
        return TableEnvironment(_settings(environment_settings))

    def get_config(self) -> TableConfig:
        return self._config

    # SQL.

    def execute_sql(self, stmt: str) -> TableResult:
        """Run one statement; of a job, start it."""
        with naming_the_caller():
            return self._runner.run(parse_statement(stmt))

    def sql_query(self, query: str) -> Table:
        """A query as a table, of which more can be asked."""
        with naming_the_caller():
            return Table(self._session.query_text(query), self)

    def explain_sql(self, stmt: str, *extra_details: ExplainDetail) -> str:
        """What a statement asks, what is run, and by which engine."""
        with naming_the_caller():
            return self._explained(self._runner._relations(parse_statement(stmt)), extra_details)

    def _explained(
        self, relations: Sequence[Relation], extra_details: Sequence[ExplainDetail]
    ) -> str:
        more = list(plan_details(relations, self._execution, extra_details))
        advice = ExplainDetail.PLAN_ADVICE in extra_details
        return "\n\n".join([explained(relations, self._execution, advice=advice), *more])

    def create_statement_set(self) -> StatementSet:
        """Several INSERTs that run as one job."""
        return StatementSet(self)

    def get_completion_hints(self, statement: str, position: int) -> list[str]:
        """What could be written next at a place in a statement."""
        return list(completion_hints(self._runner.catalog_session, statement, position))

    def load_plan(self, plan_reference: PlanReference) -> CompiledPlan:
        """A plan that was kept."""
        return CompiledPlan(read_plan(plan_reference), self)

    def compile_plan_sql(self, stmt: str) -> CompiledPlan:
        """An INSERT statement, or a statement set, as a plan that can be kept."""
        return self._compiled(self._runner.inserts_of(parse_statement(stmt)))

    def execute_plan(self, plan_reference: PlanReference) -> TableResult:
        return self.load_plan(plan_reference).execute()

    def _compiled(self, inserts: Sequence[Insert]) -> CompiledPlan:
        return CompiledPlan(compile_inserts(inserts), self)

    # Tables.

    def from_path(self, path: str) -> Table:
        """A table or view of a catalog."""
        parts = path_parts(path)
        with session_time_zone(self._session.settings.zone):
            relation, full = self._session.builder.table(parts, {}, calling_origin())
        found = self._session.catalogs.find_table(full)
        declared = found.table if found is not None else None
        if isinstance(declared, CatalogView) and declared.relation is not None:
            declared = CatalogTable(declared.schema)  # a view of a stream may declare more
        return Table(relation, self, declared if isinstance(declared, CatalogTable) else None)

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """A table that has no name in a catalog."""
        return self.from_path(self._anonymous(descriptor))

    def create_temporary_table(
        self, path: str, descriptor: TableDescriptor,
        ignoreIfExists: bool | None = False,  # noqa: N803 (PyFlink's name)
    ) -> None:  # fmt: skip
        self._create(path_parts(path), descriptor, temporary=True, exists=bool(ignoreIfExists))

    def create_table(
        self, path: str, descriptor: TableDescriptor,
        ignoreIfExists: bool | None = False,  # noqa: N803 (PyFlink's name)
    ) -> bool:  # fmt: skip
        return self._create(path_parts(path), descriptor, exists=bool(ignoreIfExists))

    def _create(
        self, path: tuple[str, ...], descriptor: TableDescriptor, *, temporary: bool = False,
        exists: bool = False,
    ) -> bool:  # fmt: skip
        at = calling_origin()
        schema = descriptor.get_schema()
        if schema is None:
            raise InvalidArgument(f"table {'.'.join(path)} has no schema", origin=at)
        type_of = self._runner.catalog_session.type_of
        declared = schema.declared(type_of)
        draft = Draft(
            list(declared.columns), declared.watermark, declared.primary_key,
            declared.primary_key_name, tuple(descriptor.get_partition_keys()),
            descriptor.get_options(), descriptor.get_comment(),
        )  # fmt: skip
        table = draft.finished(type_of, at)
        return self._session.catalogs.create_table(
            path, table, temporary=temporary, if_not_exists=exists, at=at
        )

    def _anonymous(self, descriptor: TableDescriptor) -> str:
        self._unnamed += 1
        connector = descriptor.get_options().get("connector", "table")
        name = anonymous_name(connector, self._unnamed)
        self._create((name,), descriptor, temporary=True)
        return f"`{name}`"

    def _target(self, given: str | TableDescriptor) -> tuple[str, ...]:
        """The table that is written to."""
        if isinstance(given, TableDescriptor):
            return path_parts(self._anonymous(given))
        return path_parts(given)

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Any, *fields_or_schema: Any
    ) -> None:
        """A name for a table, for this session."""
        if not isinstance(table_or_data_stream, Table):
            raise TypeMismatch(
                f"{table_or_data_stream!r} is no table", origin=calling_origin(),
                hint="Streams become views of a StreamTableEnvironment.",
            )  # fmt: skip
        self._create_view(path_parts(view_path), table_or_data_stream.relation, temporary=True)

    def create_view(
        self, view_path: str, table: Table, ignore_if_exists: bool | None = False
    ) -> bool:
        """A name for a table in its catalog."""
        return self._create_view(
            path_parts(view_path), table.relation, exists=bool(ignore_if_exists)
        )

    def _create_view(
        self, path: tuple[str, ...], relation: Relation, *, temporary: bool = False,
        exists: bool = False, declared: TableSchema | None = None,
    ) -> bool:  # fmt: skip
        catalogs = self._session.catalogs
        schema = declared or TableSchema(tuple(TableColumn(field) for field in relation.schema))
        place = catalogs.current_catalog, catalogs.current_database
        view = CatalogView("", schema, *place, relation=relation)
        return catalogs.create_table(
            path, view, temporary=temporary, if_not_exists=exists, at=calling_origin()
        )

    def _register_unnamed(self, relation: Relation) -> str:
        """A name by which SQL text can use a table that has none."""
        name = f"UnnamedTable${self._unnamed}"
        self._unnamed += 1
        self._create_view((name,), relation, temporary=True)
        return name

    # Rows of the program.

    def from_elements(
        self, elements: Iterable[Any], schema: Any = None, verify_schema: bool = True
    ) -> Table:
        """A table of Python objects; types are inferred where none are given."""
        listed = list(elements)
        if listed and all(isinstance(each, ExpressionBase) for each in listed):
            return self._from_expressions(listed, schema)
        typed = schema if isinstance(schema, DataType) else None
        inferred = schema is None or isinstance(schema, list | tuple)
        row = inferred_row_type(listed, schema) if inferred else None
        listed = [serialize_objects(each, typed) for each in listed]
        if row is not None:
            return self._from_rows(internal_rows(listed, row, verify=False), row)
        declared = logical_type_of(schema)
        if not isinstance(declared, lt.RowType):
            row = lt.RowType((lt.Field("value", declared),))
            listed = [each if isinstance(each, tuple) else (each,) for each in listed]
            return self._from_rows(internal_rows(listed, row, verify_schema), row)
        return self._from_rows(internal_rows(listed, declared, verify_schema), declared)

    def _from_rows(self, rows: list[tuple[Any, ...]], row: lt.RowType) -> Table:
        return self._from_source(ElementSource(row, rows), row)

    def _from_source(self, source: ElementSource, row: lt.RowType) -> Table:
        self._sources += 1
        path = (anonymous_name("elements", self._sources),)
        return Table(Scan(schema=row.fields, path=path, source=source), self)

    def _from_expressions(self, rows: list[ExpressionBase], schema: DataType | None) -> Table:
        """Rows of expressions: row(1, "a"), row(2, "b")."""
        with session_time_zone(self._session.settings.zone):
            resolver = self._session.builder.resolver(Scope(())).within("from_elements")
            nodes = [each.node for each in rows]
            made = [
                resolver.resolve_all(each.items if isinstance(each, un.RowOf) else (each,))
                for each in nodes
            ]
            if schema is None:
                return Table(values(made, [f"f{at}" for at in range(len(made[0]))]), self)
            row = logical_type_of(schema)
            if not isinstance(row, lt.RowType):
                row = lt.RowType((lt.Field("f0", row),))
            cast = [[as_type(*pair) for pair in zip(each, row.types, strict=True)] for each in made]
            return Table(values(cast, row.names), self)

    def from_pandas(self, pdf: Any, schema: Any = None, splits_num: int = 1) -> Table:
        """A table of a pandas DataFrame."""
        source, row = pandas_source(pdf, schema)
        return self._from_source(source, row)

    # Files that jobs need.

    def add_python_file(self, file_path: str) -> None:
        """A file, package or folder that the workers can import."""
        add_file(self._session.settings.configuration, file_path)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Packages that the workers install."""
        own = self._config.get_configuration()
        set_requirements(own, requirements_file_path, requirements_cache_dir)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """An archive that the workers unpack."""
        add_archive(self._session.settings.configuration, archive_path, target_dir)


def _settings(given: EnvironmentSettings | Configuration | None) -> EnvironmentSettings:
    if isinstance(given, Configuration):
        return EnvironmentSettings(given)
    if given is not None and not isinstance(given, EnvironmentSettings):
        raise TypeMismatch(
            f"EnvironmentSettings are needed, not {given!r}", origin=calling_origin(),
            hint="EnvironmentSettings.in_streaming_mode() or in_batch_mode().",
        )  # fmt: skip
    return given or EnvironmentSettings.in_streaming_mode()
