"""Parsed queries become relations.

`QueryBuilder` is what a statement's queries are built with: it knows the catalogs' tables and the
common tables of WITH. Clauses of FROM are in `queries_from`, SELECT itself in `selection`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from sqlglot import exp

from headrace.core.expressions import UserFunction
from headrace.core.table_connector import CatalogTable, TableSource
from headrace.errors import InvalidQuery, Unsupported
from headrace.graph.relations import Relation
from headrace.sql import unresolved as un
from headrace.sql.dialect import parse_query
from headrace.sql.nodes import position_of
from headrace.sql.queries_from import from_clause
from headrace.sql.queries_groups import group_by
from headrace.sql.queries_hints import hinted, hints_of
from headrace.sql.relations import renamed, with_written_names
from headrace.sql.resolver import Resolver
from headrace.sql.scans import scan
from headrace.sql.scope import Scope, check_names_differ
from headrace.sql.selection import Selection, select
from headrace.sql.set_operations import combined, one_row, values
from headrace.sql.subqueries import filtered
from headrace.sql.to_unresolved import over_spec, sort_items, unresolved, unresolved_all

_SET_KINDS: dict[type, str] = {
    exp.Union: "union",
    exp.Intersect: "intersect",
    exp.Except: "except",
}


@dataclass(frozen=True)
class ViewText:
    """A view: its query as SQL, and the names of its columns if it has its own."""

    query: str
    names: tuple[str, ...] = ()
    place: tuple[str, str] | None = None
    """The catalog and database where its names are looked up; None: the current ones."""


@dataclass(frozen=True)
class FoundTable:
    """What a table's name means: its whole path, and a table, a view or a relation."""

    path: tuple[str, ...]
    object: CatalogTable | ViewText | Relation
    source: TableSource | None = None
    """Of a table: how it is read."""


class Tables(Protocol):
    """The catalogs, as queries see them."""

    def table(
        self, parts: tuple[str, ...], options: Mapping[str, str], at: object | None
    ) -> FoundTable:
        """The table of this name, with options of a hint; InvalidQuery if there is none."""

    def target(
        self, parts: tuple[str, ...], options: Mapping[str, str], at: object | None
    ) -> tuple[tuple[str, ...], CatalogTable]:
        """The table of this name and its whole path; InvalidQuery if it cannot be written."""

    def at(self, place: tuple[str, str]) -> Tables:
        """The same with another current catalog and database."""

    def user_function(self, path: tuple[str, ...]) -> UserFunction | None: ...

    def function_names(self) -> Iterable[str]: ...

    @property
    def current_database(self) -> str: ...


