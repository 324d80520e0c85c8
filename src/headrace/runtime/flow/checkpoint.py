"""What a checkpoint is made of, as it is written down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from headrace.runtime.declared_state import Declared
from headrace.runtime.flow.messages import SlotFiles, StateFile, TaskId

VERSION = 1


class CheckpointId(NamedTuple):
    """Which checkpoint it is: of two with one number at most one counts."""

    number: int
    attempt: int

    @property
    def name(self) -> str:
        return f"{self.number}-{self.attempt}"

    @staticmethod
    def parse(name: str) -> CheckpointId | None:
        """None for what is no such name; attempt 0 where it says none, as journals once did."""
        number, _, attempt = name.partition("-")
        if not number.isdigit() or (attempt and not attempt.isdigit()):
            return None
        return CheckpointId(int(number), int(attempt or 0))


@dataclass(frozen=True)
class Checkpoint:
    """Where the sources stood, and the files that hold the state of every slot."""

    number: int
    attempt: int
    slots: dict[TaskId, SlotFiles] = field(default_factory=dict)
    positions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By the uid of a source and the id of a split: what is known of it, and its position."""

    @property
    def id(self) -> CheckpointId:
        return CheckpointId(self.number, self.attempt)

    @property
    def name(self) -> str:
        return self.id.name

    @property
    def size(self) -> int:
        return sum(files.size for files in self.slots.values())

    def files(self) -> set[str]:
        """The names of all files with its state."""
        return {file.name for files in self.slots.values() for file in files.all_files}

    def to_json(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "number": self.number,
            "attempt": self.attempt,
            "slots": {str(task): _slot_to_json(files) for task, files in self.slots.items()},
            "positions": self.positions,
        }

    @staticmethod
    def from_json(found: dict[str, Any]) -> Checkpoint:
        slots = {TaskId(*map(int, task.split("-"))): _slot_from_json(files)
                 for task, files in found["slots"].items()}  # fmt: skip
        return Checkpoint(found["number"], found["attempt"], slots, found["positions"])


def _slot_to_json(files: SlotFiles) -> dict[str, Any]:
    states = [[uid, name, declared.kind, declared.type, declared.ttl]
              for (uid, name), declared in files.states.items()]  # fmt: skip
    found = {
        "files": [_file_to_json(file) for file in files.files],
        "snapshot_bytes": files.snapshot_bytes,
        "states": states,
    }
    if files.in_flight is not None:
        found["in_flight"] = _file_to_json(files.in_flight)
    return found


def _file_to_json(file: StateFile) -> list[Any]:
    return [file.name, file.size, file.checksum]


def _slot_from_json(found: dict[str, Any]) -> SlotFiles:
    states = {(uid, name): Declared(kind, type, ttl)
              for uid, name, kind, type, ttl in found["states"]}  # fmt: skip
    files = tuple(StateFile(*file) for file in found["files"])
    in_flight = StateFile(*found["in_flight"]) if "in_flight" in found else None
    return SlotFiles(files, found["snapshot_bytes"], states, in_flight)
