"""What a savepoint says of itself: one JSON file, written when everything else is in place."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from headrace.errors import CorruptState, InvalidArgument
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.carried_time import CarriedTime
from headrace.runtime.flow.messages import StateFile, TaskId
from headrace.runtime.state_rows import KEYED, RowForm
from headrace.spark.checked_json import checksum_of, dumped
from headrace.spark.file_store import FileStore

METADATA = "_metadata.json"
FORMAT = "headrace savepoint"
VERSION = 1
_LONGEST_NAME = 200
"""File systems take about 255 bytes."""


@dataclass(frozen=True)
class SavedState:
    """One state of one operator: its rows are in a folder of Parquet files."""

    operator: str
    name: str
    form: RowForm
    declared: Any
    """The type the program declared, as JSON; None for timers."""
    folder: str
    rows: int = 0

    def is_of(self, piece: Any, form: RowForm) -> bool:
        """Whether a piece of some slot's state belongs to it."""
        return (self.operator, self.form.scope, self.name) == (
            piece.operator, form.scope, piece.name,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return {"operator": self.operator, "name": self.name, **self.form.to_json(),
                "declared": self.declared, "folder": self.folder, "rows": self.rows}  # fmt: skip

    @staticmethod
    def from_json(found: dict[str, Any]) -> SavedState:
        if not found["folder"].startswith("state/") or ".." in found["folder"].split("/"):
            raise CorruptState(f"a savepoint has no state in {found['folder']!r}")
        return SavedState(found["operator"], found["name"], RowForm.from_json(found),
                          found["declared"], found["folder"], found["rows"])  # fmt: skip


def state_folder(operator: str, scope: str, name: str) -> str:
    """Where the rows of a state lie, below the savepoint.

    States of different scopes may have the same name: that of a window and of its key, say.
    """
    folder = f"state/{_folder_name(operator)}/{_folder_name(name)}"
    return folder if scope == KEYED else f"{folder}@{scope}"


def _folder_name(text: str) -> str:
    name = quote(text, safe="")
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 17]}%{sha256(text.encode()).hexdigest()[:16]}"
    # A dot in front hides a folder, or means another one.
    return f"%2E{name[1:]}" if name.startswith(".") else name


@dataclass(frozen=True)
class SavepointMetadata:
    """Everything about a savepoint but the rows."""

    job: dict[str, str]
    batch: int
    parallelism: int
    operators: list[dict[str, Any]]
    states: list[SavedState] = field(default_factory=list)
    time: CarriedTime = field(default_factory=CarriedTime)
    sources: dict[str, Any] = field(default_factory=dict)
    """The positions of each source by its uid."""
    files: dict[str, list[int]] = field(default_factory=dict)
    """Size and checksum of each file by its path below the savepoint."""
    created: str = ""
    in_flight: dict[TaskId, StateFile] = field(default_factory=dict)
    """By slot, records that were on their way to it."""

    def write(self, store: FileStore) -> None:
        content = {
            "format": FORMAT, "version": VERSION, "created": self.created or _now(),
            "job": self.job, "batch": self.batch, "parallelism": self.parallelism,
            "operators": self.operators,
            "states": [state.to_json() for state in self.states],
            "time": self.time.to_json(), "sources": self.sources, "files": self.files,
        }  # fmt: skip
        if self.in_flight:
            content["in_flight"] = {
                str(task): [file.name, file.size, file.checksum]
                for task, file in self.in_flight.items()
            }
        store.write(METADATA, dumped(content))

    @staticmethod
    def read(store: FileStore) -> SavepointMetadata:
        """Read and check it; the files of state are checked by whoever reads them."""
        found = _checked(store)
        return SavepointMetadata(
            found["job"], found["batch"], found["parallelism"], found["operators"],
            [SavedState.from_json(state) for state in found["states"]],
            CarriedTime.from_json(found["time"]), found["sources"], found["files"],
            found["created"],
            {TaskId(*map(int, task.split("-"))): StateFile(*file)
             for task, file in found.get("in_flight", {}).items()},
        )  # fmt: skip


def _checked(store: FileStore) -> dict[str, Any]:
    try:
        text = store.read(METADATA)
    except FileNotFoundError:
        raise InvalidArgument(
            f"there is no savepoint in {store.uri}: it has no {METADATA}",
            hint="Give the folder that holds this file. One that lacks it was never finished."
            if store.exists() else "Check the path.",
        ) from None  # fmt: skip
    try:
        found: dict[str, Any] = json.loads(text)
        checksum = found.pop("checksum")
        known = found["format"], int(found["version"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _corrupt(store, "it cannot be read") from None
    if known[0] != FORMAT or known[1] > VERSION:
        raise InvalidArgument(
            f"{store.uri} holds a {known[0]!r} of version {known[1]}; this program reads "
            f"{FORMAT!r} up to version {VERSION}", hint="Use the headrace that wrote it, or newer.",
        )  # fmt: skip
    if checksum != checksum_of(found):
        raise _corrupt(store, "its checksum does not match")
    return found


def _corrupt(store: FileStore, why: str) -> CorruptState:
    return CorruptState(
        f"the savepoint in {store.uri} is damaged: of {METADATA}, {why}",
        hint="Restore the file from a copy, or start from another savepoint or checkpoint.",
    )


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def described_operators(plan: PhysicalPlan) -> list[dict[str, Any]]:
    """The operators of a plan, so that state can be matched without the program."""
    inputs: dict[int, list[str]] = {}
    for vertex in plan.vertices.values():
        for edge in vertex.edges:
            inputs.setdefault(edge.target, []).append(vertex.uid)
    return [
        {
            "uid": vertex.uid, "name": vertex.name, "id": vertex.id, "level": vertex.level,
            "type": type(vertex.operator).__name__ if vertex.operator else "source",
            "generated_uid": vertex.generated_uid, "parallelism": vertex.parallelism,
            "max_parallelism": vertex.max_parallelism, "inputs": inputs.get(vertex.id, []),
            "source": vertex.source is not None, "sink": vertex.is_sink,
        }
        for vertex in plan.vertices.values()
    ]  # fmt: skip