@dataclass(frozen=True)
class QueryBuilder:
    """Builds the relations of queries. As `Surroundings` it serves the resolver."""

    tables: Tables
    common: Mapping[str, Relation] = field(default_factory=dict)
    """Tables of WITH."""
    views: tuple[tuple[str, ...], ...] = ()
    """Views being expanded, to find those that use themselves."""
    batch: bool = False
    """Whether the query runs in batch mode, where windows need no time attribute."""
    strict_patterns: bool = False
    """Whether MATCH_RECOGNIZE may only have what Flink has."""

    def user_function(self, path: tuple[str, ...]) -> UserFunction | None:
        return self.tables.user_function(path)

    def function_names(self) -> Iterable[str]:
        return self.tables.function_names()

    @property
    def current_database(self) -> str:
        return self.tables.current_database

    def subquery(self, query: Any, scope: Scope) -> Relation:
        return query if isinstance(query, Relation) else self.query(query, scope)

    def text(self, text: str) -> Relation:
        """The relation of a query as SQL text."""
        return self.query(parse_query(text))

    def query(self, node: exp.Expr, outer: Scope | None = None) -> Relation:
        """The relation of a parsed query; names it does not know itself are those of `outer`."""
        relation = self.nested(node, outer)
        return with_written_names(relation, relation.names)

    def nested(self, node: exp.Expr, outer: Scope | None) -> Relation:
        """The relation of a query in a query, which knows the names that it gave twice."""
        builder = self._with(node.args.get("with_"), outer)
        if isinstance(node, exp.Select):
            return builder._select(node, outer)
        if isinstance(node, exp.Values):
            relation = builder._values(node, outer)
        elif isinstance(node, exp.Subquery):
            relation = builder.nested(node.this, outer)
        elif type(node) in _SET_KINDS:
            relation = builder._combined(node, outer)
        else:
            raise InvalidQuery("this is not a query", origin=position_of(node))
        return builder._sorted(relation, node)

    def _with(self, clause: exp.Expr | None, outer: Scope | None) -> QueryBuilder:
        builder = self
        if clause is None:
            return builder
        if clause.args.get("recursive"):
            raise Unsupported(
                "WITH RECURSIVE cannot be had: Flink has no recursive queries either",
                origin=position_of(clause),
            )
        for table in clause.expressions:
            relation = builder.nested(table.this, outer)
            names = [each.name for each in table.args["alias"].args.get("columns") or ()]
            if names:
                relation = _with_names(relation, names, position_of(table))
            builder = replace(builder, common={**builder.common, table.alias: relation})
        return builder

    def resolver(self, scope: Scope, windows: Mapping[str, un.OverSpec] | None = None) -> Resolver:
        return Resolver(scope, self, windows or {})

    def _select(self, node: exp.Select, outer: Scope | None) -> Relation:
        hints = hints_of(node.args.get("hint"))
        if node.args.get("from_") is None:
            relation, scope = one_row(), Scope((), outer)
        else:
            relation, scope = from_clause(self, node, outer, hints)
        windows = {each.alias: over_spec(each.this) for each in node.args.get("windows") or ()}
        resolver = self.resolver(scope, windows)
        where = node.args.get("where")
        if where is not None:
            condition = resolver.within("WHERE").condition(unresolved(where.this))
            relation = filtered(relation, condition)
        return hinted(select(relation, resolver, self._selection(node)), relation, hints)

    def _selection(self, node: exp.Select) -> Selection:
        having, qualify = node.args.get("having"), node.args.get("qualify")
        group = node.args.get("group")
        offset, fetch = _limits(node)
        return Selection(
            unresolved_all(node.expressions),
            None if group is None else group_by(group),
            None if having is None else unresolved(having.this),
            None if qualify is None else unresolved(qualify.this),
            bool(node.args.get("distinct")),
            sort_items(node.args.get("order")),
            offset,
            fetch,
        )

    def _combined(self, node: exp.Expr, outer: Scope | None) -> Relation:
        branches = [self.nested(each, outer) for each in (node.this, node.expression)]
        distinct = bool(node.args.get("distinct"))
        return combined(_SET_KINDS[type(node)], branches, all=not distinct, at=position_of(node))

    def _values(self, node: exp.Values, outer: Scope | None) -> Relation:
        resolver = self.resolver(Scope((), outer)).within("VALUES")
        rows = [resolver.resolve_all(unresolved_all(row.expressions)) for row in node.expressions]
        return values(rows, at=position_of(node))

    def _sorted(self, relation: Relation, node: exp.Expr) -> Relation:
        """ORDER BY and LIMIT of a query whose result is all that its order can use."""
        items = sort_items(node.args.get("order"))
        offset, fetch = _limits(node)
        if not items and not offset and fetch is None:
            return relation
        whole = Selection((un.Star(),), order_by=items, offset=offset, fetch=fetch)
        resolver = self.resolver(Scope.of(relation))
        return select(relation, resolver, whole)

    def table(
        self, parts: tuple[str, ...], options: Mapping[str, str], at: object | None
    ) -> tuple[Relation, tuple[str, ...]]:
        """A table by its name: what it is and its whole path."""
        if len(parts) == 1 and parts[0] in self.common:
            return self.common[parts[0]], parts
        found = self.tables.table(parts, options, at)
        if isinstance(found.object, Relation):
            return found.object, found.path
        if isinstance(found.object, ViewText):
            return self._view(found.path, found.object, at), found.path
        assert found.source is not None
        return scan(found.path, found.object, found.source, self), found.path

    def target(
        self, parts: tuple[str, ...], options: Mapping[str, str], at: object | None
    ) -> tuple[tuple[str, ...], CatalogTable]:
        """A table to write to, and its whole path."""
        return self.tables.target(parts, options, at)

    def _view(self, path: tuple[str, ...], view: ViewText, at: object | None) -> Relation:
        if path in self.views:
            raise InvalidQuery(f"view {'.'.join(path)} uses itself", origin=at)
        tables = self.tables if view.place is None else self.tables.at(view.place)
        inside = replace(self, tables=tables, common={}, views=(*self.views, path))
        relation = inside.text(view.query)
        return _with_names(relation, view.names, at) if view.names else relation


def _with_names(relation: Relation, names: Iterable[str], at: object | None) -> Relation:
    listed = tuple(names)
    if len(listed) != len(relation.schema):
        raise InvalidQuery(
            f"{len(listed)} names are given for {len(relation.schema)} columns", origin=at,
            hint=f"the columns are {', '.join(relation.names)}",
        )  # fmt: skip
    check_names_differ(listed, at)
    return renamed(relation, listed)


def _limits(node: exp.Expr) -> tuple[int, int | None]:
    offset, limit = node.args.get("offset"), node.args.get("limit")
    return (
        0 if offset is None else int(offset.expression.name),
        None if limit is None else int(limit.expression.name),
    )
