"""What becomes of each piece of stored state when another program starts from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from headrace.core.columnar import type_from_json
from headrace.core.schema_text import schema_text
from headrace.core.source import SplitSpec
from headrace.errors import IncompatibleState
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.declarations import Declarations
from headrace.runtime.declared_state import Declared, conversions
from headrace.runtime.state_rows import scope_and_name
from headrace.runtime.state_transfer import restored_as
from headrace.runtime.subtask_state import TIMERS, TIMERS_NAME
from headrace.spark.savepoints.metadata import SavedState, SavepointMetadata

_POSITION = "(position)"
"""Stands for where a source is, among the names of states."""


class Fate(Enum):
    """What may happen to a state."""

    KEPT = "survives"
    DROPPED = "dropped"
    NEW = "new"
    INCOMPATIBLE = "incompatible"


@dataclass(frozen=True)
class StateFate:
    """One state of one operator, and why; without a state, the operator itself."""

    operator: str
    operator_name: str
    state: str
    fate: Fate
    why: str = ""


def fates(metadata: SavepointMetadata, plan: PhysicalPlan, asked: Declarations) -> list[StateFate]:
    """What becomes of everything: stored operators first, then those that are new."""
    vertices = {vertex.uid: vertex for vertex in plan.vertices.values()}
    found: list[StateFate] = []
    for operator in metadata.operators:
        vertex = vertices.pop(operator["uid"], None)
        states = [state for state in metadata.states if state.operator == operator["uid"]]
        if vertex is None:
            found += _lost(operator, states, metadata, plan)
        else:
            found += _kept(operator, vertex, states, metadata, asked)
    for vertex in vertices.values():
        found.append(StateFate(vertex.uid, vertex.name, "", Fate.NEW, _why_new(vertex)))
        found += _new_states(vertex, set(), asked)
    return found


def _lost(
    operator: dict[str, Any], states: list[SavedState], metadata: SavepointMetadata,
    plan: PhysicalPlan,
) -> list[StateFate]:  # fmt: skip
    uid, name = operator["uid"], operator["name"]
    why = "no operator of the job has this uid"
    if operator["generated_uid"]:
        why = "it had no uid of its own, and its query or its place in the graph has changed"
    known = {each["uid"] for each in metadata.operators}
    alike = [vertex.uid for vertex in plan.vertices.values()
             if vertex.name == name and vertex.uid not in known]  # fmt: skip
    if alike:
        why += f"; maybe it is {alike[0]!r} now"
    found = [StateFate(uid, name, "", Fate.DROPPED, why)]
    if uid in metadata.sources:
        found.append(StateFate(uid, name, _POSITION, Fate.DROPPED, "the position is lost"))
    return found + [StateFate(uid, name, state.name, Fate.DROPPED, f"{state.rows} rows are lost")
                    for state in states]  # fmt: skip


def _kept(
    operator: dict[str, Any], vertex: Vertex, states: list[SavedState],
    metadata: SavepointMetadata, asked: Declarations,
) -> list[StateFate]:  # fmt: skip
    changes = [
        f"{what.replace('_', ' ')} {operator[what]} -> {now}"
        for what, now in (("parallelism", vertex.parallelism),
                          ("max_parallelism", vertex.max_parallelism))
        if int(operator[what]) != now
    ]  # fmt: skip
    why = f"{', '.join(changes)}: state is dealt out anew" if changes else ""
    failure = asked.failures.get(vertex.uid)
    if failure is not None:
        why = f"{why + '; ' if why else ''}its function could not be opened here: {failure}"
    found = [StateFate(vertex.uid, vertex.name, "", Fate.KEPT, why)]
    if vertex.uid in metadata.sources or vertex.source is not None:
        found.append(_position(vertex, metadata.sources.get(vertex.uid)))
    found += [_state_fate(state, vertex, asked) for state in states]
    return found + _new_states(vertex, {_stored(state)[0] for state in states}, asked)


def _position(vertex: Vertex, stored: dict[str, Any] | None) -> StateFate:
    if stored is None:
        why = "none was stored: the source starts at its own beginning"
        return StateFate(vertex.uid, vertex.name, _POSITION, Fate.NEW, why)
    if vertex.source is None or ("splits" in stored) != isinstance(vertex.source, SplitSpec):
        why = "another kind of source reads from its own beginning"
        return StateFate(vertex.uid, vertex.name, _POSITION, Fate.DROPPED, why)
    return StateFate(vertex.uid, vertex.name, _POSITION, Fate.KEPT, "it goes on from there")


def _state_fate(state: SavedState, vertex: Vertex, asked: Declarations) -> StateFate:
    def fate(outcome: Fate, why: str) -> StateFate:
        return StateFate(vertex.uid, vertex.name, state.name, outcome, why)

    if vertex.uid in asked.failures:
        return fate(Fate.KEPT, "not checked: the function could not be opened")
    name, stored = _stored(state)
    declared = asked.states.get(vertex.uid, {}).get(name)
    if declared is None:
        why = "open() does not ask for it; it is kept for when something does"
        return fate(Fate.KEPT, why)
    what = f"state {state.name!r} of the operator with uid {vertex.uid!r}"
    if stored.kind == TIMERS and stored.type != declared.type:
        why = f"the timers are of scope {stored.type!r}, the operator's are {declared.type!r}"
        return fate(Fate.INCOMPATIBLE, why)
    try:
        changes = () if stored.kind == TIMERS else conversions(stored, declared, what)
    except IncompatibleState as error:
        return fate(Fate.INCOMPATIBLE, error.message)
    return fate(Fate.KEPT, _why_kept(stored, declared, any(changes)))


def _stored(state: SavedState) -> tuple[str, Declared]:
    return restored_as(state.form, state.name, state.declared)


def _why_kept(stored: Declared, declared: Declared, converted: bool) -> str:
    why = []
    if stored.kind != TIMERS and stored.type != declared.type:
        change = f"{_shown(stored.type)} -> {_shown(declared.type)}"
        why.append(f"{'becomes another type' if converted else 'declared anew'}: {change}")
    if stored.ttl != declared.ttl:
        why.append("values expire from now on" if declared.ttl else "values expire no more")
    return "; ".join(why)


def _shown(written: Any) -> str:
    return " ".join(schema_text(type_from_json(written)).split())


def _new_states(vertex: Vertex, known: set[str], asked: Declarations) -> list[StateFate]:
    return [
        StateFate(vertex.uid, vertex.name, scope_and_name(name)[1], Fate.NEW, "it starts empty")
        for name in asked.states.get(vertex.uid, {})
        if name not in known and name != TIMERS_NAME
    ]


def _why_new(vertex: Vertex) -> str:
    return "a source that starts at its own beginning" if vertex.source is not None else ""


def lost_operators(metadata: SavepointMetadata, plan: PhysicalPlan) -> list[dict[str, Any]]:
    """The operators whose state the plan has no use for."""
    wanted = {vertex.uid for vertex in plan.vertices.values()}
    stateful = {state.operator for state in metadata.states} | set(metadata.sources)
    return [operator for operator in metadata.operators
            if operator["uid"] in stateful - wanted]  # fmt: skip


def require_match(metadata: SavepointMetadata, plan: PhysicalPlan, place: str) -> None:
    """Refuse to lose state without being told to."""
    lost = lost_operators(metadata, plan)
    if not lost:
        return
    names = ", ".join(f"{operator['name']!r} (uid {operator['uid']})" for operator in lost)
    generated = [operator for operator in lost if operator["generated_uid"]]
    why = (
        " Operators without a uid of their own are recognised by their place in the graph, those "
        "of SQL by their query, which has changed: give operators of the DataStream API uids, with "
        ".uid(...), before the next savepoint."
        if generated else ""
    )  # fmt: skip
    raise IncompatibleState(
        f"{place} has state of operators that this job lacks: {names}",
        hint="Bring them back, or say that their state may be dropped: headrace run "
        "--allow-non-restored-state, or execution.state-recovery.ignore-unclaimed-state: true."
        + why,
    )
