"""A plan as bytes, so that every task can have a copy of its own."""

from __future__ import annotations

from dataclasses import replace
from types import FunctionType

import cloudpickle

from headrace.errors import NotSerializable
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.pickling import dumps_for_workers


def pickle_plan(plan: PhysicalPlan) -> bytes:
    """Pickle a plan, or say which operator cannot travel."""
    try:
        return dumps_for_workers(_with_own_functions(plan))
    except Exception as error:
        raise _culprit(plan, error) from error


def unpickle_plan(pickled: bytes) -> PhysicalPlan:
    """A fresh copy of a plan: its functions belong to one task."""
    plan: PhysicalPlan = cloudpickle.loads(pickled)
    return plan


def _with_own_functions(plan: PhysicalPlan) -> PhysicalPlan:
    """The plan with a copy of each object that the program gave to several operators: they must
    not find each other's fields and state in it."""
    seen: set[int] = set()
    vertices: dict[int, Vertex] = {}
    for vertex in plan.vertices.values():
        participant = None if vertex.operator is None else vertex.operator.participant
        if id(participant) in seen:
            own = cloudpickle.loads(dumps_for_workers(vertex.operator))
            vertex = replace(vertex, operator=own)
        elif participant is not None and not isinstance(participant, FunctionType):
            seen.add(id(participant))
        vertices[vertex.id] = vertex
    return replace(plan, vertices=vertices)


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
