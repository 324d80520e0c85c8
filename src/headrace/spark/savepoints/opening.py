"""Choosing what a job starts with: nothing, its own checkpoint, or state from elsewhere."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pyspark.sql import SparkSession

from headrace.errors import InvalidArgument
from headrace.plan.physical import PhysicalPlan
from headrace.spark.file_store import FileStore, file_store
from headrace.spark.flow.checkpoint_files import CLAIMS, end_run
from headrace.spark.job_folder import JobFolder, RunNote, read_job_note, shape_of
from headrace.spark.savepoints.checkpoint import PLAN, Checkpoint, note_plan
from headrace.spark.savepoints.in_flight import require_same_graph
from headrace.spark.savepoints.matching import require_match
from headrace.spark.savepoints.metadata import METADATA
from headrace.spark.savepoints.restore import Restored
from headrace.spark.savepoints.verification import verify_run
from headrace.spark.savepoints.writer import write_savepoint

_UNION = "union"
"""Marks a run with union list state: every subtask is given all of it whenever a job starts."""
_LOG = logging.getLogger("headrace")


@dataclass(frozen=True)
class Start:
    """What a run begins with."""

    restored: Restored | None = None
    """State from elsewhere; None where its own checkpoint has it, or there is none."""


def open_run(
    spark: SparkSession, folder: JobFolder, plan: PhysicalPlan, job: dict[str, str],
    path: str | None = None, allow_non_restored: bool = False, *, fall_back: bool = False,
) -> Start:  # fmt: skip
    """Make the folder's current run one that fits the plan, and say what it begins with."""
    known, shape = folder.note, shape_of(plan)
    source = None if path is None else file_store(spark, path).uri
    if known is None:
        note = RunNote(job["id"], 0, shape, source)
        restored = None if path is None else opened(spark, path, folder.store.child("transfer-0"))
    elif source is not None and not _went_on_from(folder, source):
        note = RunNote(known.output_id, known.run + 1, shape, source)
        restored = opened(spark, path or "", folder.store.child(f"transfer-{note.run}"))
    else:
        verify_run(folder.run, fall_back=fall_back)
        if folder.resumes and known.shape == shape and not is_dealt_out_on_resume(folder):
            return Start()
        return _changed(spark, folder, known, plan, job, allow_non_restored)
    return _begin(folder, plan, job, note, restored, allow_non_restored)


def _went_on_from(folder: JobFolder, source: str) -> bool:
    """Whether the folder's run was started from there and has got somewhere since."""
    if folder.note is None or folder.note.restored_from != source or not folder.resumes:
        return False
    _LOG.warning(
        "the job in %s was started from %s before and goes on from its own last checkpoint; "
        "delete the folder to start from there again", folder.store.uri, source,
    )  # fmt: skip
    return True


def _changed(
    spark: SparkSession, folder: JobFolder, known: RunNote, plan: PhysicalPlan,
    job: dict[str, str], allow_non_restored: bool,
) -> Start:  # fmt: skip
    """Begin a new run with the state of the last one; or the last one again if it had not begun."""
    shape = shape_of(plan)
    # Whoever still runs the job has no other checkpoint after this one.
    _, last = end_run(folder.run, folder.claims(folder.run))
    if last is not None:
        note = RunNote(known.output_id, known.run + 1, shape, None)
        transfer = folder.store.child(f"transfer-{note.run}")
        note = RunNote(note.output_id, note.run, shape, transfer.uri)
        restored = _transferred(spark, folder.run, transfer)
    else:
        note = RunNote(known.output_id, known.run, shape, known.restored_from)
        restored = None
        if known.restored_from is not None:
            transfer = folder.store.child(f"transfer-{note.run}")
            restored = opened(spark, known.restored_from, transfer)
        if known.shape != shape:
            _clear(folder.run)
    return _begin(folder, plan, job, note, restored, allow_non_restored)


def _clear(run: FileStore) -> None:
    """Begin a run once more; numbers that were taken in it are not given out again."""
    for name in run.names():
        if name != CLAIMS:
            run.delete(name)


def _begin(
    folder: JobFolder, plan: PhysicalPlan, job: dict[str, str], note: RunNote,
    restored: Restored | None, allow_non_restored: bool,
) -> Start:  # fmt: skip
    if restored is not None:
        if not allow_non_restored:
            require_match(restored.metadata, plan, note.restored_from or "the checkpoint")
        if restored.metadata.in_flight:
            require_same_graph(restored.metadata.operators, plan)
        restored.check()
    note_plan(folder.run_store(note.run), plan, job)
    folder.begin(note)
    return Start(restored)


def opened(spark: SparkSession, path: str, transfer: FileStore) -> Restored:
    """A savepoint, or the last checkpoint of a job, by its folder.

    A checkpoint is made a savepoint first, in `transfer`: so nothing depends on it any more.
    """
    store = file_store(spark, path)
    if store.exists(METADATA):
        return Restored(spark, store)
    return _transferred(spark, checkpoint_in(store), transfer)


def checkpoint_in(store: FileStore) -> FileStore:
    """The run of a job that a folder holds."""
    run = run_in(store)
    if run is None:
        raise InvalidArgument(
            f"there is neither a savepoint nor a checkpoint in {store.uri}",
            hint=f"A savepoint has a file {METADATA}, a job's checkpoint folder one named job.json."
            if store.exists() else "There is no such folder: check the path.",
        )  # fmt: skip
    return run


def run_in(store: FileStore) -> FileStore | None:
    """The run that a folder is, or holds: of a run, a job's folder, a checkpoint directory."""
    if store.exists(PLAN):
        return store
    note = read_job_note(store)
    if note is not None:
        return store.child(f"run-{note.run}")
    jobs = [name for name in store.names() if name.startswith("job-")]
    if len(jobs) == 1:
        return run_in(store.child(jobs[0]))
    if jobs:
        raise InvalidArgument(
            f"{store.uri} has the checkpoints of {len(jobs)} jobs: {', '.join(jobs)}",
            hint="Give the folder of one of them.",
        )
    return None


def _transferred(spark: SparkSession, run: FileStore, transfer: FileStore) -> Restored:
    verify_run(run)
    transfer.delete()
    write_savepoint(spark, Checkpoint(spark, run), transfer, in_flight=True)
    return Restored(spark, transfer)


def deal_out_on_resume(folder: JobFolder) -> None:
    """Have the state dealt out anew when the job is resumed, even at the same parallelism."""
    if not is_dealt_out_on_resume(folder):
        folder.run.write(_UNION, b"")


def is_dealt_out_on_resume(folder: JobFolder) -> bool:
    """Whether the current run has state that must be dealt out anew whenever the job starts."""
    return folder.run.exists(_UNION)


def remove_earlier_runs(folder: JobFolder) -> None:
    """Once a run has a checkpoint of its own, it needs none of what came before it."""
    assert folder.note is not None
    current = folder.note.run
    for name in folder.store.names():
        kind, _, number = name.partition("-")
        if not number.isdigit():
            continue
        # A later run may have begun with a transfer of its own while this driver slept.
        is_left = int(number) < current if kind == "run" else int(number) <= current
        if kind in ("run", "transfer") and is_left:
            folder.store.delete(name)
