"""A plan as bytes, so that every task can have a copy of its own."""

from __future__ import annotations

import cloudpickle

from headrace.errors import NotSerializable
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.pickling import dumps_for_workers


def pickle_plan(plan: PhysicalPlan) -> bytes:
    """Pickle a plan, or say which operator cannot travel."""
    try:
        return dumps_for_workers(plan)
    except Exception as error:
        raise _culprit(plan, error) from error


def unpickle_plan(pickled: bytes) -> PhysicalPlan:
    """A fresh copy of a plan: its functions belong to one task."""
    plan: PhysicalPlan = cloudpickle.loads(pickled)
    return plan


def _culprit(plan: PhysicalPlan, error: Exception) -> NotSerializable:
    for vertex in plan.vertices.values():
        parts = {"function": vertex.operator, "source": vertex.source, "edges": vertex.edges}
        for part, thing in parts.items():
            try:
                cloudpickle.dumps(thing)
            except Exception as reason:
                what = "key selector or partitioner after" if part == "edges" else f"{part} of"
                return NotSerializable(
                    f"the {what} {vertex.name!r} cannot be sent to the workers: {reason}",
                    origin=vertex.origin,
                    hint="It holds on to something that lives only in this process (a connection, "
                    "a lock, an open file). Create that in open() instead.",
                )
    return NotSerializable(f"the job cannot be sent to the workers: {error}")
