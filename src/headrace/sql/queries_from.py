"""FROM: tables, joins, table functions, subqueries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headrace.core import logical_types as lt
from headrace.core.expressions import Column, Expression, shifted
from headrace.errors import InvalidQuery, Unsupported
from headrace.graph.relations import FULL, INNER, LEFT, RIGHT, Relation
from headrace.plan.relational.equi import equi_condition
from headrace.sql import unresolved as un
from headrace.sql.calls import TRUE, all_of, call
from headrace.sql.changelog_functions import (
    CHANGELOG_FUNCTIONS,
    changelog_arguments,
    changelog_function,
)
from headrace.sql.group_windows import TABLE_FUNCTIONS, window_arguments, window_table
from headrace.sql.marks import SubqueryMark, contains
from headrace.sql.match_recognize import match_recognize
from headrace.sql.nodes import MatchRecognize, position_of
from headrace.sql.position import did_you_mean
from headrace.sql.queries_hints import Hint, table_options, with_join_hints
from headrace.sql.queries_lateral import lateral
from headrace.sql.relations import (
    columns,
    first_columns,
    joined,
    projected,
    renamed,
    restricted,
    temporally_joined,
)
from headrace.sql.scope import Range, Scope, check_names_differ
from headrace.sql.set_operations import one_row
from headrace.sql.subqueries import without_subqueries
from headrace.sql.to_unresolved import unresolved

if TYPE_CHECKING:
    from headrace.sql.queries import QueryBuilder

_SIDES = {"LEFT": LEFT, "RIGHT": RIGHT, "FULL": FULL}
_Source = tuple[Relation, Scope]


def from_clause(
    builder: QueryBuilder, node: exp.Select, outer: Scope | None, hints: Sequence[Hint]
) -> _Source:
    """The rows of FROM and the names they have."""
    source = _first(builder, node.args["from_"].this, outer, hints)
    for join in node.args.get("joins") or ():
        source = _joined(builder, source, join, outer, hints)
    return source


def _first(
    builder: QueryBuilder,
    node: exp.Expr,
    outer: Scope | None,
    hints: Sequence[Hint],
    joined: bool = False,
) -> _Source:
    """A table of its own, with the joins that belong to it."""
    if _is_lateral(builder, node):
        empty = (one_row(), Scope((Range((), ()),), outer))
        relation, scope = lateral(builder, empty, node, INNER, None)
        kept = columns(relation)[1:]
        alone = projected(relation, kept, relation.names[1:])
        ranges = tuple(replace(each, first=each.first - 1) for each in scope.ranges if each.fields)
        source = (alone, replace(scope, ranges=ranges))
    else:
        source = _table(builder, node, outer, hints, joined)
    source = (source[0], replace(source[1], outer=outer))
    for join in node.args.get("joins") or ():
        source = _joined(builder, source, join, outer, hints)
    return source


def _is_lateral(builder: QueryBuilder, node: exp.Expr) -> bool:
    """Whether a table is computed of the rows before it."""
    if isinstance(node, exp.Lateral | exp.Unnest):
        return not (isinstance(node, exp.Lateral) and _is_table_function(node.this))
    return isinstance(node, exp.TableFromRows) and not _is_table_function(node.this)


def _is_table_function(node: exp.Expr) -> bool:
    """Whether it is a function of a whole table."""
    name = node.this.name.upper() if isinstance(node.this, exp.Identifier) else ""
    return name in TABLE_FUNCTIONS or name in CHANGELOG_FUNCTIONS


def _table(
    builder: QueryBuilder,
    node: exp.Expr,
    outer: Scope | None,
    hints: Sequence[Hint],
    joined: bool,
) -> _Source:
    at = position_of(node)
    if isinstance(node, exp.Table):
        if node.args.get("version") is not None and not joined:
            raise InvalidQuery(
                "FOR SYSTEM_TIME AS OF is only possible for the right table of a JOIN", origin=at,
                hint="write FROM t JOIN this_table FOR SYSTEM_TIME AS OF t.time ON …",
            )  # fmt: skip
        parts = tuple(part.name for part in node.parts)
        relation, name = builder.table(parts, table_options(node), at)
    elif isinstance(node, exp.Subquery):
        relation, name = builder.nested(node.this, outer), ()
    elif isinstance(node, exp.TableFromRows | exp.Lateral):
        relation, name = _table_function(builder, node.this, outer), ()
    elif isinstance(node, MatchRecognize):
        below, scope = _first(builder, node.this, outer, hints)
        relation, name = match_recognize(node, below, builder.resolver(scope)), ()
    else:
        return _first(builder, node, outer, hints)
    return _aliased(relation, name, node)


def _aliased(relation: Relation, name: tuple[str, ...], node: exp.Expr) -> _Source:
    alias = node.args.get("alias")
    if alias is None:
        return relation, Scope.of(relation, *name)
    names = [each.name for each in alias.args.get("columns") or ()]
    if not names and len(relation.schema) == 1 and isinstance(node.this, exp.Values):
        names = [alias.name]  # as in Flink, the only column of VALUES is called like the table
    if names:
        if len(names) != len(relation.schema):
            raise InvalidQuery(
                f"{len(names)} names are given for {len(relation.schema)} columns",
                origin=position_of(alias), hint=f"the columns are {', '.join(relation.names)}",
            )  # fmt: skip
        check_names_differ(names, position_of(alias))
        relation = renamed(relation, names)
    return relation, Scope.of(relation, alias.name)


def _table_function(builder: QueryBuilder, node: exp.Expr, outer: Scope | None) -> Relation:
    apply = unresolved(node)
    assert isinstance(apply, un.Apply)
    if apply.function.upper() in CHANGELOG_FUNCTIONS:
        named = changelog_arguments(apply)
        relation = _argument(builder, named["input"], outer)
        resolver = builder.resolver(Scope.of(relation, outer=outer))
        return changelog_function(resolver, relation, apply, named)
    arguments = window_arguments(apply)
    relation = _argument(builder, arguments.table, outer)
    resolver = builder.resolver(Scope.of(relation, outer=outer))
    return window_table(resolver, relation, arguments)


def _argument(builder: QueryBuilder, node: un.Unresolved, outer: Scope | None) -> Relation:
    """The table handed to a function."""
    assert isinstance(node, un.TableArgument)
    table = node.table
    if isinstance(table, Relation):
        return table
    if isinstance(table, exp.Table):
        parts = tuple(part.name for part in table.parts)
        return builder.table(parts, table_options(table), position_of(table))[0]
    relation = builder.nested(table, outer)
    check_names_differ(relation.written, node.at)
    return relation


def _joined(
    builder: QueryBuilder,
    left: _Source,
    join: exp.Expr,
    outer: Scope | None,
    hints: Sequence[Hint],
) -> _Source:
    kind = _SIDES.get(join.args.get("side") or "", INNER)
    node = join.this
    on = join.args.get("on")
    if _is_lateral(builder, node):
        return lateral(builder, left, node, kind, on)
    right = _first(builder, node, outer, hints, joined=True)
    scope = _beside(left[1], right[1], outer)
    if isinstance(node, exp.Table) and node.args.get("version") is not None:
        relation = _temporal(builder, left, right, scope, join, kind)
        relation = with_join_hints(relation, hints, left[1], right[1])
        return relation, scope.with_schema(relation.schema)
    names = _shared_names(join, left[1], right[1])
    if names:
        return _joined_using(left, right, scope, kind, names, (hints, position_of(join)))
    condition: Expression = TRUE
    if on is not None:
        condition = builder.resolver(scope).within("ON").condition(unresolved(on))
    relation = _conditional(left[0], right[0], kind, condition, position_of(on))
    relation = with_join_hints(relation, hints, left[1], right[1])
    return relation, scope.with_schema(relation.schema)


def _conditional(
    left: Relation, right: Relation, kind: str, condition: Expression, at: object | None
) -> Relation:
    if not contains(condition, SubqueryMark):
        return joined(left, right, kind, condition)
    if kind != INNER:
        raise Unsupported("a subquery in ON of an outer join cannot be had", origin=at)
    width = len(left.schema) + len(right.schema)
    wide, (plain,) = without_subqueries(joined(left, right, INNER), [condition])
    return first_columns(restricted(wide, plain), width)


def _beside(left: Scope, right: Scope, outer: Scope | None) -> Scope:
    scope = left.beside(right)
    moved = {name: _moved(expression, left.width) for name, expression in right.merged.items()}
    names = {each.name for each in left.ranges if each.name}
    for each in right.ranges:
        if len(each.name) == 1 and each.name in names:
            raise InvalidQuery(
                f"two tables of FROM are called {each.name[0]}", hint="give one of them an alias"
            )
    return replace(scope, outer=outer, merged={**moved, **left.merged})


def _moved(expression: Expression, by: int) -> Expression:
    return shifted(expression, lambda index: index + by)


def _shared_names(join: exp.Expr, left: Scope, right: Scope) -> list[str]:
    using = join.args.get("using")
    if using:
        return [each.name for each in using]
    if join.args.get("method") != "NATURAL":
        return []
    mine, theirs = ([name for name, _ in each.star((), None)] for each in (left, right))
    return [name for name in theirs if mine.count(name) == theirs.count(name) == 1]


def _joined_using(
    left: _Source,
    right: _Source,
    scope: Scope,
    kind: str,
    names: Sequence[str],
    where: tuple[Sequence[Hint], object | None],
) -> _Source:
    hints, at = where
    width = left[1].width
    pairs: list[tuple[str, Expression, Expression]] = []
    for name in names:
        first, second = (_column_named(each[1], name, at) for each in (left, right))
        pairs.append((name, first, _moved(second, width)))
    condition = all_of(call("EQUALS", one, two, at=at) for _, one, two in pairs)
    relation = with_join_hints(joined(left[0], right[0], kind, condition), hints, left[1], right[1])
    typed = scope.with_schema(relation.schema)
    merged = dict(typed.merged)
    for name, one, two in pairs:
        first, second = _typed(one, relation), _typed(two, relation)
        merged[name] = {RIGHT: second, FULL: call("COALESCE", first, second)}.get(kind, first)
    ordered = {name: merged[name] for name in [*names, *(n for n in merged if n not in names)]}
    return relation, replace(typed, merged=ordered)


def _typed(expression: Expression, relation: Relation) -> Expression:
    """A column with the type it has after an outer join."""
    if isinstance(expression, Column):
        return Column(relation.types[expression.index], expression.index)
    return expression


def _column_named(scope: Scope, name: str, at: object | None) -> Expression:
    names = [each for each, _ in scope.star((), None)]
    if name not in names:
        raise InvalidQuery(
            f"column {name} of USING is not in both tables", origin=at,
            hint=did_you_mean(name, names),
        )  # fmt: skip
    return scope.find((name,), at)[0]


def _temporal(
    builder: QueryBuilder,
    left: _Source,
    right: _Source,
    scope: Scope,
    join: exp.Expr,
    kind: str,
) -> Relation:
    """JOIN t FOR SYSTEM_TIME AS OF left.time."""
    version = unresolved(join.this.args["version"])
    time = builder.resolver(left[1]).resolve(version)
    if not isinstance(time, Column) or not lt.is_time_attribute(time.type):
        raise InvalidQuery(
            f"FOR SYSTEM_TIME AS OF takes a time attribute of the left table, this is {time.type}",
            origin=version.at,
            hint="declare a WATERMARK for the column, or use a column AS PROCTIME()",
        )
    on = join.args.get("on")
    if on is None or kind in (RIGHT, FULL):
        raise InvalidQuery(
            "a temporal join is an INNER or LEFT JOIN with ON", origin=position_of(join)
        )
    condition = builder.resolver(scope).within("ON").condition(unresolved(on))
    left_keys, _, _, _ = equi_condition(condition, len(left[0].schema))
    if not left_keys and not lt.is_proctime(time.type):
        raise InvalidQuery(
            "a temporal join needs an equality with the key of its versioned table",
            origin=position_of(on),
            hint="compare the table's PRIMARY KEY with = to columns of the left table",
        )
    return temporally_joined(left[0], right[0], kind, condition, time.index)
