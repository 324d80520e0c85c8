"""What a task failed with for good, for Spark's further attempts at it.

Spark tries a task that failed again, whatever it failed with. That repairs the loss of a worker;
a function of the user that raised would be called anew with the same records, three times over,
though Flink fails the job at once. So the first attempt leaves a note, and the others say the same
without running anything. Notes are where Spark keeps an executor's files: they go when it goes. An
attempt on another machine finds none, and runs. A driver on the same machine does not wait for
further attempts (`fail_fast`).
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from pyspark import SparkFiles, TaskContext

from headrace.errors import (
    CorruptState,
    HeadraceError,
    JobFailed,
    SourceUnavailable,
    UserFunctionFailed,
)
from headrace.origin import raising_origin

_MAY_PASS = (CorruptState, JobFailed, SourceUnavailable)
_FOLDER = "headrace-failed-attempts"
_ENDING = ".failed"
GROUP = "spark.jobGroup.id"


def fails_again(error: HeadraceError, cause: BaseException | None) -> bool:
    """Whether a task that failed so would do the same when it is run again.

    The user's own code counts as such, whatever it raises: whether it gets another chance is for
    the restart strategy to say. A disk or a network that headrace itself could not use may recover.
    """
    if isinstance(error, UserFunctionFailed):
        return not isinstance(cause, OSError | MemoryError) or _is_users(cause)
    return not isinstance(error, _MAY_PASS)


def _is_users(cause: BaseException) -> bool:
    return raising_origin(cause.__traceback__, only_users=True) is not None


def leave_note(text: str) -> None:
    """Tell further attempts at this task what it failed with."""
    note = _note()
    if note is None:
        return
    with suppress(OSError):  # then they find out for themselves
        note.parent.mkdir(exist_ok=True)
        unfinished = note.with_name(f"{note.name}.{uuid4().hex}")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(note)


def earlier_note() -> str | None:
    """What an earlier attempt at this task failed with for good."""
    context = TaskContext.get()
    if context is None or context.attemptNumber() == 0:
        return None
    note = _note()
    try:
        return None if note is None else note.read_text(encoding="utf-8")
    except OSError:
        return None


def folder_of_notes(root: str) -> Path:
    """Where notes are, below the folder that Spark keeps an executor's files in."""
    return Path(root) / _FOLDER


def notes_of(folder: Path, group: str) -> list[Path]:
    """The notes of a job group."""
    return sorted(folder.glob(f"{group}.*{_ENDING}"))


def _note() -> Path | None:
    context = TaskContext.get()
    if context is None or SparkFiles._root_directory is None:
        return None
    # Spark never uses a stage's number again, so a restarted job finds no notes.
    name = f"{context.getLocalProperty(GROUP)}.{context.stageId()}.{context.partitionId()}"
    return folder_of_notes(SparkFiles._root_directory) / (name + _ENDING)
