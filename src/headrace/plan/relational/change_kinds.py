"""Which kinds of changes each relation makes, and which of its inputs' it can take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

from headrace.core import logical_types as lt
from headrace.core.expressions import Column, columns_of
from headrace.core.table_connector import ChangelogMode
from headrace.errors import InvalidQuery, TableException
from headrace.graph.relations import (
    INNER,
    SEMI,
    Aggregate,
    Deduplicate,
    Filter,
    FromChangelog,
    IntervalJoin,
    Join,
    MatchRecognize,
    Over,
    Rank,
    Relation,
    Scan,
    SetOperation,
    Sort,
    TableAggregate,
    TemporalJoin,
    ToChangelog,
    WindowAggregate,
    WindowJoin,
)
from headrace.plan.relational.equi import equi_condition
from headrace.plan.relational.upsert_keys import upsert_keys


@dataclass(frozen=True)
class Kinds:
    """Whether there are updates and deletions besides insertions."""

    updates: bool = False
    deletes: bool = False

    @property
    def insert_only(self) -> bool:
        return not (self.updates or self.deletes)

    def __or__(self, other: Kinds) -> Kinds:
        return Kinds(self.updates or other.updates, self.deletes or other.deletes)

    def __str__(self) -> str:
        names = ["update"] * self.updates + ["delete"] * self.deletes
        return " and ".join(names) + " changes"


INSERTS = Kinds()
ALL = Kinds(True, True)
_NAMES: dict[type[Relation], str] = {
    Aggregate: "GroupAggregate",
    Sort: "SortLimit",
    Over: "OverAggregate",
    SetOperation: "SetOperation",
    TableAggregate: "GroupTableAggregate",
    WindowAggregate: "WindowAggregate",
    Scan: "TableSourceScan",
    MatchRecognize: "Match",
}


def operator_name(relation: Relation) -> str:
    """What Flink calls the operator."""
    if isinstance(relation, WindowAggregate) and relation.legacy:
        return "GroupWindowAggregate"
    windowed = isinstance(relation, Rank | Deduplicate) and relation.window_columns is not None
    name = _NAMES.get(type(relation), type(relation).__name__)
    return f"Window{name}" if windowed else name


def own_kinds(relation: Relation, inputs: Sequence[Kinds]) -> Kinds:
    """The changes a relation makes of inputs with these; InvalidQuery if it cannot take them."""
    return _kinds(relation, inputs)


@singledispatch
def _kinds(relation: Relation, inputs: Sequence[Kinds]) -> Kinds:
    return inputs[0] if inputs else INSERTS


@_kinds.register
def _(relation: Scan, inputs: Sequence[Kinds]) -> Kinds:
    return kinds_of(relation.source.changelog)


def kinds_of(mode: ChangelogMode) -> Kinds:
    return Kinds(mode.updates_after, mode.deletes)


@_kinds.register
def _(relation: Filter, inputs: Sequence[Kinds]) -> Kinds:
    below = inputs[0]
    # A row can be kept before an update and not after it, which deletes it.
    return Kinds(below.updates, below.deletes or (below.updates and not is_about_key(relation)))


def is_about_key(relation: Filter) -> bool:
    """Whether an update cannot change that a row is kept."""
    keys = upsert_keys(relation.input)
    read = columns_of(relation.condition)
    return bool(keys) and all(read <= key for key in keys)


@_kinds.register
def _(relation: Aggregate, inputs: Sequence[Kinds]) -> Kinds:
    changing = not inputs[0].insert_only
    return Kinds(updates=bool(relation.calls), deletes=changing)


@_kinds.register
def _(relation: TableAggregate, inputs: Sequence[Kinds]) -> Kinds:
    if relation.window is not None:
        return INSERTS
    return ALL


@_kinds.register
def _(relation: WindowAggregate, inputs: Sequence[Kinds]) -> Kinds:
    return INSERTS


@_kinds.register
def _(relation: Join, inputs: Sequence[Kinds]) -> Kinds:
    if relation.kind in (INNER, SEMI):
        both = inputs[0] | inputs[1]
        # A row can have a partner before an update and none after it.
        return Kinds(both.updates, both.deletes or both.updates)
    return ALL


@_kinds.register
def _(relation: TemporalJoin, inputs: Sequence[Kinds]) -> Kinds:
    if lt.is_rowtime(relation.left.types[relation.time]):
        _check_versions(relation)
    return inputs[0]


def _check_versions(relation: TemporalJoin) -> None:
    """Versions of a row are told apart by its key, which the join must compare."""
    keys = upsert_keys(relation.right)
    _, right, _, _ = equi_condition(relation.condition, len(relation.left.schema))
    compared = {key.index for key in right if isinstance(key, Column)}
    if not keys:
        raise InvalidQuery(
            "a temporal join by event time needs a primary key in its versioned table",
            hint="declare PRIMARY KEY (…) NOT ENFORCED, or keep the last row of each key by "
            "ROW_NUMBER in a view",
        )
    if not any(key <= compared for key in keys):
        names = " or ".join(
            ", ".join(relation.right.names[index] for index in sorted(key)) for key in keys
        )
        raise InvalidQuery(
            f"a temporal join needs an equality with the whole key of its versioned table: {names}",
            hint="compare each column of the key in ON",
        )


@_kinds.register(IntervalJoin)
@_kinds.register(WindowJoin)
def _(relation: Relation, inputs: Sequence[Kinds]) -> Kinds:
    _insert_only(relation, inputs)
    return INSERTS


@_kinds.register
def _(relation: MatchRecognize, inputs: Sequence[Kinds]) -> Kinds:
    _insert_only(relation, inputs, relation.pattern.at)
    return INSERTS


@_kinds.register
def _(relation: SetOperation, inputs: Sequence[Kinds]) -> Kinds:
    together = INSERTS
    for each in inputs:
        together = together | each
    if relation.kind == "union" and (relation.all or together.insert_only):
        return together
    if relation.kind == "intersect" and together.insert_only:
        return INSERTS
    return Kinds(updates=together.updates, deletes=True)


@_kinds.register
def _(relation: Sort, inputs: Sequence[Kinds]) -> Kinds:
    by_time = bool(relation.keys) and lt.is_time_attribute(
        relation.input.types[relation.keys[0].column]
    )
    ascending = by_time and relation.keys[0].ascending
    if relation.fetch is None and not relation.offset:
        if ascending and inputs[0].insert_only:
            return INSERTS
        return ALL
    if not relation.keys and inputs[0].insert_only:
        return INSERTS
    return ALL


@_kinds.register
def _(relation: Over, inputs: Sequence[Kinds]) -> Kinds:
    if relation.follows_time:
        _insert_only(relation, inputs)
        return INSERTS
    return Kinds(updates=True, deletes=not inputs[0].insert_only)


@_kinds.register
def _(relation: Rank, inputs: Sequence[Kinds]) -> Kinds:
    if relation.window_columns is not None:
        _insert_only(relation, inputs)
        return INSERTS
    return ALL


@_kinds.register
def _(relation: Deduplicate, inputs: Sequence[Kinds]) -> Kinds:
    _insert_only(relation, inputs)
    if relation.window_columns is not None:
        return INSERTS
    rowtime = lt.is_rowtime(relation.input.types[relation.time])
    return Kinds(updates=rowtime or relation.keep_last)


@_kinds.register
def _(relation: ToChangelog, inputs: Sequence[Kinds]) -> Kinds:
    return INSERTS


@_kinds.register
def _(relation: FromChangelog, inputs: Sequence[Kinds]) -> Kinds:
    _insert_only(relation, inputs)
    changes = {change for change, _ in relation.operations}
    return Kinds("UPDATE_AFTER" in changes, "DELETE" in changes)


def _insert_only(relation: Relation, inputs: Sequence[Kinds], at: object | None = None) -> None:
    for below, kinds in zip(relation.inputs, inputs, strict=True):
        if not kinds.insert_only:
            raise TableException(
                f"{operator_name(relation)} does not support consuming {kinds}, which are "
                f"produced by {operator_name(producer(below))}",
                origin=at,
                hint="use it on a table that only gets insertions, or write the changes to such "
                "a table before",
            )


def producer(relation: Relation) -> Relation:
    """The relation from which the changes of another one come."""
    passing = not relation.inputs or isinstance(
        relation, Aggregate | Rank | Over | Sort | Deduplicate | TableAggregate | FromChangelog
    )
    if passing or (isinstance(relation, Join) and relation.kind not in (INNER, SEMI)):
        return relation
    for each in relation.inputs:
        found = producer(each)
        if not kinds_below(found).insert_only:
            return found
    return relation


def kinds_below(relation: Relation) -> Kinds:
    """The changes a relation makes."""
    return _kinds(relation, [kinds_below(each) for each in relation.inputs])
