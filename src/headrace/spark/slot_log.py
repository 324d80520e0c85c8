"""The durable form of a slot's state, in Spark's state store.

Entry -1, the head, says which versions exist; the entries from 0 hold everything up to some
version in chunks, those after them the changes of each version since. Read in order they give the
state again. A worker that still holds the slot's state from an earlier batch reads only the log
entries it missed: the nonce of each version proves that both mean the same past.
"""

from __future__ import annotations

import pickle
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from headrace.runtime.level_task import LevelTask
from headrace.runtime.packed_changes import Piece, packed, unpacked
from headrace.runtime.subtask_state import UNION_PREFIX, Changes

STATE = "state"
"""The name of the state variable."""
HEAD = -1
_FIRST_LOG_ENTRY = 1 << 40
_CHUNK_KEYS = 50_000
_COMPACT_AT_LEAST = 8 * 1024 * 1024
"""Bytes of log below which a snapshot is not worth writing."""
_MOST_LOGGED = 1024
"""Log entries after which one is written all the same, so that the head stays small."""
_MOST_AT_HAND = 64 * 1024 * 1024
"""Stored bytes of a savepoint that are kept in memory until a slot's first batch needs them."""


class SlotLog:
    """The durable form of a slot's state: entries of one map in Spark's state store."""

    def __init__(self, handle: StatefulProcessorHandle):
        self._entries = handle.getMapState(STATE, "entry long", "blob binary")
        self._info: dict[str, Any] = {}
        self._at_hand: dict[tuple[int, int], Callable[[], Changes]] = {}
        """What was just stored of a savepoint, so that it need not be read again."""
        self._at_hand_bytes = 0

    @property
    def version(self) -> int:
        return int(self._info["version"])

    def _read_head(self) -> None:
        stored = self._entries.getValue((HEAD,))
        self._info = _fresh() if stored is None else pickle.loads(bytes(stored[0]))

    def _write_head(self) -> None:
        self._entries.updateValue((HEAD,), (pickle.dumps(self._info, 5),))

    def begin_with(self, level: int, slot: int, about: bytes, pieces: Iterable[Piece]) -> None:
        """Take over state that a savepoint holds, before the first batch."""
        self._read_head()
        info = self._info
        info.update(level=level, slot=slot)
        info["states"].update(pickle.loads(about))
        for piece in pieces:
            entry = _chunk_entry(info["chunks"])
            self._entries.updateValue((entry,), (piece.blob,))
            self._at_hand_bytes += len(piece.blob)
            if self._at_hand_bytes <= _MOST_AT_HAND:
                self._at_hand[slot, entry] = piece.changes
            info["chunks"] += 1
            info["snapshot_bytes"] += len(piece.blob)
        self._write_head()

    @property
    def has_past(self) -> bool:
        """Whether there was a batch before, or a savepoint."""
        return self.version > 0 or self._info["chunks"] > 0

    def is_at(self, nonce: str | None) -> bool:
        """Whether a worker's copy of the state is the last version."""
        self._read_head()
        return nonce is not None and self._info["nonces"].get(self.version) == nonce

    def catch_up(self, task: LevelTask, nonce: str | None, run_id: str) -> bool:
        """Bring a task's state up to the last version; says whether anything was read."""
        self._read_head()
        self._info.update(level=task.level, slot=task.subtask)
        nonces: dict[int, str] = self._info["nonces"]
        if nonce is not None and nonces.get(self.version) == nonce:
            return False
        known = next((v for v, n in nonces.items() if n == nonce), None)
        if known is None:
            task.state.reset()
            for chunk in range(self._info["chunks"]):
                self._apply(task, _chunk_entry(chunk))
            known = self._info["snapshot"]
        for version in range(known + 1, self.version + 1):
            if version in self._info["logged"]:
                self._apply(task, _log_entry(version))
        task.state.reconcile(self._info["states"], by_others=self._info["run_id"] != run_id)
        return True

    def _apply(self, task: LevelTask, entry: int) -> None:
        changes = self._at_hand.pop((task.subtask, entry), None)
        if changes is None:
            stored: Any = self._entries.getValue((entry,))
            task.state.apply(unpacked(bytes(stored[0])))
        else:
            task.state.apply(changes())

    def append(self, task: LevelTask, run_id: str) -> tuple[str, dict[str, Any]]:
        """Log what the batch changed; returns the nonce of the new version and what it took."""
        info = self._info
        info["version"] += 1
        info.update(states=task.state.described(), run_id=run_id)
        nonce = uuid.uuid4().hex
        sizes: dict[str, int] = {}
        changes = task.state.take_changes()
        if changes:
            blob, sizes = packed(changes)
            info["log_bytes"] += len(blob)
            least = task.plan.settings.get("compact_at_bytes", _COMPACT_AT_LEAST)
            worth_it = info["log_bytes"] > max(least, info["snapshot_bytes"])
            if worth_it or len(info["logged"]) >= _MOST_LOGGED:
                sizes = self._compact(task)
            else:
                self._entries.updateValue((_log_entry(info["version"]),), (blob,))
                info["logged"].add(info["version"])
        elif info["nonces"]:
            nonce = info["nonces"].pop(info["version"] - 1)
        info["nonces"][info["version"]] = nonce
        self._write_head()
        return nonce, self._figures(task, changes, sizes)

    def _figures(self, task: LevelTask, changes: Changes, sizes: dict[str, int]) -> dict[str, Any]:
        """What the driver keeps in its record of checkpoints."""
        changed: Counter[str] = Counter()
        for uid, _, _, change in changes:
            changed[uid] += sum(len(part) for part in change)
        entries = task.state.entries()
        operators = {uid: (sizes.get(uid, 0), changed[uid], entries.get(uid, 0))
                     for uid in sizes.keys() | entries.keys()}  # fmt: skip
        union = any(name.startswith(UNION_PREFIX) for _, name in self._info["states"])
        return {"union": union, "bytes": self._info["snapshot_bytes"] + self._info["log_bytes"],
                "operators": operators}  # fmt: skip

    def _compact(self, task: LevelTask) -> dict[str, int]:
        info = self._info
        for version in info["logged"]:
            self._entries.removeKey((_log_entry(version),))
        sizes: Counter[str] = Counter()
        count = 0
        for count, part in enumerate(task.state.snapshot(_CHUNK_KEYS), start=1):
            blob, written = packed(part)
            sizes.update(written)
            self._entries.updateValue((_chunk_entry(count - 1),), (blob,))
        for chunk in range(count, info["chunks"]):
            self._entries.removeKey((_chunk_entry(chunk),))
        info.update(snapshot=info["version"], chunks=count,
                    snapshot_bytes=sizes.total(), log_bytes=0, logged=set(), nonces={})  # fmt: skip
        return sizes


def _chunk_entry(chunk: int) -> int:
    return chunk


def _log_entry(version: int) -> int:
    return _FIRST_LOG_ENTRY + version


def _fresh() -> dict[str, Any]:
    return {"version": 0, "snapshot": 0, "chunks": 0, "snapshot_bytes": 0, "log_bytes": 0,
            "logged": set(), "nonces": {}, "states": {}, "run_id": ""}  # fmt: skip
