"""MATCH_RECOGNIZE: the clause becomes a relation with a pattern over typed expressions."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from headrace.core import logical_types as lt
from headrace.core.expressions import Column, Expression, SortKey
from headrace.core.logical_types import Field
from headrace.core.row_patterns import OverMatch, RowPattern
from headrace.errors import InvalidQuery
from headrace.graph.relations import MatchRecognize, Relation
from headrace.sql import nodes
from headrace.sql.calls import conjuncts
from headrace.sql.match_recognize_expressions import (
    MatchResolver,
    PatternScope,
    for_variable,
    over_match,
)
from headrace.sql.match_recognize_pattern import event_pattern, mandatory, subsets
from headrace.sql.nodes import position_of
from headrace.sql.position import did_you_mean
from headrace.sql.resolver import Resolver
from headrace.sql.scope import Range
from headrace.sql.to_unresolved import sort_items, unresolved


def match_recognize(node: nodes.MatchRecognize, relation: Relation, resolver: Resolver) -> Relation:
    """The matches in a relation; `resolver` is for the relation's columns."""
    partition = _partition(node, resolver)
    order = _order(node, resolver)
    events = event_pattern(node, resolver)
    names = tuple(part.name for part in events.parts if hasattr(part, "name"))
    time_type = relation.types[order[0].column]
    sets = subsets(node, names)
    ranges = resolver.scope.ranges
    called = ranges[0].name if len(ranges) == 1 else ()
    inner = MatchResolver(
        PatternScope((Range(called, relation.schema),), variables=(*names, *sets)),
        resolver.surroundings, time_type=time_type, mandatory=mandatory(events), subsets=sets,
    )  # fmt: skip
    definitions = _definitions(node, names, inner)
    measured, measures = _measures(node, inner, [relation.names[at] for at in partition])
    pattern = RowPattern(
        partition, order, time_type, events, definitions, measures,
        at=position_of(node),
    )  # fmt: skip
    keys = [Field(relation.names[at], lt.materialized(relation.types[at])) for at in partition]
    made = [
        Field(name, expression.type)
        for name, expression in zip(measured, measures.expressions, strict=True)
    ]
    return MatchRecognize(schema=(*keys, *made), input=relation, pattern=pattern)


def _partition(node: nodes.MatchRecognize, resolver: Resolver) -> tuple[int, ...]:
    found = []
    for part in node.args.get("partition_by") or ():
        expression = resolver.within("PARTITION BY").resolve(unresolved(part))
        found.append(_column(expression, "PARTITION BY", part))
    return tuple(dict.fromkeys(found))


def _column(expression: Expression, clause: str, part: exp.Expr) -> int:
    if not isinstance(expression, Column):
        raise InvalidQuery(
            f"{clause} of MATCH_RECOGNIZE takes columns", origin=position_of(part),
            hint="compute the expression in a subquery that is the input",
        )  # fmt: skip
    return expression.index


def _order(node: nodes.MatchRecognize, resolver: Resolver) -> tuple[SortKey, ...]:
    written = node.args.get("order")
    if written is None:
        raise InvalidQuery(
            "MATCH_RECOGNIZE needs ORDER BY with a time attribute", origin=position_of(node),
            hint="a pattern is about the order of rows: write ORDER BY the column of their time",
        )  # fmt: skip
    keys = []
    for part, item in zip(written, sort_items(written), strict=True):
        order = resolver.within("ORDER BY").order(item)
        index = _column(order.expression, "ORDER BY", part)
        keys.append(SortKey(index, order.ascending, order.nulls_first))
        if len(keys) == 1:
            _check_time(order.expression.type, order.ascending, resolver, part)
    return tuple(keys)


def _check_time(type: lt.LogicalType, ascending: bool, resolver: Resolver, part: exp.Expr) -> None:
    in_batch = resolver.surroundings.batch and isinstance(type, lt.TIMESTAMPS)
    if not lt.is_time_attribute(type) and not in_batch:
        raise InvalidQuery(
            f"ORDER BY of MATCH_RECOGNIZE must begin with a time attribute, this is {type}",
            origin=position_of(part),
            hint="order by a column with a WATERMARK, or one AS PROCTIME(); others may follow it",
        )
    if not ascending:
        raise InvalidQuery(
            "MATCH_RECOGNIZE follows time: the first column of ORDER BY must be ascending",
            origin=position_of(part), hint="write ASC, or nothing, after the time attribute",
        )  # fmt: skip


def _measures(
    node: nodes.MatchRecognize, resolver: MatchResolver, keys: Sequence[str]
) -> tuple[Sequence[str], OverMatch]:
    written = node.args.get("measures") or ()
    names = [each.args["alias"].name for each in written]
    expressions = [resolver.resolve(unresolved(each.this)) for each in written]
    _check_names(node, names, keys)
    return names, over_match(resolver, expressions)


def _check_names(node: nodes.MatchRecognize, names: Sequence[str], keys: Sequence[str]) -> None:
    for at, name in enumerate(names):
        if name in names[:at] or name in keys:
            raise InvalidQuery(
                f"two columns of MATCH_RECOGNIZE are called {name}",
                origin=position_of(node.args["measures"][at]),
                hint="give each its own name",
            )


def _definitions(
    node: nodes.MatchRecognize, variables: Sequence[str], resolver: MatchResolver
) -> tuple[tuple[str, OverMatch], ...]:
    found: dict[str, OverMatch] = {}
    for each in node.args["define"]:
        name = each.args["alias"].name
        at = position_of(each.args["alias"]) or position_of(each)
        if name not in variables:
            known = f"its variables are {', '.join(variables)}"
            raise InvalidQuery(
                f"DEFINE has a condition for {name}, which is not in PATTERN", origin=at,
                hint=did_you_mean(name, variables, known),
            )  # fmt: skip
        if name in found:
            raise InvalidQuery(f"DEFINE has two conditions for {name}", origin=at)
        inner = for_variable(resolver, name)
        found[name] = over_match(inner, conjuncts(inner.condition(unresolved(each.this))))
    return tuple(found.items())
