"""Which columns of a relation are the start, the end and the time of a window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headrace.core.expressions import Column
from headrace.core.logical_types import is_rowtime
from headrace.graph.relations import (
    Aggregate,
    Correlate,
    Deduplicate,
    Filter,
    Over,
    Project,
    Rank,
    Relation,
    Sort,
    WindowAggregate,
    WindowJoin,
    WindowTable,
)
from headrace.graph.relations import Window as WindowSpec

_KEEPING = (Filter, Over, Rank, Deduplicate, Sort, Correlate)


@dataclass(frozen=True)
class WindowColumns:
    """Positions of the columns that hold windows; the same thing may be in several columns."""

    starts: frozenset[int]
    ends: frozenset[int]
    times: frozenset[int]
    window: WindowSpec
    """The windows' parameters; of sessions without what partitions them."""
    rowtime: bool

    def mapped(self, moves: Mapping[int, frozenset[int]]) -> WindowColumns | None:
        """After columns moved; None if the start or the end got lost."""
        starts, ends, times = (
            frozenset(new for old in group for new in moves.get(old, ()))
            for group in (self.starts, self.ends, self.times)
        )
        if not starts or not ends:
            return None
        return replace(self, starts=starts, ends=ends, times=times)


def window_columns(relation: Relation) -> WindowColumns | None:
    """The window columns of a relation's rows; None if they have none."""
    if isinstance(relation, WindowTable):
        return _of_table(relation)
    if isinstance(relation, WindowAggregate):
        return _of_aggregate(relation)
    if isinstance(relation, WindowJoin):
        return window_columns(relation.left)
    if not relation.inputs:
        return None
    below = window_columns(relation.inputs[0])
    if below is None:
        return None
    if isinstance(relation, _KEEPING):
        return below
    if isinstance(relation, Project):
        moves: dict[int, set[int]] = {}
        for index, expression in enumerate(relation.expressions):
            if isinstance(expression, Column):
                moves.setdefault(expression.index, set()).add(index)
        return below.mapped({old: frozenset(new) for old, new in moves.items()})
    if isinstance(relation, Aggregate) and relation.grouping_sets is None:
        positions = {old: frozenset({new}) for new, old in enumerate(relation.keys)}
        return below.mapped(positions)
    return None


def _of_table(relation: WindowTable) -> WindowColumns:
    width = len(relation.input.schema)
    start, end, time = (frozenset({width + offset}) for offset in range(3))
    rowtime = is_rowtime(relation.input.types[relation.time])
    return WindowColumns(start, end, time, replace(relation.window, partition=()), rowtime)


def _of_aggregate(relation: WindowAggregate) -> WindowColumns | None:
    width = len(relation.schema) - len(relation.properties)
    places = {name: frozenset({width + i}) for i, name in enumerate(relation.properties)}
    if "window_start" not in places or "window_end" not in places:
        return None
    times = places.get("window_time", frozenset())
    window, rowtime = relation.window, True
    if window is None:
        below = window_columns(relation.input)
        if below is None:
            return None
        window, rowtime = below.window, below.rowtime
    elif relation.time is not None:
        rowtime = is_rowtime(relation.input.types[relation.time])
    bare = replace(window, partition=())
    return WindowColumns(places["window_start"], places["window_end"], times, bare, rowtime)
