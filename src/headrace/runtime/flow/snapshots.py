"""The state of a slot as files: what each checkpoint changed, and now and then all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any
from zlib import crc32

from headrace.errors import CorruptState
from headrace.runtime.flow.messages import SlotFiles, StateFile, TaskId
from headrace.runtime.flow.parcels import Parcel, pack_kept, unpack_kept
from headrace.runtime.packed_changes import packed, unpacked
from headrace.runtime.subtask_state import UNION_PREFIX, Changes, SubtaskState

_CHUNK_KEYS = 50_000
COMPACT_AT_LEAST = 8 * 1024 * 1024
"""Bytes of changes below which a snapshot is not worth writing."""
_MOST_FILES = 256
"""Files after which one is written all the same, so that a restore opens few."""

Written = list[tuple[str, bytes]]
"""Files still to be written: names and contents."""


class Snapshots:
    """Makes the files of one slot's state, checkpoint by checkpoint.

    What has changed is encoded at once, for a value may be changed in place a moment later; the
    files are written by whoever calls, while the task goes on. All of a state goes out piece by
    piece: it may be larger than memory.
    """

    def __init__(
        self, state: SubtaskState, task: TaskId, attempt: int, begun_with: SlotFiles | None,
        write: Callable[[Written], None], *, whole: bool = False,
        compact_at: int = COMPACT_AT_LEAST,
    ):  # fmt: skip
        """`write`: makes files durable before those that `take` gives. `whole`: the first one is of
        everything, for there is state that no file has."""
        self._state = state
        self._write = write
        self._name = f"{attempt}-{task}"
        self._files = replace(begun_with or SlotFiles(), in_flight=None)
        self._bytes = self._files.size
        self._whole = whole
        self._compact_at = compact_at

    def take(self, checkpoint: int) -> tuple[SlotFiles, Written, dict[str, Any]]:
        """The slot's files as of now, those of them still to be written, and figures about them."""
        known = self._files
        changes = self._state.take_changes()
        sizes: dict[str, int] = {}
        written: Written = []
        if self._whole:
            self._whole = False
            known, sizes = self._everything(checkpoint)
        elif changes:
            blob, sizes = packed(changes, self._state.described())
            log_bytes = self._bytes - known.snapshot_bytes + len(blob)
            if log_bytes > max(self._compact_at, known.snapshot_bytes) or (
                len(known.files) >= _MOST_FILES
            ):
                known, sizes = self._everything(checkpoint)
            else:
                written = [(f"{self._name}-{checkpoint}", blob)]
                known = SlotFiles((*known.files, *_described(written)), known.snapshot_bytes)
                self._bytes += len(blob)
        states = self._state.described()
        if known is not self._files or states is not known.states:
            self._files = SlotFiles(known.files, known.snapshot_bytes, states)
        return self._files, written, self._figures(changes, sizes)

    def add_in_flight(
        self, files: SlotFiles, checkpoint: int, parcels: list[Parcel]
    ) -> tuple[SlotFiles, Written]:
        """The slot's files with what was on its way to it."""
        if not parcels:
            return files, []
        written = [(f"{self._name}-{checkpoint}-in-flight", pack_kept(parcels))]
        (file,) = _described(written)
        return replace(files, in_flight=file), written

    def _everything(self, checkpoint: int) -> tuple[SlotFiles, dict[str, int]]:
        sizes: Counter[str] = Counter()
        files: list[StateFile] = []
        for number, part in enumerate(self._state.snapshot(_CHUNK_KEYS)):
            blob, by_operator = packed(part, self._state.described())
            sizes.update(by_operator)
            written = [(f"{self._name}-{checkpoint}-{number}", blob)]
            files += _described(written)
            self._write(written)
        return SlotFiles(tuple(files), sum(file.size for file in files)), sizes

    def _figures(self, changes: Changes, sizes: dict[str, int]) -> dict[str, Any]:
        """What the driver keeps in its record of checkpoints."""
        changed: dict[str, int] = {}
        for uid, _, _, change in changes:
            changed[uid] = changed.get(uid, 0) + sum(map(len, change))
        entries = self._state.entries()
        operators = {uid: (sizes.get(uid, 0), changed.get(uid, 0), entries.get(uid, 0))
                     for uid in sizes.keys() | entries.keys()}  # fmt: skip
        union = any(name.startswith(UNION_PREFIX) for _, name in self._files.states)
        return {"union": union, "bytes": self._bytes, "operators": operators}


def seal(name: str, blobs: Iterable[bytes]) -> tuple[SlotFiles, Written]:
    """Packed changes as the files of a slot that begins with them."""
    written = [(f"{name}-{number}", blob) for number, blob in enumerate(blobs)]
    files = _described(written)
    return SlotFiles(files, sum(file.size for file in files)), written


def restore(state: SubtaskState, files: SlotFiles, read: Callable[[str], bytes]) -> None:
    """Bring a slot's state to what its files say; `read` gives the content of one."""
    read_state(state, files, read)
    # Classes may have changed since: the program may be another one by now. What it makes of the
    # state is a change like others, and part of the next snapshot.
    state.reconcile(files.states, by_others=True)


def read_state(state: SubtaskState, files: SlotFiles, read: Callable[[str], bytes]) -> None:
    """Give a slot what its files hold, as it was written."""
    for file in files.files:
        state.apply(unpacked(_checked(file, read)))


def read_in_flight(files: SlotFiles, read: Callable[[str], bytes]) -> list[Parcel]:
    """What was on its way to the slot."""
    if files.in_flight is None:
        return []
    return list(unpack_kept(_checked(files.in_flight, read)))


def _checked(file: StateFile, read: Callable[[str], bytes]) -> bytes:
    blob = read(file.name)
    if crc32(blob) != file.checksum:
        raise CorruptState(
            f"the state file {file.name} is not what was written",
            hint="Restore it from a copy, or start from a savepoint in a new folder.",
        )
    return blob


def _described(written: Written) -> tuple[StateFile, ...]:
    return tuple(StateFile(name, len(blob), crc32(blob)) for name, blob in written)
