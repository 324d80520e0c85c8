"""Tables and SQL, at PyFlink's names."""

from headrace.core.rows import Row, RowKind
from headrace.table.changelog_mode import ChangelogMode
from headrace.table.compiled_plan import CompiledPlan
from headrace.table.data_view import DataView, ListView, MapView
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.explain_detail import ExplainDetail
from headrace.table.expression import Expression
from headrace.table.module import Module, ModuleEntry
from headrace.table.plan_reference import PlanReference
from headrace.table.results import ResultKind, TableResult
from headrace.table.schema import Schema
from headrace.table.sql_dialect import SqlDialect
from headrace.table.statement_set import StatementSet
from headrace.table.table import (
    GroupedTable,
    GroupWindowedTable,
    OverWindowedTable,
    Table,
    WindowGroupedTable,
)
from headrace.table.table_config import TableConfig
from headrace.table.table_descriptor import FormatDescriptor, TableDescriptor
from headrace.table.table_environment import StreamTableEnvironment, TableEnvironment
from headrace.table.table_pipeline import TablePipeline
from headrace.table.table_schema import TableSchema
from headrace.table.types import DataTypes, UserDefinedType
from headrace.table.udf import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
)

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "ChangelogMode",
    "CompiledPlan",
    "DataTypes",
    "DataView",
    "EnvironmentSettings",
    "ExplainDetail",
    "Expression",
    "FormatDescriptor",
    "FunctionContext",
    "GroupWindowedTable",
    "GroupedTable",
    "ListView",
    "MapView",
    "Module",
    "ModuleEntry",
    "OverWindowedTable",
    "PlanReference",
    "ResultKind",
    "Row",
    "RowKind",
    "ScalarFunction",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableAggregateFunction",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableFunction",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "UserDefinedType",
    "WindowGroupedTable",
]
