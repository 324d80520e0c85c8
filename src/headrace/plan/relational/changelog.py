"""The changelog of every relation of a query: which changes it emits, with or without the row
before an update, by which keys, and what a sink has to do about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from headrace.core.config import parse_duration
from headrace.core.logical_types import is_rowtime
from headrace.core.table_connector import APPEND, RETRACT, ChangelogMode
from headrace.errors import InvalidQuery, TableException
from headrace.graph.relations import (
    AssignWatermark,
    Correlate,
    Filter,
    FromChangelog,
    Insert,
    Join,
    LookupJoin,
    Project,
    Relation,
    Scan,
    SetOperation,
    TableAggregate,
    TemporalJoin,
    ToChangelog,
    WindowTable,
)
from headrace.plan.relational.change_kinds import (
    INSERTS,
    Kinds,
    is_about_key,
    operator_name,
    own_kinds,
    producer,
)
from headrace.plan.relational.traversal import walk
from headrace.plan.relational.upsert_keys import Keys, upsert_keys

_SAYS_ITSELF = (Scan, FromChangelog, TableAggregate)
"""Whose rows go and come as a table, its rows or a function of the user say."""
_FORWARDING = (Project, AssignWatermark, Correlate, LookupJoin, WindowTable)


@dataclass(frozen=True)
class Changes:
    """What is known of a relation's changelog."""

    mode: ChangelogMode
    """What it emits."""
    keys: Keys
    """Sets of columns that tell its rows apart."""
    needs_before: bool
    """Whether whoever reads it needs UPDATE_BEFORE: its operator's `emits_before`."""
    normalize: bool = False
    """Of a scan: its upserts, or deletions by key, must be completed from state first."""
    materialize: bool = False
    """Of an insert: rows must be kept by the sink's key before they are written, since changes
    come by another key."""


class Traits:
    """The changes of the relations below a root, found by the relation itself."""

    def __init__(self, versions: frozenset[int] = frozenset()) -> None:
        self._versions = versions
        self._found: dict[int, tuple[Relation, Changes]] = {}

    def __getitem__(self, relation: Relation) -> Changes:
        return self._found[id(relation)][1]

    def __contains__(self, relation: Relation) -> bool:
        return id(relation) in self._found

    def __iter__(self) -> Iterator[Relation]:
        return (relation for relation, _ in self._found.values())

    def put(self, relation: Relation, changes: Changes) -> None:
        # The relation is kept too: its id must not be given to another one.
        self._found[id(relation)] = (relation, changes)

    def mode(self, relation: Relation) -> ChangelogMode:
        """What a relation emits."""
        return self[relation].mode

    def wants_before(self, relation: Relation) -> bool:
        """Whether its operator has to emit UPDATE_BEFORE."""
        return self[relation].mode.updates_before

    def are_versions(self, relation: Relation) -> bool:
        """Whether every change counts, because a join by event time looks at times before it."""
        return id(relation) in self._versions

    def normalizes(self, relation: Relation) -> bool:
        return self[relation].normalize

    def materializes(self, relation: Relation) -> bool:
        return self[relation].materialize

    def unique_key(self, relation: Relation) -> tuple[int, ...] | None:
        """The smallest known set of columns that tells rows apart; None if none is known."""
        return smallest_key(self[relation].keys)

    def accepted(self, relation: Insert) -> ChangelogMode:
        """What the sink takes of the changes that come."""
        return accepted_changes(relation, self[relation.input].mode)

    def ttl_ms(
        self, relation: Relation, default: int | None, side: int | None = None
    ) -> int | None:
        """How long state lives by the STATE_TTL hint, of a join for one of its sides."""
        for name, arguments in relation.hints:
            if name != "STATE_TTL":
                continue
            for argument in arguments:
                place, _, text = argument.rpartition("=")
                if side is None or place == ("LEFT", "RIGHT")[side]:
                    return parse_duration(text).to_millis()
        return default


@dataclass(frozen=True)
class _Needs:
    """What a reader needs of the changes it reads."""

    before: bool = False
    whole_deletes: bool = True

    def __or__(self, other: _Needs) -> _Needs:
        return _Needs(self.before or other.before, self.whole_deletes or other.whole_deletes)


