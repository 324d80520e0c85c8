"""Savepoints and retained checkpoints as DataFrames."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from headrace.runtime.subtask_state import TIMERS_NAME
from headrace.spark.file_store import FileStore, LocalStore, file_store
from headrace.spark.savepoints.metadata import SavepointMetadata
from headrace.spark.savepoints.outside import copy_checkpoint, is_savepoint
from headrace.spark.savepoints.restore import Restored
from headrace.spark.session import get_session
from headrace.state.catalog import (
    OperatorInfo,
    StateInfo,
    find_state,
    operators_of,
    states_of,
)

__all__ = ["SavepointReader", "read_savepoint"]


def read_savepoint(
    path: str | Path, spark: SparkSession | None = None, *, scratch: str | None = None
) -> SavepointReader:
    """Open a savepoint, or the last checkpoint of a job by its checkpoint directory.

    A checkpoint is first made a savepoint, in the folder `scratch` that all workers must be able
    to reach; without one in a temporary folder, which goes with the process. The job may be
    running meanwhile. Checkpoints hold pickles: open only those of jobs you trust.
    """
    session = spark or get_session()
    store = file_store(session, str(path))
    if is_savepoint(store):
        return SavepointReader(session, store)
    target, ours = _scratch(session, scratch)
    try:
        copy_checkpoint(session, str(path), target)
    except BaseException:
        target.delete()
        raise
    return SavepointReader(session, target, temporary=ours)


def _scratch(session: SparkSession, scratch: str | None) -> tuple[FileStore, bool]:
    if scratch is not None:
        return file_store(session, scratch), False
    folder = tempfile.mkdtemp(prefix="headrace-state-")
    # Not with the reader: its DataFrames may be read long after it is gone.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return LocalStore(Path(folder)), True


class SavepointReader:
    """What a savepoint holds. Each state is a DataFrame; its columns are those of the files."""

    def __init__(self, spark: SparkSession, store: FileStore, *, temporary: bool = False):
        self.spark = spark
        self._store = store
        self._saved = Restored(spark, store)
        self._saved.check()
        self._temporary = temporary

    @property
    def path(self) -> str:
        return self._store.uri

    @property
    def metadata(self) -> SavepointMetadata:
        """Job, parallelism, source positions, times and files."""
        return self._saved.metadata

    def operators(self) -> list[OperatorInfo]:
        """The operators of the job, in the order of its graph."""
        return operators_of(self.metadata)

    def states(self, uid: str | None = None) -> list[StateInfo]:
        """The states of all operators or of one, timers among them."""
        return states_of(self.metadata, uid)

    def state(self, uid: str, name: str, scope: str | None = None) -> DataFrame:
        """The rows of a state: one for each value, each list, each entry of a map."""
        found = find_state(self.metadata, uid, name, scope)
        frame = self.spark.read.parquet(f"{self._store.uri}/{found.folder}")
        return frame.select(*found.form.schema.names)

    def timers(self, uid: str) -> DataFrame:
        """The timers of an operator: key, domain (`event` or `processing`) and time."""
        return self.state(uid, TIMERS_NAME)

    def close(self) -> None:
        """Delete the copy that was made of a checkpoint; its DataFrames cannot be read then."""
        if self._temporary:
            self._store.delete()

    def __enter__(self) -> SavepointReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
