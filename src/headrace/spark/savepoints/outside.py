"""What another process may do with a job's checkpoint: look at it, and copy it while the job runs.

Nothing below the checkpoint is changed here. A running job may remove what is being read, once it
has newer checkpoints: then the copy starts over with the newest.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from pyspark.sql import SparkSession

from headrace.errors import CorruptState, InvalidArgument
from headrace.runtime.flow.checkpoint import CheckpointId
from headrace.spark.file_store import FileStore, LocalStore, file_store, local_path
from headrace.spark.flow.checkpoint_files import last_checkpoint_id
from headrace.spark.savepoints.checkpoint import Checkpoint, last_committed
from headrace.spark.savepoints.metadata import METADATA, SavepointMetadata
from headrace.spark.savepoints.opening import checkpoint_in
from headrace.spark.savepoints.verification import verify_run
from headrace.spark.savepoints.writer import require_free, write_savepoint

_TRIES = 5
_COMMITTED_WITHIN = 10.0
_ENTRY = "batch-"
"""How names of entries begin in a job's journal, before those of their checkpoints."""
T = TypeVar("T")
_LOG = logging.getLogger("headrace")


def is_savepoint(store: FileStore) -> bool:
    """Whether a folder is a savepoint that was finished."""
    return store.exists(METADATA)


def local_store(place: str) -> LocalStore | None:
    """The folder of this machine that a path stands for, without asking Spark; else None."""
    path = local_path(place)
    return None if path is None else LocalStore(path)


def copy_checkpoint(spark: SparkSession, place: str, target: FileStore) -> SavepointMetadata:
    """Write the last checkpoint of a job, which may be running elsewhere, as a savepoint."""
    run = checkpoint_in(file_store(spark, place))
    require_free(target)

    def copy(checkpoint: Checkpoint) -> SavepointMetadata:
        target.delete()
        return write_savepoint(spark, checkpoint, target)

    return at_last_checkpoint(spark, run, copy)


def at_last_checkpoint(
    spark: SparkSession, run: FileStore, read: Callable[[Checkpoint], T], held: int | None = None
) -> T:  # fmt: skip
    """Read the last checkpoint, once more if the job has gone on and taken it away meanwhile.

    `held`: one that is not taken away, unless the job fails and starts again.
    """
    for _ in range(_TRIES - 1):
        batch, held = _last(run) if held is None else held, None
        try:
            return read(Checkpoint(spark, run, batch))
        except InvalidArgument:
            raise
        except Exception:
            if last_committed(run) == batch:
                raise
    return read(Checkpoint(spark, run, _last(run)))


def _last(run: FileStore) -> int:
    for _ in range(_TRIES):
        batch = last_committed(run)
        verify_run(run)
        if batch is not None:
            return batch
        break
    raise CorruptState(
        f"the checkpoint in {run.uri} has no complete checkpoint",
        hint="Nothing was processed yet: there is no state to look at.",
    )


def wait_for_output(place: str, spark: SparkSession, batch: int) -> None:
    """A savepoint stands for output that others can see: give the job time to commit it."""
    run = checkpoint_in(file_store(spark, place))
    deadline = time.monotonic() + _COMMITTED_WITHIN
    while _is_uncommitted(run, batch):
        if time.monotonic() > deadline:
            _LOG.warning(
                "output of micro-batch %d is prepared but not committed; start the job once more "
                "from its own checkpoint to have it committed", batch,
            )  # fmt: skip
            return
        time.sleep(0.1)


def _is_uncommitted(run: FileStore, batch: int) -> bool:
    last = last_checkpoint_id(run)
    names = run.names("journal")
    entries = [CheckpointId.parse(name.removeprefix(_ENTRY)) for name in names if _ENTRY in name]
    attempts = (0, last.attempt if last is not None else 0)  # what others left comes to nothing
    return any(
        entry is not None and entry.number <= batch and entry.attempt in attempts
        for entry in entries
    )
