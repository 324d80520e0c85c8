"""MATCH_RECOGNIZE: the clause becomes a relation with a pattern over typed expressions."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from headrace.core import logical_types as lt
from headrace.core.expressions import Column, Expression, SortKey
from headrace.core.logical_types import Field
from headrace.core.patterns import Skip
from headrace.core.row_pattern_terms import (
    RowsPerMatch,
    Term,
    always_taken,
    can_be_empty,
    variables_of,
)
from headrace.core.row_patterns import (
    Classifier,
    MatchNumber,
    OverMatch,
    RowAt,
    RowPattern,
    Slot,
)
from headrace.errors import InvalidQuery
from headrace.graph.relations import MatchRecognize, Relation
from headrace.plan.relational.conditions import conjuncts
from headrace.sql import nodes
from headrace.sql.match_recognize_expressions import (
    MatchResolver,
    PatternScope,
    for_variable,
    over_match,
)
from headrace.sql.match_recognize_pattern import after_match, event_pattern, subsets
from headrace.sql.match_recognize_terms import (
    Beyond,
    beyond_flink,
    check_flink_end,
    rows_per_match,
    written_term,
)
from headrace.sql.nodes import position_of
from headrace.sql.position import did_you_mean
from headrace.sql.resolver import Resolver
from headrace.sql.scope import Range
from headrace.sql.to_unresolved import sort_items, unresolved


def match_recognize(node: nodes.MatchRecognize, relation: Relation, resolver: Resolver) -> Relation:
    """The matches in a relation; `resolver` is for the relation's columns."""
    partition = _partition(node, resolver)
    order = _order(node, resolver)
    term = written_term(node, batch=resolver.surroundings.batch)
    names, rows = variables_of(term), rows_per_match(node)
    sets = subsets(node, names)
    inner = _inner(node, term, relation, resolver, order, sets)
    definitions = _definitions(node, names, inner)
    before, others = _passed(rows, relation, partition, order)
    passed = [relation.names[at] for at in (*partition, *before, *others)]
    measured, measures = _measures(node, inner, passed)
    beyond = _beyond(node, term, sets, [measures, *(over for _, over in definitions)])
    if beyond is not None and inner.strict:
        raise beyond.error()
    if beyond is None:
        check_flink_end(node)
    usual = Skip.TO_NEXT if beyond is None else Skip.PAST_LAST_EVENT
    after, skip_to = after_match(node, names, sets, usual)
    events = event_pattern(node, resolver, term if beyond is None else None, after)
    pattern = RowPattern(
        partition, order, relation.types[order[0].column], events, definitions, measures,
        term=None if beyond is None else term, output=rows, skip_to=skip_to,
        order_columns=before, other_columns=others, at=position_of(node),
    )  # fmt: skip
    schema = _schema(relation, pattern, measured)
    return MatchRecognize(schema=schema, input=relation, pattern=pattern)


def _inner(
    node: nodes.MatchRecognize, term: Term, relation: Relation, resolver: Resolver,
    order: Sequence[SortKey], sets: dict[str, tuple[str, ...]],
) -> MatchResolver:  # fmt: skip
    """What resolves expressions over the rows of a match."""
    ranges = resolver.scope.ranges
    rows = ranges[0] if len(ranges) == 1 else Range((), relation.schema)
    names = (*variables_of(term), *sets)
    strict = resolver.surroundings.strict_patterns
    if strict and node.args.get("subsets"):
        at = position_of(node.args["subsets"][0])
        raise Beyond("SUBSET", at, "name the variables themselves").error()
    return MatchResolver(
        PatternScope((rows,), variables=names),
        resolver.surroundings, time_type=relation.types[order[0].column],
        mandatory=always_taken(term), subsets=sets, strict=strict,
        by_row=rows_per_match(node) is not RowsPerMatch.ONE, may_be_empty=can_be_empty(term),
    )  # fmt: skip


def _beyond(
    node: nodes.MatchRecognize, term: Term, sets: dict[str, tuple[str, ...]],
    overs: Sequence[OverMatch],
) -> Beyond | None:  # fmt: skip
    """What Flink could not match, so that it is matched as the standard says."""
    found = beyond_flink(node, term)
    if found is not None:
        return found
    skip = node.args.get("skip")
    if skip is not None and skip.this is not None and skip.this.name in sets:
        return Beyond("a SUBSET to skip to", position_of(skip.this), "skip to a variable")
    slots = [slot for over in overs for slot in over.slots]
    # Where they were written was checked when they were resolved.
    return Beyond("such functions", position_of(node)) if any(map(_needs_order, slots)) else None


def _needs_order(slot: Slot) -> bool:
    """Whether only the standard's way of matching knows what it asks for."""
    if isinstance(slot, Classifier):
        return slot != Classifier()
    return isinstance(slot, MatchNumber) or (isinstance(slot, RowAt) and slot.shift != 0)


def _passed(
    rows: RowsPerMatch, relation: Relation, partition: Sequence[int], order: Sequence[SortKey]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The input's columns that rows of a match show: those of the order, and all others."""
    if rows is RowsPerMatch.ONE:
        return (), ()
    keys = [key.column for key in order if key.column not in partition]
    before = tuple(dict.fromkeys(keys))
    every = range(len(relation.schema))
    return before, tuple(at for at in every if at not in before and at not in partition)


def _schema(relation: Relation, pattern: RowPattern, measured: Sequence[str]) -> tuple[Field, ...]:
    def column(at: int) -> Field:
        return Field(relation.names[at], lt.materialized(relation.types[at]))

    types = [expression.type for expression in pattern.measures.expressions]
    if pattern.output is RowsPerMatch.UNMATCHED:  # rows in no match have no measures
        types = [lt.materialized(type).with_nullable(True) for type in types]
    return (
        *map(column, (*pattern.partition, *pattern.order_columns)),
        *(Field(name, type) for name, type in zip(measured, types, strict=True)),
        *map(column, pattern.other_columns),
    )


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
