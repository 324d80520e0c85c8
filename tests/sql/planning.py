"""Queries over tables that are only declared: what the tests of planning share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.core.expressions import Expression
from headrace.core.logical_types import Field, RowType, TimestampType
from headrace.core.table_connector import (
    APPEND,
    CatalogTable,
    ChangelogMode,
    TableConnector,
    TableSink,
    TableSource,
)
from headrace.graph.relations import Relation
from headrace.plan.relational.changelog import Traits, annotated
from headrace.plan.relational.explain import tree
from headrace.plan.relational.optimizer import optimize
from headrace.sql import ddl
from headrace.sql import statements as st
from headrace.sql.catalog_manager import CatalogManager
from headrace.sql.catalog_tables import CatalogTables
from headrace.sql.parse_statements import parse_statement
from headrace.sql.queries import QueryBuilder
from headrace.sql.relation_builder import insert


def mode_of(text: str) -> ChangelogMode:
    kinds = text.split(",")
    return ChangelogMode("UB" in kinds, "UA" in kinds, "D" in kinds)


@dataclass(frozen=True)
class DeclaredSource(TableSource):
    row: RowType
    changelog: ChangelogMode = APPEND
    looks_up: bool = False
    projects: bool = True
    bounded: bool = False
    filters: tuple[str, ...] = ()

    def lookup(self, keys: tuple[int, ...]) -> Any:
        return (lambda values: ()) if self.looks_up else None

    def metadata(self) -> Mapping[str, Any]:
        return {"ts": TimestampType(3), "d": TimestampType(3)}

    def with_projection(self, columns: tuple[int, ...]) -> TableSource | None:
        return self if self.projects else None

    def with_filter(self, conditions: tuple[Expression, ...]) -> tuple[TableSource, Any] | None:
        if "all" not in self.filters:
            return None
        return replace(self, filters=tuple(map(str, conditions))), ()


@dataclass(frozen=True)
class DeclaredSink(TableSink):
    mode: str = "I,UB,UA,D"

    def accepts(self, wanted: ChangelogMode) -> ChangelogMode:
        return mode_of(self.mode)


@dataclass(frozen=True)
class DeclaredConnector(TableConnector):
    """Options: changes (of the source), takes (of the sink), lookup, projects."""

    identifier: str = "declared"

    def source(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSource:
        mode = mode_of(options.get("changes", "I"))
        if "deletes-by-key" in options:
            mode = replace(mode, deletes_by_key=True)
        return DeclaredSource(
            row, mode, "lookup" in options, "whole" not in options, "bounded" in options,
            ("all",) if "filters" in options else (),
        )  # fmt: skip

    def sink(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSink:
        return DeclaredSink(options.get("takes", "I,UB,UA,D"))


class Planning:
    """A session whose statements are planned, never run."""

    def __init__(self, *statements: str):
        manager = CatalogManager()
        self.session = ddl.Session.of(manager, schema_of=self._schema)
        self.builder = QueryBuilder(CatalogTables(manager, self.session.functions))
        self.manager = manager
        for statement in statements:
            self.run(statement)

    def _schema(self, query: Any, _text: str) -> tuple[Field, ...]:
        return self.builder.query(query).schema

    def table(
        self, name: str, columns: str, partitioned_by: str | None = None, **options: str
    ) -> None:
        """A table whose connector only says which changes it has."""
        parts = f" PARTITIONED BY ({partitioned_by})" if partitioned_by else ""
        text = f"CREATE TABLE {name} ({columns}){parts} WITH ('connector' = 'declared')"
        parsed = parse_statement(text)
        assert isinstance(parsed, st.CreateTable)
        made = ddl.created_table(self.session, parsed)
        given = {key.replace("_", "-"): value for key, value in options.items()}
        table = replace(made, connector=DeclaredConnector(), options=given)
        self.manager.create_table((name,), table, temporary=True)

    def run(self, text: str) -> Relation | None:
        statement = parse_statement(text)
        if isinstance(statement, st.Query):
            return self.builder.query(statement.tree)
        if isinstance(statement, st.Insert):
            return insert(self.builder, statement)
        ddl.run(self.session, statement)
        return None

    def query(self, text: str) -> Relation:
        relation = self.run(text)
        assert relation is not None
        return relation

    def optimized(self, text: str) -> Relation:
        return optimize(self.query(text))

    def traits(self, text: str) -> tuple[Relation, Traits]:
        relation = self.optimized(text)
        return relation, annotated(relation)

    def tree(self, text: str, *, optimized: bool = False) -> str:
        return tree(self.optimized(text) if optimized else self.query(text))


def sample() -> Planning:
    """Append-only tables, two streams with event time, changelogs and sinks."""
    planning = Planning()
    planning.table("t", "id INT, name STRING, v BIGINT, r ROW<x INT, y ROW<z STRING>>")
    planning.table("u", "id INT, w DOUBLE, tags ARRAY<STRING>")
    planning.table(
        "clicks",
        "who INT, n BIGINT, ts TIMESTAMP(3), pt AS PROCTIME(), "
        "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND",
    )
    planning.table("visits", "who INT, m BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts")
    planning.table("users", "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED", changes="I,UA,D")
    planning.table("events", "id INT, v BIGINT", changes="I,UB,UA,D")
    planning.table("cities", "id INT, city STRING", lookup="yes")
    planning.table("files", "id INT, name STRING, v BIGINT", filters="yes")
    planning.table("log", "id INT, v BIGINT", takes="I")
    planning.table(
        "totals", "name STRING, total BIGINT, PRIMARY KEY (name) NOT ENFORCED", takes="I,UA,D"
    )
    return planning


def shown(text: str) -> str:
    """A tree without the names of the default catalog and database."""
    return text.replace("default_catalog.default_database.", "").strip()