def annotated(relation: Relation, taken: ChangelogMode = RETRACT, *, final: bool = False) -> Traits:
    """The changes of every relation below, if whoever reads the last one takes `taken`.

    With `final` nobody answers before all input is there: of what is only added results are only
    added, too. An `Insert` asks its sink what it takes. InvalidQuery: an operator or the sink
    cannot take the changes of what is below it.
    """
    kinds: dict[int, Kinds] = {}
    versions = _versions(relation)
    _derive(relation, kinds, versions if final else None)
    needs: dict[int, _Needs] = {}
    order: list[Relation] = []
    _visit(relation, order, set())
    needs[id(relation)] = _Needs(taken.updates_before, not taken.deletes_by_key)
    materialized: set[int] = set()
    if isinstance(relation, Insert) and relation.conflict is not None:
        _check_conflict(relation, _derive(relation.input, {}, None))
    # Readers come before what they read, so that all needs of a shared part are known.
    for each in reversed(order):
        own = needs[id(each)]
        for position, below in enumerate(each.inputs):
            wanted = _needs_of(each, position, own, kinds, materialized)
            needs[id(below)] = needs.get(id(below), _Needs(whole_deletes=False)) | wanted
    result = Traits(versions)
    for each in order:
        result.put(each, _changes(each, kinds, needs[id(each)], result, id(each) in materialized))
    return result


def _versions(relation: Relation) -> frozenset[int]:
    """The relations whose rows are versions for a join by event time: none may be passed over, of
    those that come together neither."""
    found: set[int] = set()
    for each in walk(relation):
        if isinstance(each, TemporalJoin) and is_rowtime(each.left.types[each.time]):
            found |= {id(part) for part in walk(each.right)}
    return frozenset(found)


def _derive(relation: Relation, kinds: dict[int, Kinds], changing: frozenset[int] | None) -> Kinds:
    """`changing` are relations that change although others are final; None: all may."""
    if id(relation) not in kinds:
        inputs = [_derive(each, kinds, changing) for each in relation.inputs]
        made = own_kinds(relation, inputs)
        final = changing is not None and id(relation) not in changing
        added = all(each.insert_only for each in inputs) and not isinstance(relation, _SAYS_ITSELF)
        kinds[id(relation)] = INSERTS if final and added else made
    return kinds[id(relation)]


def _visit(relation: Relation, order: list[Relation], seen: set[int]) -> None:
    """Adds every relation once, inputs before those that read them."""
    if id(relation) in seen:
        return
    seen.add(id(relation))
    for each in relation.inputs:
        _visit(each, order, seen)
    order.append(relation)


def _needs_of(
    relation: Relation,
    position: int,
    own: _Needs,
    kinds: dict[int, Kinds],
    materialized: set[int],
) -> _Needs:
    """What a relation needs of its input at a position."""
    below = relation.inputs[position]
    if isinstance(relation, Insert) and relation.conflict is not None:
        return _needs_of_sink(relation, kinds[id(below)], materialized)
    if kinds[id(below)].insert_only:
        return _Needs(whole_deletes=False)
    if isinstance(relation, Insert):
        return _needs_of_sink(relation, kinds[id(below)], materialized)
    if isinstance(relation, _FORWARDING):
        return own
    if isinstance(relation, SetOperation) and relation.kind == "union" and relation.all:
        return own
    if isinstance(relation, Filter) and is_about_key(relation):
        return own
    if isinstance(relation, TemporalJoin):
        return own if position == 0 else _Needs(before=False)
    if isinstance(relation, ToChangelog):
        return _Needs("UPDATE_BEFORE" in dict(relation.operations))
    # A condition can hold for a row before an update and not after it; state is kept by rows.
    return _Needs(before=True)


def _needs_of_sink(relation: Insert, kinds: Kinds, materialized: set[int]) -> _Needs:
    wanted = ChangelogMode(kinds.updates, kinds.updates, kinds.deletes, relation.primary_key)
    accepted = accepted_changes(relation, wanted)
    _check_accepted(relation, kinds, accepted)
    if _needs_materializing(relation, accepted):
        materialized.add(id(relation))
        return _Needs(before=True)
    return _Needs(accepted.updates_before, not accepted.deletes_by_key)


def accepted_changes(relation: Insert, wanted: ChangelogMode) -> ChangelogMode:
    """What a sink takes of a query that would give `wanted`."""
    return relation.accepted or relation.sink.accepts(replace(wanted, key=relation.primary_key))


