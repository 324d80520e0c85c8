"""A job's plan on its way to the workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark import SparkFiles

from headrace.core.source import CollectionSpec
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.brought_modules import bring
from headrace.runtime.pickled_plan import pickle_plan, unpickle_plan

_HOME = str(Path.cwd())
"""Where a worker started; it serves jobs with and without archives."""


@dataclass(frozen=True)
class Shipment:
    """Everything a worker needs, as bytes, so that the worker decides when to unpickle."""

    run_id: str
    plan_bytes: bytes
    search_path: tuple[str, ...] = ()
    brought: tuple[str, ...] = ()
    """Files, folders and archives with modules that come before all others."""
    serve_pyflink: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    unpacked: bool = False
    """Whether archives came along: functions then work in the folder they are unpacked to."""
    alive: str | None = None
    """A path on the driver's machine that is there as long as the job runs."""

    def plan(self) -> PhysicalPlan:
        """A fresh copy of the plan: its functions are this task's own."""
        for folder in self.search_path:
            if folder not in sys.path and Path(folder).exists():
                sys.path.append(folder)
        bring(self.brought)
        work_in(unpacked=self.unpacked)
        if self.serve_pyflink:
            from headrace import shim

            shim.install()
        return unpickle_plan(self.plan_bytes)


def work_in(*, unpacked: bool) -> None:
    """Let a worker's functions work where archives are unpacked, or where it started."""
    os.chdir(SparkFiles.getRootDirectory() if unpacked else _HOME)


def pack(plan: PhysicalPlan, run_id: str, **rest: Any) -> Shipment:
    """Pickle a plan, or say which operator cannot travel."""
    lean = replace(plan, vertices={id: _lean(vertex) for id, vertex in plan.vertices.items()})
    return Shipment(run_id, pickle_plan(lean), **rest)


def _lean(vertex: Vertex) -> Vertex:
    # The values of a collection travel as rows, not with the plan.
    if isinstance(vertex.source, CollectionSpec):
        return replace(vertex, source=CollectionSpec(()))
    return vertex
