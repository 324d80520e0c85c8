"""What becomes of each piece of stored state when another program starts from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from headrace.errors import IncompatibleState
from headrace.plan.physical import PhysicalPlan
from headrace.spark.savepoints.metadata import SavepointMetadata


class Fate(Enum):
    """What may happen to a state."""

    KEPT = "survives"
    DROPPED = "dropped"
    NEW = "new"
    INCOMPATIBLE = "incompatible"


@dataclass(frozen=True)
class StateFate:
    """One state of one operator, and why."""

    operator: str
    operator_name: str
    state: str
    fate: Fate
    why: str


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
        " Operators without a uid of their own are recognised by their place in the graph, which "
        "has changed: give them uids, with .uid(...), before the next savepoint."
        if generated else ""
    )  # fmt: skip
    raise IncompatibleState(
        f"{place} has state of operators that this job lacks: {names}",
        hint="Bring them back, or say that their state may be dropped: headrace run "
        "--allow-non-restored-state, or execution.state-recovery.ignore-unclaimed-state: true."
        + why,
    )
