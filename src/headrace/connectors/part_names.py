"""The names of a file sink's files.

    .part-<owner>-<partition>-<batch>-<n>-<attempt>.inprogress   written for the next checkpoint
    .part-<owner>-<partition>-<batch>-<n>-<attempt>.pending      committed, waits for its part
    part-<owner><attempt>-<batch>-<n>                            finished

A file that is waiting is a *segment*: one or several of them become a finished part. The owner is
one sink of one job, so that jobs that share a folder let each other's files alone; the attempt is
made up anew for every writer, so that no two files ever have the same name.
"""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from dataclasses import dataclass
from pathlib import Path

from headrace.core.operator import TaskInfo

__all__ = ["Segment", "files_below", "files_in", "new_attempt", "owner_of", "segment_of"]

IN_PROGRESS = ".inprogress"
PENDING = ".pending"
_HIDDEN = re.compile(
    r"\.(?P<prefix>.*)-(?P<owner>[0-9a-f]{16})-(?P<partition>\d+)-(?P<batch>\d+)-(?P<number>\d+)"
    r"-(?P<attempt>[0-9a-f]{16})(?P<suffix>.*)\.(?:inprogress|pending)",
    re.DOTALL,
)


def owner_of(task: TaskInfo, run_id: str) -> str:
    """Names one sink of one job, the same after a restart; `run_id` where no engine names it."""
    job = task.lineage or task.output_id or run_id
    return hashlib.sha256(f"{job}/{task.uid}".encode()).hexdigest()[:16]


def new_attempt() -> str:
    return uuid.uuid4().hex[:16]


@dataclass(frozen=True, slots=True)
class Segment:
    """What one writer wrote to one folder without a break."""

    folder: Path
    prefix: str
    owner: str
    partition: int
    batch: int
    number: int
    attempt: str
    suffix: str

    def _hidden(self) -> str:
        place = f"{self.partition}-{self.batch}-{self.number}"
        return f".{self.prefix}-{self.owner}-{place}-{self.attempt}{self.suffix}"

    @property
    def in_progress(self) -> Path:
        return self.folder / f"{self._hidden()}{IN_PROGRESS}"

    @property
    def pending(self) -> Path:
        return self.folder / f"{self._hidden()}{PENDING}"

    @property
    def finished(self) -> Path:
        """The part this segment becomes, or is the first segment of."""
        place = f"{self.owner}{self.attempt}-{self.batch}-{self.number}"
        return self.folder / f"{self.prefix}-{place}{self.suffix}"

    @property
    def order(self) -> tuple[int, int, int, str]:
        return (self.batch, self.partition, self.number, self.attempt)


def segment_of(path: Path) -> Segment | None:
    """The segment that a hidden file is, if it is one."""
    found = _HIDDEN.fullmatch(path.name)
    if found is None:
        return None
    return Segment(
        path.parent, found["prefix"], found["owner"], int(found["partition"]),
        int(found["batch"]), int(found["number"]), found["attempt"], found["suffix"],
    )  # fmt: skip


def files_below(owner: str, folder: Path) -> list[Path]:
    """The hidden files of an owner in a folder and all folders below it, in order."""
    found = [
        Path(place, name)
        for place, _, names in os.walk(folder)
        for name in names
        if _belongs(name, owner)
    ]
    return sorted(found)


def files_in(owner: str, folder: Path) -> list[Path]:
    """The hidden files of an owner in a folder, in order; none where the folder is gone."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if _belongs(path.name, owner))


def _belongs(name: str, owner: str) -> bool:
    # A folder may hold very many finished files: no more than this is asked of each.
    return name[0] == "." and f"-{owner}" in name
