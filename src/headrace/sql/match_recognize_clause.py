"""MATCH_RECOGNIZE without text: the clause as the Table API makes it, as the tree of SQL.

The pattern itself is text in both front ends, and read by the same grammar.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import exp

from headrace.errors import InvalidQuery
from headrace.sql import nodes
from headrace.sql import unresolved as un
from headrace.sql.dialect import FlinkParser, whole
from headrace.sql.nodes import given

Read = TypeVar("Read")


@dataclass(frozen=True, kw_only=True)
class MatchClause:
    """What the clause says, and where."""

    partition_by: Sequence[un.Unresolved]
    order_by: Sequence[un.SortItem]
    measures: Mapping[str, un.Unresolved]
    rows: str | None
    """ONE ROW PER MATCH, or ALL ROWS PER MATCH with what may follow."""
    after_match: str | None
    """SKIP …, as after AFTER MATCH."""
    pattern: str
    within: un.Unresolved | None
    subsets: Mapping[str, Sequence[str]]
    define: Mapping[str, un.Unresolved]
    at: object | None


def clause_tree(clause: MatchClause) -> nodes.MatchRecognize:
    """The tree that the parser would make of the same clause."""
    at = clause.at
    tree = nodes.MatchRecognize(
        this=exp.Table(this=exp.to_identifier("input")),
        partition_by=[given(each, each.at or at) for each in clause.partition_by],
        order=[_ordered(item, at) for item in clause.order_by] or None,
        measures=[_named(name, each, at) for name, each in clause.measures.items()],
        within=None if clause.within is None else given(clause.within, clause.within.at or at),
        subsets=[_subset(name, parts, at) for name, parts in clause.subsets.items()],
        define=[_named(name, each, at) for name, each in clause.define.items()],
    )  # fmt: skip
    _read(f"PATTERN ({clause.pattern})", "pattern", at, lambda parser: parser.pattern_clause(tree))
    for part in tree.args["pattern"].walk():
        nodes.mark_origin(part, at)
    if clause.rows is not None:
        tree.set("rows", _read(clause.rows, "rows_per_match", at, FlinkParser.rows_per_match))
    if clause.after_match is not None:
        tree.set("skip", _read(clause.after_match, "after_match", at, FlinkParser.match_skip))
        for part in tree.args["skip"].walk():
            nodes.mark_origin(part, at)
    nodes.mark_origin(tree, at)
    return tree


def _read(text: str, argument: str, at: object | None, read: Callable[[FlinkParser], Read]) -> Read:
    try:
        return whole(text, read)
    except InvalidQuery as error:
        raise InvalidQuery(
            f"{argument} is not understood: {error.message}, in {text!r}", origin=at,
            hint=error.hint or "Write it as SQL has it.",
        ) from error  # fmt: skip


def _ordered(item: un.SortItem, at: object | None) -> exp.Expr:
    ordered = exp.Ordered(
        this=given(item.operand, item.at or at), desc=not item.ascending,
        nulls_first=item.nulls_first,
    )  # fmt: skip
    nodes.mark_origin(ordered, item.at or at)
    return ordered


def _named(name: str, node: un.Unresolved, at: object | None) -> exp.Expr:
    named = exp.Alias(this=given(node, node.at or at), alias=exp.to_identifier(name, quoted=True))
    nodes.mark_origin(named, node.at or at)
    return named


def _subset(name: str, variables: Sequence[str], at: object | None) -> exp.Expr:
    parts = [exp.to_identifier(variable, quoted=True) for variable in variables]
    subset = exp.Alias(this=exp.Tuple(expressions=parts), alias=exp.to_identifier(name))
    for part in subset.walk():
        nodes.mark_origin(part, at)
    return subset
