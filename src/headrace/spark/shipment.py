"""A job's plan on its way to the workers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import cloudpickle

from headrace.core.source import CollectionSpec
from headrace.errors import NotSerializable
from headrace.plan.physical import PhysicalPlan, Vertex


@dataclass(frozen=True)
class Shipment:
    """Everything a worker needs, as bytes, so that the worker decides when to unpickle."""

    run_id: str
    plan_bytes: bytes
    search_path: tuple[str, ...] = ()
    serve_pyflink: bool = False
    files: Mapping[str, str] = field(default_factory=dict)

    def plan(self) -> PhysicalPlan:
        """A fresh copy of the plan: its functions are this task's own."""
        for folder in self.search_path:
            if folder not in sys.path and Path(folder).exists():
                sys.path.append(folder)
        if self.serve_pyflink:
            from headrace import shim

            shim.install()
        plan: PhysicalPlan = cloudpickle.loads(self.plan_bytes)
        return plan


def pack(plan: PhysicalPlan, run_id: str, **rest: Any) -> Shipment:
    """Pickle a plan, or say which operator cannot travel."""
    lean = replace(plan, vertices={id: _lean(vertex) for id, vertex in plan.vertices.items()})
    try:
        return Shipment(run_id, cloudpickle.dumps(lean), **rest)
    except Exception as error:
        raise _culprit(lean, error) from error


def _lean(vertex: Vertex) -> Vertex:
    # The values of a collection travel as rows, not with the plan.
    if isinstance(vertex.source, CollectionSpec):
        return replace(vertex, source=CollectionSpec(()))
    return vertex


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
