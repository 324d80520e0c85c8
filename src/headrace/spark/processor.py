"""A keyed level inside Spark's stateful operator: one group is one slot.

State lives in three variables of Spark's state store: `head` says which versions exist, `log`
holds the changes of each version, `snapshot` everything up to some version. A worker that still
holds the slot's state from an earlier batch reads only the log entries it missed: the nonce of
each version proves that both mean the same past.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from headrace.runtime.level_task import LevelTask
from headrace.runtime.pickling import dumps
from headrace.spark.failures import reported
from headrace.spark.shipment import Shipment
from headrace.spark.worker import (
    abandoned_on_failure,
    attempt_number,
    batch_id,
    drop_other_runs,
    level_task,
)

_CHUNK_KEYS = 50_000
_COMPACT_AT_LEAST = 8 * 1024 * 1024
"""Bytes of log below which a snapshot is not worth writing."""
_MOST_LOGGED = 1024
"""Log entries after which one is written all the same, so that the head stays small."""
_REPLICAS: dict[tuple[str, int, int], tuple[str, LevelTask]] = {}
"""Slots this worker process has state of, with the nonce of their last version."""


class SlotProcessor(StatefulProcessor):
    """Runs a LevelTask on the rows of its slot."""

    def __init__(self, shipment: Shipment, level: int, labels: tuple[int, ...]):
        self._shipment = shipment
        self._level = level
        self._slots = {label: slot for slot, label in enumerate(labels)}

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._log = SlotLog(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        yield from self._run(key[0], (row.blob for row in rows))

    def _run(self, label: int, blobs: Any) -> Iterator[Row]:
        slot = self._slots[label]
        with reported():
            task = self._caught_up(slot)
            with abandoned_on_failure(task):
                task.begin_batch(batch_id(), attempt_number())
                task.fire_processing_time()
                for blob in blobs:
                    yield from _rows(task.feed_blob(bytes(blob)))
                yield from _rows(task.end_batch())
            nonce = self._log.append(task)
            if task.ended:
                task.close()
            else:
                _REPLICAS[self._shipment.run_id, self._level, slot] = (nonce, task)

    def _caught_up(self, slot: int) -> LevelTask:
        """The slot's task with its state as of the last completed batch."""
        run_id = self._shipment.run_id
        for other in [identity for identity in _REPLICAS if identity[0] != run_id]:
            _REPLICAS.pop(other)[1].abandon()
        drop_other_runs(run_id)
        # Taken out until the batch is through: a failed one must not leave its traces.
        nonce, task = _REPLICAS.pop((run_id, self._level, slot), (None, None))
        if task is None:
            task = level_task(self._shipment, self._level, slot, logged=True)
        if self._log.catch_up(task, nonce):
            task.restore_clock()
        return task


class SlotLog:
    """The durable form of a slot's state."""

    def __init__(self, handle: StatefulProcessorHandle):
        self._head = handle.getValueState("head", "info binary")
        self._log = handle.getMapState("log", "version long", "blob binary")
        self._snapshot = handle.getMapState("snapshot", "chunk long", "blob binary")
        self._info: dict[str, Any] = {}

    @property
    def version(self) -> int:
        return int(self._info["version"])

    def catch_up(self, task: LevelTask, nonce: str | None) -> bool:
        """Bring a task's state up to the last version; says whether anything was read."""
        stored = self._head.get()
        self._info = _fresh() if stored is None else pickle.loads(bytes(stored[0]))
        nonces: dict[int, str] = self._info["nonces"]
        if nonce is not None and nonces.get(self.version) == nonce:
            return False
        known = next((v for v, n in nonces.items() if n == nonce), None)
        if known is None:
            task.state.reset()
            for chunk in range(self._info["chunks"]):
                self._apply(task, self._snapshot.getValue((chunk,)))
            known = self._info["snapshot"]
        for version in range(known + 1, self.version + 1):
            if version in self._info["logged"]:
                self._apply(task, self._log.getValue((version,)))
        return True

    @staticmethod
    def _apply(task: LevelTask, stored: Any) -> None:
        task.state.apply(pickle.loads(bytes(stored[0])))

    def append(self, task: LevelTask) -> str:
        """Log what the batch changed; returns the nonce of the new version."""
        info = self._info
        info["version"] += 1
        nonce = uuid.uuid4().hex
        changes = task.state.take_changes()
        if changes:
            blob = dumps(changes)
            info["log_bytes"] += len(blob)
            least = task.plan.settings.get("compact_at_bytes", _COMPACT_AT_LEAST)
            worth_it = info["log_bytes"] > max(least, info["snapshot_bytes"])
            if worth_it or len(info["logged"]) >= _MOST_LOGGED:
                self._compact(task)
            else:
                self._log.updateValue((info["version"],), (blob,))
                info["logged"].add(info["version"])
        elif info["nonces"]:
            nonce = info["nonces"].pop(info["version"] - 1)
        info["nonces"][info["version"]] = nonce
        self._head.update((pickle.dumps(info, 5),))
        return nonce

    def _compact(self, task: LevelTask) -> None:
        info = self._info
        for version in info["logged"]:
            self._log.removeKey((version,))
        count = size = 0
        for count, part in enumerate(task.state.snapshot(_CHUNK_KEYS), start=1):
            blob = dumps(part)
            size += len(blob)
            self._snapshot.updateValue((count - 1,), (blob,))
        for chunk in range(count, info["chunks"]):
            self._snapshot.removeKey((chunk,))
        info.update(snapshot=info["version"], chunks=count, snapshot_bytes=size,
                    log_bytes=0, logged=set(), nonces={})  # fmt: skip


def _fresh() -> dict[str, Any]:
    return {"version": 0, "snapshot": 0, "chunks": 0, "snapshot_bytes": 0, "log_bytes": 0,
            "logged": set(), "nonces": {}}  # fmt: skip


def _rows(rows: Iterator[tuple[int, bytes]]) -> Iterator[Row]:
    for slot, blob in rows:
        yield Row(slot=slot, blob=blob)
