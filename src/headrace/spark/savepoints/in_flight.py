"""Records that were on their way when an unaligned checkpoint was taken, in a savepoint of it.

Only the savepoints by which a job takes over from itself have them: a file for each slot that had
kept any, with what the slot had heard of time in front.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

from headrace.errors import CorruptState, Unsupported
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.carried_time import WATERMARKS
from headrace.runtime.envelope import MARK, Envelope
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.flow.messages import StateFile, TaskId
from headrace.runtime.flow.parcels import KEPT, RECORDS, Parcel, pack_kept, unpack_kept
from headrace.runtime.flow.redealing import deal_kept, require_dealable
from headrace.runtime.flow.restoring import OpenFile
from headrace.spark.file_store import FileStore, LocalStore

_FOLDER = "in-flight"
SlotTime = tuple[int, int, Mapping[str, Mapping[Any, Any]]]
"""Level and number of a slot, and what it knows of time."""


def write_in_flight(
    kept: Mapping[TaskId, list[Parcel]], times: Iterable[SlotTime], target: FileStore
) -> dict[TaskId, StateFile]:
    """Write what each slot has kept."""
    heard = {TaskId(level, slot): entries.get(WATERMARKS, {}) for level, slot, entries in times}
    found: dict[TaskId, StateFile] = {}
    for task, parcels in kept.items():
        mark = Envelope([(MARK, 0, heard.get(task, {}))]).encode()
        blob = pack_kept([Parcel(RECORDS, 0, KEPT, content=mark), *parcels])
        file = StateFile(f"{_FOLDER}/{task}", len(blob), crc32(blob))
        target.write(file.name, blob)
        found[task] = file
    return found


def require_same_graph(stored: list[dict[str, Any]], plan: PhysicalPlan) -> None:
    """Refuse a program in which there is another way between operators: it could not be gone on."""
    inputs: dict[int, list[str]] = {}
    for vertex in plan.vertices.values():
        for edge in vertex.edges:
            inputs.setdefault(edge.target, []).append(vertex.uid)
    now = [(v.uid, v.level, inputs.get(v.id, [])) for v in plan.vertices.values()]
    if sorted(now) != sorted((each["uid"], each["level"], each["inputs"]) for each in stored):
        raise Unsupported(
            "the checkpoint is an unaligned one, with records that were on their way between "
            "tasks: only the same program can go on from it, at whatever parallelism",
            hint="Start the job as it was, take a savepoint of it, and go on from that.",
        )
    require_dealable(plan)


@dataclass(frozen=True)
class KeptFiles:
    """What the slots of a level had kept."""

    root: Path | None = None
    """None: a worker cannot open the files itself."""
    files: dict[int, StateFile] = field(default_factory=dict)
    """By slot."""
    ids: dict[int, int] = field(default_factory=dict)
    """By what the vertices were called then, what they are called now."""

    @staticmethod
    def of(
        store: FileStore, files: Mapping[TaskId, StateFile], stored: list[dict[str, Any]],
        plan: PhysicalPlan, level: int,
    ) -> KeptFiles:  # fmt: skip
        """Of a savepoint: what a level of a plan begins with."""
        mine = {task.number: file for task, file in files.items() if task.level == level}
        if not mine:
            return KeptFiles()
        now = {vertex.uid: vertex.id for vertex in plan.vertices.values()}
        ids = {int(each["id"]): now[each["uid"]] for each in stored}
        return KeptFiles(store.path if isinstance(store, LocalStore) else None, mine, ids)

    def deal_to(self, level: FlowingLevel, open_file: OpenFile) -> list[Parcel]:
        """What a slot works off first."""
        kept = {
            slot: list(unpack_kept(self._read(file, open_file)))
            for slot, file in self.files.items()
        }
        return deal_kept(level, kept, self.ids) if kept else []

    def _read(self, file: StateFile, open_file: OpenFile) -> bytes:
        if self.root is not None:
            blob = (self.root / file.name).read_bytes()
        else:
            blob = open_file(file.name, file.size).read()
        if crc32(blob) != file.checksum:
            raise CorruptState(
                f"the file {file.name} of a savepoint is not what was written",
                hint="Restore it from a copy, or start from another savepoint.",
            )
        return blob
