"""SQL statements as data. Queries inside are sqlglot trees (see `headrace.sql.nodes`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from headrace.core.table_connector import TableColumn, WatermarkText
from headrace.sql.position import Position
from headrace.sql.unresolved import Unresolved

Path = tuple[str, ...]
"""A name with what qualifies it: (catalog, database, object) or the end of that."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    text: str = field(default="", repr=False)
    at: Position | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Query(Statement):
    tree: exp.Expr


# Tables


@dataclass(frozen=True)
class ColumnPart:
    """A column as written, and where ALTER TABLE puts it: "first", or after a column."""

    column: TableColumn
    primary_key: bool = False
    first: bool = False
    after: str | None = None
    at: Position | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class TableParts:
    """What stands in the parentheses of CREATE TABLE and ALTER TABLE ADD."""

    columns: tuple[ColumnPart, ...] = ()
    watermark: WatermarkText | None = None
    primary_key: Path | None = None
    primary_key_name: str | None = None
    names: Path | None = None
    """CREATE TABLE t (a, b) AS SELECT …: only names."""
    distribution: str | None = None


@dataclass(frozen=True)
class LikeClause:
    path: Path
    choices: tuple[tuple[str, str], ...] = ()
    """Pairs of INCLUDING, EXCLUDING or OVERWRITING and a feature such as ALL or OPTIONS."""
    at: Position | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class CreateTable(Statement):
    path: Path
    parts: TableParts = TableParts()
    options: Mapping[str, str] = field(default_factory=dict)
    partition_keys: Path = ()
    comment: str | None = None
    distribution: str | None = None
    temporary: bool = False
    if_not_exists: bool = False
    like: LikeClause | None = None


@dataclass(frozen=True, kw_only=True)
class CreateTableAs(Statement):
    """CREATE TABLE … AS query; `replace`: [CREATE OR] REPLACE TABLE … AS query."""

    table: CreateTable
    query: exp.Expr
    replace: bool = False
    create: bool = True


@dataclass(frozen=True)
class RenameTo:
    path: Path


@dataclass(frozen=True)
class RenameColumn:
    old: str
    new: str


@dataclass(frozen=True)
class SetOptions:
    options: Mapping[str, str]


@dataclass(frozen=True)
class ResetOptions:
    keys: Path


@dataclass(frozen=True)
class ChangeParts:
    """ADD or MODIFY."""

    parts: TableParts
    modify: bool = False


@dataclass(frozen=True)
class DropColumns:
    names: Path


@dataclass(frozen=True)
class DropPart:
    """`what`: "primary key", "constraint" (by name), "watermark" or "distribution"."""

    what: str
    name: str | None = None


@dataclass(frozen=True)
class AddPartitions:
    partitions: tuple[tuple[Mapping[str, str], Mapping[str, str]], ...]
    """Pairs of a partition and its properties."""
    if_not_exists: bool = False


@dataclass(frozen=True)
class DropPartitions:
    partitions: tuple[Mapping[str, str], ...]
    if_exists: bool = False


@dataclass(frozen=True)
class SetComment:
    comment: str


@dataclass(frozen=True, kw_only=True)
class AlterTable(Statement):
    path: Path
    action: Any
    if_exists: bool = False


# Other objects


@dataclass(frozen=True, kw_only=True)
class CreateView(Statement):
    path: Path
    query: exp.Expr
    query_text: str
    columns: Path | None = None
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class AlterView(Statement):
    path: Path
    action: RenameTo | None = None
    query: exp.Expr | None = None
    query_text: str | None = None
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateFunction(Statement):
    path: Path
    class_name: str
    language: str = "JAVA"
    resources: Path = ()
    options: Mapping[str, str] = field(default_factory=dict)
    temporary: bool = False
    system: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class AlterFunction(Statement):
    path: Path
    class_name: str
    language: str = "JAVA"
    temporary: bool = False
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class CreateCatalog(Statement):
    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class AlterCatalog(Statement):
    name: str
    action: SetOptions | ResetOptions | SetComment


@dataclass(frozen=True, kw_only=True)
class CreateDatabase(Statement):
    path: Path
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class AlterDatabase(Statement):
    path: Path
    action: SetOptions | ResetOptions | SetComment


