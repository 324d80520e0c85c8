"""Where a stream keeps what it needs to go on after a stop: one folder for each job.

    job.json            whose folder it is, which run is the current one, what it started from
    run-<k>/plan.json   what the state of that run belongs to
    run-<k>/…           attempts, checkpoints and state (`headrace.spark.flow.checkpoint_files`),
                        prepared output
    transfer-<k>        the savepoint by which run k took over from the one before

A job goes on in its run as long as its shape stays the same. One with another parallelism or other
operators begins a new run with the state of the last.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headrace.errors import CorruptState
from headrace.operators.sinks import WriteOperator
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.spark.checked_json import dumped, loaded
from headrace.spark.file_store import FileStore, LocalStore, file_store
from headrace.spark.flow.checkpoint_files import Claims
from headrace.spark.savepoints.checkpoint import PLAN, last_committed

_NOTE = "job.json"


@dataclass(frozen=True)
class RunNote:
    """What the folder remembers of its current run."""

    output_id: str
    run: int
    shape: dict[str, Any]
    restored_from: str | None = None

    @property
    def run_output_id(self) -> str:
        """Names the output of this run: its checkpoints are numbered anew."""
        return self.output_id if self.run == 0 else f"{self.output_id}-{self.run}"


class JobFolder:
    """A job's folder; `lasting` if it may outlive the process."""

    def __init__(self, store: FileStore, *, lasting: bool):
        self.store = store
        self.lasting = lasting
        self._note = read_job_note(store)
        self._claims: dict[str, Claims] = {}
        self.notes = Path(tempfile.mkdtemp(prefix="headrace-"))
        """A local folder for what only this process and those beside it need."""

    @property
    def note(self) -> RunNote | None:
        """What the folder was last used for."""
        return self._note

    @property
    def run(self) -> FileStore:
        assert self._note is not None
        return self.run_store(self._note.run)

    def run_store(self, number: int) -> FileStore:
        return self.store.child(f"run-{number}")

    def earlier_runs(self) -> list[FileStore]:
        """The runs before the current one that have not been cleared away."""
        assert self._note is not None
        return [self.run_store(number) for number in range(self._note.run)
                if self.run_store(number).exists()]  # fmt: skip

    @property
    def journal(self) -> FileStore | None:
        """Where a job that can be resumed notes what it is about to commit."""
        return self.run.child("journal") if self.lasting else None

    @property
    def resumes(self) -> bool:
        """Whether the current run has something to go on from."""
        return self._note is not None and last_committed(self.run) is not None

    def is_in(self, run: FileStore) -> bool:
        """Whether a run is still the folder's current one, whoever has begun one since."""
        note = read_job_note(self.store)
        return note is not None and self.run_store(note.run).uri == run.uri

    def claims(self, run: FileStore) -> Claims:
        """The numbers that this driver takes in a run."""
        return self._claims.setdefault(run.uri, Claims(run))

    def is_current(self, run: FileStore) -> bool:
        """Whether nobody else has begun with the job since this driver has, in that run."""
        return self.is_in(run) and self.claims(run).is_last()

    def begin(self, note: RunNote) -> None:
        """Say which run is the current one from now on."""
        content = {"output_id": note.output_id, "run": note.run, "shape": note.shape,
                   "restored_from": note.restored_from}  # fmt: skip
        self.store.write(_NOTE, dumped(content))
        self._note = note

    def delete(self) -> None:
        self.store.delete()

    def leave(self) -> None:
        """The process needs it no longer."""
        shutil.rmtree(self.notes, ignore_errors=True)
        if not self.lasting:
            self.store.delete()


def read_job_note(store: FileStore) -> RunNote | None:
    """What a job's folder remembers; None if it was never used."""
    try:
        found = loaded(store.read(_NOTE))
        return RunNote(found["output_id"], int(found["run"]), found["shape"],
                       found["restored_from"])  # fmt: skip
    except FileNotFoundError:
        if not any(_has_begun(store.child(name)) for name in store.names()
                   if name.startswith("run-")):  # fmt: skip
            return None
        raise _damaged(f"the job folder {store.uri} has lost its {_NOTE}") from None
    except (ValueError, KeyError, TypeError):
        raise _damaged(f"{store.uri}/{_NOTE} is damaged") from None


def _has_begun(run: FileStore) -> bool:
    """Whether more has become of a run than its plan, which is written before the note."""
    return any(name != PLAN for name in run.names())


def _damaged(what: str) -> CorruptState:
    return CorruptState(
        what, hint="Restore the file from a copy, or start from a savepoint in a new folder."
    )


def shape_of(plan: PhysicalPlan) -> dict[str, Any]:
    """What must be the same for a job to go on with its checkpoint as it is."""
    vertices = plan.vertices.values()
    return {
        "parallelism": plan.parallelism,
        "operators": [[v.uid, v.name, v.level, v.parallelism, v.max_parallelism] for v in vertices],
        "sources": [[v.uid, type(v.source).__name__] for v in plan.sources],
        # From the first checkpoint of a run on they have a journal, or none has.
        "committers": sorted(v.uid for v in vertices if _commits(v)),
    }


def _commits(vertex: Vertex) -> bool:
    operator = vertex.operator
    return isinstance(operator, WriteOperator) and operator.sink.create_committer() is not None


def job_folder(spark: SparkSession, checkpoint_dir: str | None, job_number: int) -> JobFolder:
    """The folder of the program's `job_number`th job, or a temporary one."""
    if checkpoint_dir is None:
        folder = Path(tempfile.mkdtemp(prefix="headrace-"))
        return JobFolder(LocalStore(folder), lasting=False)
    return JobFolder(file_store(spark, checkpoint_dir).child(f"job-{job_number}"), lasting=True)
