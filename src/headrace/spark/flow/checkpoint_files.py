"""Checkpoints of a run, as files of its folder.

    attempts/<k>            attempt k at running the job, and the checkpoint it began with
    checkpoints/<n>-<k>     checkpoint n of attempt k: what belongs to it, file by file
    state/<k>-…             what tasks of attempt k wrote

Attempts count up. What an earlier attempt writes after a later one has begun is in nobody's list:
a driver or a worker that wakes up late can write, but nothing it wrote is ever read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headrace.errors import CorruptState
from headrace.runtime.declared_state import Declared
from headrace.runtime.flow.messages import SlotFiles, StateFile, TaskId
from headrace.spark.checked_json import dumped, loaded
from headrace.spark.file_store import FileStore

ATTEMPTS, CHECKPOINTS, STATE = "attempts", "checkpoints", "state"
_VERSION = 1


@dataclass(frozen=True)
class CheckpointFile:
    """What a checkpoint is made of."""

    number: int
    attempt: int
    slots: dict[TaskId, SlotFiles] = field(default_factory=dict)
    positions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By the uid of a source and the id of a split: what is known of it, and its position."""

    @property
    def name(self) -> str:
        return f"{self.number}-{self.attempt}"

    @property
    def size(self) -> int:
        return sum(files.size for files in self.slots.values())

    def files(self) -> set[str]:
        """The names of all files with its state."""
        return {file.name for files in self.slots.values() for file in files.files}

    def write(self, run: FileStore) -> None:
        """Make it a checkpoint: before, it is none; afterwards it is complete."""
        slots = {str(task): _slot_to_json(files) for task, files in self.slots.items()}
        content = {"version": _VERSION, "number": self.number, "attempt": self.attempt,
                   "slots": slots, "positions": self.positions}  # fmt: skip
        run.write(f"{CHECKPOINTS}/{self.name}", dumped(content))

    @staticmethod
    def read(run: FileStore, name: str) -> CheckpointFile:
        try:
            found = loaded(run.read(f"{CHECKPOINTS}/{name}"))
            slots = {TaskId(*map(int, task.split("-"))): _slot_from_json(files)
                     for task, files in found["slots"].items()}  # fmt: skip
            return CheckpointFile(found["number"], found["attempt"], slots, found["positions"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            raise CorruptState(
                f"checkpoint {name} in {run.uri} is damaged or missing",
                hint="Restore the folder from a copy, or start from a savepoint in a new folder.",
            ) from None


def begin_attempt(run: FileStore) -> tuple[int, CheckpointFile | None]:
    """Begin another attempt: its number, and the checkpoint it goes on from."""
    last = last_checkpoint(run)
    number = max(_attempts(run), default=0) + 1
    began_with = None if last is None else last.name
    run.write(f"{ATTEMPTS}/{number}", dumped({"began_with": began_with}))
    return number, last


def last_checkpoint(run: FileStore) -> CheckpointFile | None:
    """The checkpoint to go on from: the last one of the last attempt, or what that began with."""
    name = last_checkpoint_name(run)
    return None if name is None else CheckpointFile.read(run, name)


def last_checkpoint_name(run: FileStore) -> str | None:
    attempt = max(_attempts(run), default=None)
    if attempt is None:
        return None
    own = [name for name in run.names(CHECKPOINTS) if name.endswith(f"-{attempt}")]
    if own:
        return max(own, key=lambda name: int(name.partition("-")[0]))
    began_with = loaded(run.read(f"{ATTEMPTS}/{attempt}"))["began_with"]
    return None if began_with is None else str(began_with)


def is_last_attempt(run: FileStore, attempt: int) -> bool:
    """Whether nobody has begun another attempt since."""
    return max(_attempts(run), default=0) == attempt


def remove_old(run: FileStore, kept: list[CheckpointFile]) -> None:
    """Remove all checkpoints but some, and what belongs to none of them."""
    names = {checkpoint.name for checkpoint in kept}
    for name in run.names(CHECKPOINTS):
        if name not in names:
            run.delete(f"{CHECKPOINTS}/{name}")
    newest = max(kept, key=lambda checkpoint: checkpoint.number)
    needed = {file for checkpoint in kept for file in checkpoint.files()}
    for name in run.names(STATE):
        if name.startswith("."):
            continue  # a file that is being written
        attempt, _, _, checkpoint_number, *_ = name.split("-")
        written = int(attempt), int(checkpoint_number)
        if name not in needed and written <= (newest.attempt, newest.number):
            run.delete(f"{STATE}/{name}")


def _attempts(run: FileStore) -> list[int]:
    return [int(name) for name in run.names(ATTEMPTS) if name.isdigit()]


def _slot_to_json(files: SlotFiles) -> dict[str, Any]:
    states = [[uid, name, declared.kind, declared.type, declared.ttl]
              for (uid, name), declared in files.states.items()]  # fmt: skip
    return {"files": [[file.name, file.size] for file in files.files],
            "snapshot_bytes": files.snapshot_bytes, "states": states}  # fmt: skip


def _slot_from_json(found: dict[str, Any]) -> SlotFiles:
    states = {(uid, name): Declared(kind, type, ttl)
              for uid, name, kind, type, ttl in found["states"]}  # fmt: skip
    files = tuple(StateFile(name, size) for name, size in found["files"])
    return SlotFiles(files, found["snapshot_bytes"], states)
