"""Columns that nobody reads are not carried along, and not read where a source can leave them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import TypeVar

from headrace.core.expressions import AggregateCall, Expression, SortKey, columns_of, shifted
from headrace.core.logical_types import is_time_attribute
from headrace.graph.relations import (
    ANTI,
    SEMI,
    Aggregate,
    AssignWatermark,
    Correlate,
    Deduplicate,
    Filter,
    Insert,
    IntervalJoin,
    Join,
    LookupJoin,
    MatchRecognize,
    Over,
    Project,
    Rank,
    Relation,
    Scan,
    SetOperation,
    Sort,
    TemporalJoin,
    Values,
    WindowAggregate,
    WindowJoin,
    WindowTable,
)
from headrace.plan.relational.making import chosen

Wanted = frozenset[int]
Places = dict[int, int]
Pruned = tuple[Relation, Places]
"""A relation with at least the wanted columns, and where they are now."""
_Both = TypeVar("_Both", Join, TemporalJoin, IntervalJoin, WindowJoin)


def prune_columns(relation: Relation) -> Relation:
    wanted = frozenset(range(len(relation.schema)))
    pruned, places = _prune(relation, wanted)
    return chosen(pruned, [places[index] for index in sorted(wanted)], relation.names)


def _all(relation: Relation) -> Relation:
    """An input of which every column is needed, at its place."""
    return prune_columns(relation)


def _identity(relation: Relation) -> Places:
    return {index: index for index in range(len(relation.schema))}


def _places(kept: Sequence[int]) -> Places:
    return {old: new for new, old in enumerate(kept)}


def _read(*expressions: Expression | None) -> Wanted:
    return frozenset().union(*(columns_of(each) for each in expressions if each is not None))


def _moved(expression: Expression | None, places: Places) -> Expression | None:
    return None if expression is None else shifted(expression, places.__getitem__)


def _narrowed(relation: Relation, wanted: Wanted) -> Pruned:
    """An input without the columns that are not wanted, by a projection if need be."""
    pruned, places = _prune(relation, wanted)
    kept = sorted(wanted)
    # Rows of no columns are nothing that an engine likes.
    if len(pruned.schema) == len(kept) or not kept:
        return pruned, places
    return chosen(pruned, [places[index] for index in kept]), _places(kept)


@singledispatch
def _prune(relation: Relation, wanted: Wanted) -> Pruned:
    inputs = [_all(each) for each in relation.inputs]
    if any(new is not old for new, old in zip(inputs, relation.inputs, strict=True)):
        relation = relation.with_inputs(*inputs)
    return relation, _identity(relation)


@_prune.register
def _(relation: Scan, wanted: Wanted) -> Pruned:
    # A source of no columns is none; one is read where only the number of rows counts.
    kept = sorted(wanted | _needed_by_source(relation)) or [0][: len(relation.schema)]
    if len(kept) == len(relation.schema) or relation.stream is not None:
        return relation, _identity(relation)
    source = relation.source.with_projection(tuple(kept))
    if source is None:
        return relation, _identity(relation)
    places = _places(kept)
    key = relation.primary_key
    if key is not None:
        key = tuple(places[each] for each in key) if all(each in places for each in key) else None
    schema = tuple(relation.schema[index] for index in kept)
    return replace(relation, schema=schema, source=source, primary_key=key), places


def _needed_by_source(relation: Scan) -> Wanted:
    """Changes may have to be completed, or freed of repetitions, by the primary key."""
    if relation.source.changelog.insert_only or relation.primary_key is None:
        return frozenset()
    return frozenset(relation.primary_key)


@_prune.register
def _(relation: Values, wanted: Wanted) -> Pruned:
    kept = sorted(wanted) or [0][: len(relation.schema)]
    rows = tuple(tuple(row[index] for index in kept) for row in relation.rows)
    schema = tuple(relation.schema[index] for index in kept)
    return replace(relation, schema=schema, rows=rows), _places(kept)


@_prune.register
def _(relation: Project, wanted: Wanted) -> Pruned:
    kept = sorted(wanted) or [0]
    below, places = _prune(relation.input, _read(*(relation.expressions[i] for i in kept)))
    expressions = tuple(shifted(relation.expressions[i], places.__getitem__) for i in kept)
    schema = tuple(relation.schema[index] for index in kept)
    return replace(relation, schema=schema, input=below, expressions=expressions), _places(kept)


@_prune.register
def _(relation: Filter, wanted: Wanted) -> Pruned:
    below, places = _prune(relation.input, wanted | _read(relation.condition))
    condition = shifted(relation.condition, places.__getitem__)
    return replace(relation, schema=below.schema, input=below, condition=condition), places


@_prune.register
def _(relation: AssignWatermark, wanted: Wanted) -> Pruned:
    if relation.time not in wanted:
        # Whatever acts by event time reads its column: nobody will ask for this watermark.
        return _prune(relation.input, wanted)
    needed = wanted | _read(relation.watermark)
    below, places = _prune(relation.input, needed)
    schema = list(below.schema)
    time = places[relation.time]
    schema[time] = replace(schema[time], type=relation.types[relation.time])
    watermark = shifted(relation.watermark, places.__getitem__)
    changed = replace(relation, schema=tuple(schema), input=below, time=time, watermark=watermark)
    return changed, places


def _sort_keys(keys: Sequence[SortKey], places: Places) -> tuple[SortKey, ...]:
    return tuple(replace(key, column=places[key.column]) for key in keys)


@_prune.register
def _(relation: Sort, wanted: Wanted) -> Pruned:
    below, places = _prune(relation.input, wanted | {key.column for key in relation.keys})
    keys = _sort_keys(relation.keys, places)
    return replace(relation, schema=below.schema, input=below, keys=keys), places


def _read_by(call: AggregateCall) -> Wanted:
    return _read(*call.arguments, call.filter) | {key.column for key in call.order}


def _moved_call(call: AggregateCall, places: Places) -> AggregateCall:
    return replace(
        call,
        arguments=tuple(shifted(each, places.__getitem__) for each in call.arguments),
        filter=_moved(call.filter, places),
        order=_sort_keys(call.order, places),
    )


def _wanted_calls(calls: Sequence[AggregateCall], first: int, wanted: Wanted) -> list[int]:
    return [index for index in range(len(calls)) if first + index in wanted]


@_prune.register
def _(relation: Aggregate, wanted: Wanted) -> Pruned:
    first = len(relation.keys)
    used = _wanted_calls(relation.calls, first, wanted)
    if relation.calls and not used and not relation.keys:
        used = [0]
    calls = [relation.calls[index] for index in used]
    needed = frozenset(relation.keys).union(*(_read_by(call) for call in calls))
    below, places = _narrowed(relation.input, needed)
    kept = [*range(first), *(first + index for index in used)]
    changed = replace(
        relation,
        schema=tuple(relation.schema[index] for index in kept),
        input=below,
        keys=tuple(places[key] for key in relation.keys),
        calls=tuple(_moved_call(call, places) for call in calls),
    )
    return changed, _places(kept)


@_prune.register
def _(relation: WindowAggregate, wanted: Wanted) -> Pruned:
    first = len(relation.keys)
    used = _wanted_calls(relation.calls, first, wanted)
    calls = [relation.calls[index] for index in used]
    needed = frozenset(relation.keys).union(*(_read_by(call) for call in calls))
    needed |= frozenset(relation.window_columns or ())
    if relation.time is not None:
        needed |= {relation.time}
    below, places = _narrowed(relation.input, needed)
    after = first + len(relation.calls)
    properties = [i for i in range(len(relation.properties)) if after + i in wanted]
    kept = [*range(first), *(first + i for i in used), *(after + i for i in properties)]
    bounds, window = relation.window_columns, relation.window
    if window is not None and window.partition:
        window = replace(window, partition=tuple(places[each] for each in window.partition))
    changed = replace(
        relation,
        schema=tuple(relation.schema[index] for index in kept),
        input=below,
        keys=tuple(places[key] for key in relation.keys),
        calls=tuple(_moved_call(call, places) for call in calls),
        properties=tuple(relation.properties[index] for index in properties),
        time=None if relation.time is None else places[relation.time],
        window=window,
        window_columns=None if bounds is None else (places[bounds[0]], places[bounds[1]]),
    )
    return changed, _places(kept)


@_prune.register
def _(relation: WindowTable, wanted: Wanted) -> Pruned:
    width = len(relation.input.schema)
    window = relation.window
    needed = {i for i in wanted if i < width} | {relation.time} | set(window.partition)
    below, places = _prune(relation.input, frozenset(needed))
    schema = (*below.schema, *relation.schema[width:])
    window = replace(window, partition=tuple(places[each] for each in window.partition))
    changed = replace(
        relation, schema=schema, input=below, time=places[relation.time], window=window
    )
    new_width = len(below.schema)
    bounds = {width + index: new_width + index for index in range(3)}
    return changed, {**places, **bounds}


@_prune.register
def _(relation: Over, wanted: Wanted) -> Pruned:
    width = len(relation.input.schema)
    used = _wanted_calls(relation.calls, width, wanted)
    if not used:
        return _prune(relation.input, wanted)
    calls = [relation.calls[index] for index in used]
    needed = frozenset(i for i in wanted if i < width) | frozenset(relation.partition)
    needed = needed.union({key.column for key in relation.order}, *(_read_by(c) for c in calls))
    below, places = _narrowed(relation.input, needed)
    changed = replace(
        relation,
        schema=(*below.schema, *(relation.schema[width + index] for index in used)),
        input=below,
        partition=tuple(places[key] for key in relation.partition),
        order=_sort_keys(relation.order, places),
        calls=tuple(_moved_call(call, places) for call in calls),
    )
    new_width = len(below.schema)
    return changed, {**places, **{width + old: new_width + new for new, old in enumerate(used)}}


@_prune.register
def _(relation: Rank, wanted: Wanted) -> Pruned:
    width = len(relation.input.schema)
    needed = frozenset(i for i in wanted if i < width) | frozenset(relation.partition)
    needed |= {key.column for key in relation.order} | set(relation.window_columns or ())
    if relation.last_column is not None:
        needed |= {relation.last_column}
    below, places = _narrowed(relation.input, needed)
    with_rank = relation.with_rank and width in wanted
    bounds, last = relation.window_columns, relation.last_column
    changed = replace(
        relation,
        schema=(*below.schema, *(relation.schema[width:] if with_rank else ())),
        input=below,
        partition=tuple(places[key] for key in relation.partition),
        order=_sort_keys(relation.order, places),
        with_rank=with_rank,
        window_columns=None if bounds is None else (places[bounds[0]], places[bounds[1]]),
        last_column=None if last is None else places[last],
    )
    return changed, {**places, width: len(below.schema)} if with_rank else places


@_prune.register
def _(relation: Deduplicate, wanted: Wanted) -> Pruned:
    bounds = relation.window_columns
    needed = wanted | frozenset(relation.partition) | {relation.time} | set(bounds or ())
    below, places = _narrowed(relation.input, needed)
    changed = replace(
        relation,
        schema=below.schema,
        input=below,
        partition=tuple(places[key] for key in relation.partition),
        time=places[relation.time],
        window_columns=None if bounds is None else (places[bounds[0]], places[bounds[1]]),
    )
    return changed, places


@_prune.register
def _(relation: Correlate, wanted: Wanted) -> Pruned:
    width = len(relation.input.schema)
    read = _read(*relation.call.arguments, relation.condition)
    below, places = _prune(relation.input, frozenset(i for i in wanted | read if i < width))
    made = len(relation.schema) - width
    places = {**places, **{width + i: len(below.schema) + i for i in range(made)}}
    arguments = tuple(shifted(each, places.__getitem__) for each in relation.call.arguments)
    changed = replace(
        relation,
        schema=(*below.schema, *relation.schema[width:]),
        input=below,
        call=replace(relation.call, arguments=arguments),
        condition=_moved(relation.condition, places),
    )
    return changed, places


@_prune.register
def _(relation: LookupJoin, wanted: Wanted) -> Pruned:
    width = len(relation.input.schema)
    read = _read(relation.condition, *(value for _, value in relation.keys))
    below, places = _prune(relation.input, frozenset(i for i in wanted | read if i < width))
    made = len(relation.schema) - width
    places = {**places, **{width + i: len(below.schema) + i for i in range(made)}}
    changed = replace(
        relation,
        schema=(*below.schema, *relation.schema[width:]),
        input=below,
        keys=tuple((c, shifted(value, places.__getitem__)) for c, value in relation.keys),
        condition=_moved(relation.condition, places),
    )
    return changed, places


def _pruned_sides(
    relation: _Both, wanted: Wanted, left_needed: Wanted, right_needed: Wanted
) -> tuple[_Both, Places, Places, Places]:
    """A join with its sides pruned and its condition moved; where columns of the left, of the right
    and of the join itself are now."""
    width = len(relation.left.schema)
    read = _read(relation.condition)
    semi = relation.kind in (SEMI, ANTI)
    seen = read if semi else wanted | read
    left, left_places = _narrowed(
        relation.left, frozenset(i for i in wanted | read if i < width) | left_needed
    )
    right, right_places = _narrowed(
        relation.right, frozenset(i - width for i in seen if i >= width) | right_needed
    )
    first = len(left.schema)
    both = {**left_places, **{old + width: new + first for old, new in right_places.items()}}
    shown = left_places if semi else both
    order = {new: old for old, new in shown.items()}
    changed: _Both = replace(
        relation,
        schema=tuple(relation.schema[order[index]] for index in range(len(order))),
        left=left,
        right=right,
        condition=_moved(relation.condition, both),  # type: ignore[arg-type]
    )
    return changed, left_places, right_places, shown


@_prune.register
def _(relation: Join, wanted: Wanted) -> Pruned:
    changed, _, _, shown = _pruned_sides(relation, wanted, frozenset(), frozenset())
    return changed, shown


@_prune.register
def _(relation: TemporalJoin, wanted: Wanted) -> Pruned:
    changed, left, _, shown = _pruned_sides(
        relation, wanted, frozenset({relation.time}), _times(relation.right)
    )
    return replace(changed, time=left[relation.time]), shown


def _times(relation: Relation) -> Wanted:
    """Columns that say when a version of a row starts."""
    return frozenset(i for i, type in enumerate(relation.types) if is_time_attribute(type))


@_prune.register
def _(relation: IntervalJoin, wanted: Wanted) -> Pruned:
    left_needed = frozenset((*relation.left_keys, relation.left_time))
    right_needed = frozenset((*relation.right_keys, relation.right_time))
    changed, left, right, shown = _pruned_sides(relation, wanted, left_needed, right_needed)
    changed = replace(
        changed,
        left_keys=tuple(left[key] for key in relation.left_keys),
        right_keys=tuple(right[key] for key in relation.right_keys),
        left_time=left[relation.left_time],
        right_time=right[relation.right_time],
    )
    return changed, shown


@_prune.register
def _(relation: WindowJoin, wanted: Wanted) -> Pruned:
    left_needed = frozenset((*relation.left_keys, *relation.left_window))
    right_needed = frozenset((*relation.right_keys, *relation.right_window))
    changed, left, right, shown = _pruned_sides(relation, wanted, left_needed, right_needed)
    start, end = relation.left_window
    other_start, other_end = relation.right_window
    changed = replace(
        changed,
        left_keys=tuple(left[key] for key in relation.left_keys),
        right_keys=tuple(right[key] for key in relation.right_keys),
        left_window=(left[start], left[end]),
        right_window=(right[other_start], right[other_end]),
    )
    return changed, shown


@_prune.register
def _(relation: SetOperation, wanted: Wanted) -> Pruned:
    if relation.kind != "union" or not relation.all:
        return replace(relation, branches=tuple(map(_all, relation.branches))), _identity(relation)
    kept = sorted(wanted) or [0][: len(relation.schema)]
    branches = []
    for branch in relation.branches:
        pruned, places = _prune(branch, frozenset(kept))
        branches.append(chosen(pruned, [places[index] for index in kept]))
    schema = tuple(relation.schema[index] for index in kept)
    return replace(relation, schema=schema, branches=tuple(branches)), _places(kept)


@_prune.register
def _(relation: MatchRecognize, wanted: Wanted) -> Pruned:
    pattern, first = relation.pattern, len(relation.pattern.partition)
    kept = [index for index in range(len(relation.schema)) if index < first or index in wanted]
    groups = (pattern.order_columns, pattern.measures.expressions, pattern.other_columns)
    chosen = []
    for group in groups:
        chosen.append([at - first for at in kept if first <= at < first + len(group)])
        first += len(group)
    pattern = replace(
        pattern,
        order_columns=tuple(pattern.order_columns[at] for at in chosen[0]),
        measures=pattern.measures.chosen(chosen[1]),
        other_columns=tuple(pattern.other_columns[at] for at in chosen[2]),
    )
    below, places = _narrowed(relation.input, frozenset(pattern.columns()))
    schema = tuple(relation.schema[index] for index in kept)
    pattern = pattern.moved(places.__getitem__)
    return replace(relation, schema=schema, input=below, pattern=pattern), _places(kept)


@_prune.register
def _(relation: Insert, wanted: Wanted) -> Pruned:
    return replace(relation, input=_all(relation.input)), _identity(relation)
