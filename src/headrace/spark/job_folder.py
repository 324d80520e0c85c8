"""Where a stream keeps what it needs to go on after a stop: one folder for each job.

The folder remembers which job it belongs to. State is divided by the number of slots and named by
uid, so a job of another shape would find the wrong state, or none, without noticing.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.errors import InvalidGraph, Unsupported
from headrace.plan.physical import PhysicalPlan


@dataclass(frozen=True)
class JobFolder:
    """A job's folder; `lasting` if it may outlive the process."""

    path: Path
    lasting: bool

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint"

    @property
    def control(self) -> Path:
        return self.path / "control"

    @property
    def alignment(self) -> Path:
        """Where the driver notes which splits shall wait for others."""
        return self.path / "alignment.json"

    @property
    def journal(self) -> Path | None:
        """Where a job that can be resumed notes what it is about to commit."""
        return self.path / "journal" if self.lasting else None

    @property
    def resumes(self) -> bool:
        """Whether there is something to go on from."""
        return (self.checkpoint / "commits").exists()

    def claim(self, plan: PhysicalPlan, output_id: str) -> str:
        """Say whose folder this is, or check it; returns the name of the job's output."""
        shape = _shape(plan)
        note = self.path / "job.json"
        if not note.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            note.write_text(json.dumps({"output_id": output_id, **shape}), encoding="utf-8")
            return output_id
        known = json.loads(note.read_text(encoding="utf-8"))
        for what, hint in _HINTS.items():
            if known[what] != shape[what]:
                raise InvalidGraph(
                    f"the checkpoint in {self.path} was written with another {what}: "
                    f"{_difference(known[what], shape[what])}",
                    hint=hint,
                )
        return str(known["output_id"])


_HINTS = {
    "parallelism": "Set the parallelism it had, or give the job a folder of its own.",
    "max parallelism": "Set the max parallelism it had, or give the job a folder of its own.",
    "set of operators": "Start the program that wrote it, or give this one a folder of its own. "
    "Uids keep operators recognisable.",
}


def _shape(plan: PhysicalPlan) -> dict[str, Any]:
    vertices = plan.vertices.values()
    return {
        "parallelism": plan.parallelism,
        "max parallelism": sorted({vertex.max_parallelism for vertex in vertices}),
        "set of operators": sorted(f"{vertex.name} ({vertex.uid})" for vertex in vertices),
    }


def _difference(known: Any, now: Any) -> str:
    if not isinstance(known, list):
        return f"{known}, not {now}"
    gone = ", ".join(str(item) for item in known if item not in now) or "nothing"
    new = ", ".join(str(item) for item in now if item not in known) or "nothing"
    return f"it has {gone}, which this job lacks; this job has {new}, which it lacks"


def job_folder(checkpoint_dir: str | None, job_number: int) -> JobFolder:
    """The folder of the program's `job_number`th job, or a temporary one."""
    if checkpoint_dir is None:
        return JobFolder(Path(tempfile.mkdtemp(prefix="headrace-")), lasting=False)
    return JobFolder(_local(checkpoint_dir) / f"job-{job_number}", lasting=True)


def _local(folder: str) -> Path:
    if "://" in folder and not folder.startswith("file://"):
        raise Unsupported(
            f"checkpoints go to a local folder so far, not to {folder}",
            hint="Give a path that every machine of the cluster can reach, for instance on NFS.",
        )
    return Path(folder.removeprefix("file://")).resolve()