@dataclass(frozen=True, kw_only=True)
class Drop(Statement):
    """`kind`: TABLE, VIEW, FUNCTION, CATALOG or DATABASE."""

    kind: str
    path: Path
    if_exists: bool = False
    temporary: bool = False
    system: bool = False
    cascade: bool = False


# Sessions


@dataclass(frozen=True, kw_only=True)
class UseCatalog(Statement):
    name: str


@dataclass(frozen=True, kw_only=True)
class UseDatabase(Statement):
    path: Path


@dataclass(frozen=True, kw_only=True)
class UseModules(Statement):
    names: Path


@dataclass(frozen=True, kw_only=True)
class LoadModule(Statement):
    name: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class UnloadModule(Statement):
    name: str


@dataclass(frozen=True, kw_only=True)
class SetOption(Statement):
    """SET 'key' = 'value'; without a key: show all."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True, kw_only=True)
class ResetOption(Statement):
    """RESET 'key'; without a key: all."""

    key: str | None = None


@dataclass(frozen=True, kw_only=True)
class Show(Statement):
    """SHOW `what` [FROM|IN path] [[NOT] LIKE|ILIKE 'pattern']."""

    what: str
    """CATALOGS, CURRENT CATALOG, DATABASES, CURRENT DATABASE, TABLES, VIEWS, COLUMNS, PARTITIONS,
    FUNCTIONS, USER FUNCTIONS, PROCEDURES, MODULES, FULL MODULES, JARS, JOBS, MODELS, CONNECTIONS
    or MATERIALIZED TABLES."""
    path: Path = ()
    pattern: str | None = None
    negated: bool = False
    ignore_case: bool = False
    partition: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class ShowCreate(Statement):
    """`kind`: TABLE, VIEW or CATALOG."""

    kind: str
    path: Path


@dataclass(frozen=True, kw_only=True)
class Describe(Statement):
    """`kind`: TABLE, CATALOG, DATABASE, FUNCTION or JOB."""

    kind: str
    path: Path
    extended: bool = False


# Jobs


@dataclass(frozen=True, kw_only=True)
class Insert(Statement):
    path: Path
    query: exp.Expr
    overwrite: bool = False
    columns: Path | None = None
    partition: Mapping[str, Unresolved] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    """Of /*+ OPTIONS(…) */ behind the table."""
    conflict: str | None = None
    """ON CONFLICT DO: "ERROR", "NOTHING" or "DEDUPLICATE"."""


@dataclass(frozen=True, kw_only=True)
class StatementSet(Statement):
    inserts: tuple[Statement, ...]


@dataclass(frozen=True, kw_only=True)
class BeginStatementSet(Statement):
    """BEGIN STATEMENT SET at the end of a text: the inserts come one by one, up to END."""


@dataclass(frozen=True, kw_only=True)
class EndStatementSet(Statement):
    """END on its own."""


@dataclass(frozen=True, kw_only=True)
class Update(Statement):
    path: Path
    assignments: tuple[tuple[str, Unresolved], ...]
    where: Unresolved | None = None


@dataclass(frozen=True, kw_only=True)
class Delete(Statement):
    path: Path
    where: Unresolved | None = None


@dataclass(frozen=True, kw_only=True)
class Truncate(Statement):
    path: Path


@dataclass(frozen=True, kw_only=True)
class Explain(Statement):
    statement: Statement
    details: Path = ()
    """ESTIMATED_COST, CHANGELOG_MODE, JSON_EXECUTION_PLAN, PLAN_ADVICE."""


@dataclass(frozen=True, kw_only=True)
class Analyze(Statement):
    path: Path
    partition: Mapping[str, str | None] = field(default_factory=dict)
    columns: Path | None = None
    """None: only the table; (): all columns."""


@dataclass(frozen=True, kw_only=True)
class Call(Statement):
    path: Path
    arguments: tuple[Unresolved, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StopJob(Statement):
    job_id: str
    savepoint: bool = False
    drain: bool = False


@dataclass(frozen=True, kw_only=True)
class CompilePlan(Statement):
    file: str
    statement: Statement
    if_not_exists: bool = False
    execute: bool = False


@dataclass(frozen=True, kw_only=True)
class ExecutePlan(Statement):
    file: str


@dataclass(frozen=True, kw_only=True)
class UnsupportedStatement(Statement):
    """One that Flink has and headrace does not; running it raises `Unsupported`."""

    what: str
    reason: str
    hint: str
