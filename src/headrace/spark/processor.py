"""A keyed level inside Spark's stateful operator: one group is one slot."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from headrace.core.crash_points import reach
from headrace.runtime.level_task import WRITTEN, LevelTask
from headrace.runtime.packed_changes import Piece
from headrace.spark.failures import reported
from headrace.spark.garbage import look_at_everything, pass_over_what_stays
from headrace.spark.runs_at_work import is_over
from headrace.spark.savepoints.dealing import SlotFiles
from headrace.spark.shipment import Shipment
from headrace.spark.slot_log import SlotLog
from headrace.spark.worker import (
    abandoned_on_failure,
    attempt_number,
    batch_id,
    drop_ended_runs,
    let_go,
    level_task,
)

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

    def handleInitialState(self, key: Any, initialState: Row, timerValues: Any) -> None:
        slot = self._slots[key[0]]
        with reported():
            pieces = self._pieces(initialState, slot)
            self._log.begin_with(self._level, slot, bytes(initialState.about), pieces)

    def _pieces(self, begins_with: Row, slot: int) -> Iterator[Piece]:
        """What a slot is given of a savepoint."""
        yield Piece.stored(bytes(begins_with.changes))
        if begins_with.files is not None:
            files: SlotFiles = pickle.loads(bytes(begins_with.files))
            if not files.plain:
                self._shipment.plan()  # values name their classes, which come with the program
            yield from files.pieces(slot)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        yield from self._run(key[0], (row.blob for row in rows))

    def _run(self, label: int, blobs: Any) -> Iterator[Row]:
        slot = self._slots[label]
        batch = batch_id()
        with reported():
            pass_over_what_stays()
            task = self._caught_up(slot)
            with abandoned_on_failure(task):
                task.begin_batch(batch, attempt_number())
                task.fire_processing_time()
                for blob in blobs:
                    yield from _rows(task.feed_blob(bytes(blob)))
                yield from _rows(task.end_batch())
            reach("state-files.before", batch)
            nonce, figures = self._log.append(task, self._shipment.run_id)
            reach("state-files.after", batch)
            yield from _rows(task.tell_driver(WRITTEN, figures))
            reach("state-commit.before", batch)
            if task.ended:
                task.close()
                look_at_everything()
            else:
                _REPLICAS[self._shipment.run_id, self._level, slot] = (nonce, task)

    def _caught_up(self, slot: int) -> LevelTask:
        """The slot's task with its state as of the last completed batch."""
        run_id = self._shipment.run_id
        drop_ended_runs(self._shipment)
        for other in [each for each in _REPLICAS if is_over(each[0], self._shipment)]:
            let_go(_REPLICAS.pop(other)[1])
        # Taken out until the batch is through: a failed one must not leave its traces.
        nonce, task = _REPLICAS.pop((run_id, self._level, slot), (None, None))
        if task is not None and task.remembers and not self._log.is_at(nonce):
            let_go(task)  # state could catch up, but not what functions keep in their fields
            nonce = task = None
        if task is None:
            task = level_task(self._shipment, self._level, slot, logged=True)
        if self._log.catch_up(task, nonce, run_id):
            task.restored |= self._log.has_past
            task.restore_clock()
        return task


def _rows(rows: Iterator[tuple[int, bytes]]) -> Iterator[Row]:
    for slot, blob in rows:
        yield Row(slot=slot, blob=blob)
