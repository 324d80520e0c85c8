"""Looking a checkpoint over before a job goes on from it, or somebody reads it."""

from __future__ import annotations

from typing import Any

from headrace.errors import CorruptState
from headrace.spark.checked_json import loaded
from headrace.spark.file_store import FileStore
from headrace.spark.flow.checkpoint_files import (
    last_checkpoint,
    last_checkpoint_id,
    require_files,
)
from headrace.spark.savepoints.checkpoint import PLAN


def read_note(run: FileStore, name: str) -> dict[str, Any]:
    """One of the small files beside a job's checkpoints."""
    try:
        return loaded(run.read(name))
    except FileNotFoundError:
        raise _damaged(run, f"{name} is missing") from None
    except ValueError:
        raise _damaged(run, f"{name} is not what was written") from None


def verify_run(run: FileStore, *, fall_back: bool = False) -> None:
    """Refuse a checkpoint that has lost something; who reads its files looks at what they say.

    `fall_back`: an earlier one would do as well, which is looked for when the job begins.
    """
    if not run.exists():
        raise _damaged(run, "the folder is missing")
    read_note(run, PLAN)
    if fall_back:
        return
    looked_at = last_checkpoint_id(run)
    try:
        last = last_checkpoint(run)
        if last is not None:
            require_files(run, last)
    except CorruptState:
        if last_checkpoint_id(run) == looked_at:
            raise
        verify_run(run)  # the job is at work, and has taken that one away


def _damaged(run: FileStore, what: str) -> CorruptState:
    return CorruptState(
        f"the checkpoint in {run.uri} is damaged: {what}",
        hint="Restore it from a copy, or start from a savepoint in a new folder; "
        "nothing is processed before you decide.",
    )