def _needs_materializing(relation: Insert, accepted: ChangelogMode) -> bool:
    key = relation.primary_key
    if key is None or accepted.updates_before:
        return False
    return frozenset(key) not in upsert_keys(relation.input)


def _check_conflict(relation: Insert, kinds: Kinds) -> None:
    """ON CONFLICT means something only where a row replaces the one that had its key before.

    `kinds` are the changes of the query while it runs: a sink that takes what comes takes no
    updates of a query that only adds rows.
    """
    wanted = ChangelogMode(kinds.updates, kinds.updates, kinds.deletes, relation.primary_key)
    accepted = accepted_changes(relation, wanted)
    reason = None
    if relation.primary_key is None:
        reason = "it has no primary key"
    elif not accepted.updates_after:
        reason = "it only takes rows that are added"
    elif accepted.updates_before:
        reason = "it takes updates with the row before them, not by its key"
    if reason is not None:
        raise InvalidQuery(
            f"ON CONFLICT is only for tables that are upserted: {'.'.join(relation.path)} is not, "
            f"{reason}",
            hint="leave ON CONFLICT out, or take one row of each key in the query, for example "
            "with ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) = 1",
        )


def _check_accepted(relation: Insert, kinds: Kinds, accepted: ChangelogMode) -> None:
    refused = Kinds(
        kinds.updates and not accepted.updates_after, kinds.deletes and not accepted.deletes
    )
    if refused.insert_only:
        return
    raise TableException(
        f"table sink {'.'.join(relation.path)} does not support consuming {refused}, which are "
        f"produced by {operator_name(producer(relation.input))}",
        hint="write to a table that takes updates (one with a PRIMARY KEY whose connector upserts)"
        ", or make the query append-only, for example by a window",
    )


def _changes(
    relation: Relation,
    kinds: dict[int, Kinds],
    needs: _Needs,
    done: Traits,
    materialize: bool,
) -> Changes:
    own = kinds[id(relation)]
    keys = upsert_keys(relation)
    if isinstance(relation, Scan):
        return _of_scan(relation, own, keys, needs)
    forwarded = _forwarded_before(relation, done)
    before = own.updates and (needs.before if forwarded is None else forwarded)
    key = None if own.insert_only else smallest_key(keys)
    by_key = any(done[each].mode.deletes_by_key for each in relation.inputs)
    mode = ChangelogMode(
        before, own.updates, own.deletes, key, by_key and isinstance(relation, Project | Insert)
    )
    return Changes(mode, keys, needs.before, materialize=materialize)


def _forwarded_before(relation: Relation, done: Traits) -> bool | None:
    """Of relations that pass changes on as they are: whether those have the row before; None for
    relations that make changes themselves."""
    passing = isinstance(relation, (*_FORWARDING, Filter, TemporalJoin, Insert)) or (
        isinstance(relation, SetOperation) and relation.kind == "union" and relation.all
    )
    if passing:
        inputs = relation.inputs[:1] if isinstance(relation, TemporalJoin) else relation.inputs
        return any(done[each].mode.updates_before for each in inputs)
    # A partner may go while the row itself is updated: only the row before says which.
    return True if isinstance(relation, Join) else None


def smallest_key(keys: Keys) -> tuple[int, ...] | None:
    """The key of the fewest columns; None if there is none."""
    ordered = sorted(tuple(sorted(key)) for key in keys)
    return min(ordered, key=len) if ordered else None


def _of_scan(relation: Scan, kinds: Kinds, keys: Keys, needs: _Needs) -> Changes:
    given = relation.source.changelog
    if given.insert_only:
        return Changes(APPEND, keys, False)
    incomplete = (given.upsert and needs.before) or (given.deletes_by_key and needs.whole_deletes)
    if not incomplete:
        key = relation.primary_key if given.upsert else given.key
        return Changes(replace(given, key=key), keys, needs.before)
    if relation.primary_key is None:
        raise InvalidQuery(
            f"table {'.'.join(relation.path)} gives updates without the row before them, "
            "which needs a primary key",
            hint="declare PRIMARY KEY (…) NOT ENFORCED",
        )
    before = kinds.updates and needs.before
    mode = ChangelogMode(before, kinds.updates, kinds.deletes, relation.primary_key)
    return Changes(mode, keys, needs.before, normalize=True)
