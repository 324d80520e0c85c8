"""Words from the driver to the slots of a running stream.

A stream runs a micro-batch when a source has something new. To wake slots without data, for a
timer that is due or because every bounded source has ended, the driver drops a file into a folder
that is one more source of the query; its lines reach every slot.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headrace.runtime.envelope import Envelope
from headrace.spark.file_store import FileStore
from headrace.spark.worker import SCHEMA, ArrowFunction, as_arrow

_END = "end"
_TICK = "tick"
_KEPT_TICKS = 20
_KEEP = "_folder"
"""A name that Spark passes over."""


class Control:
    """The folder, and the clock that watches for timers."""

    def __init__(self, folder: FileStore):
        self._folder = folder
        self._alarm: threading.Timer | None = None
        self._ticks: list[str] = []
        self._lock = threading.RLock()
        self._closed = False

    def frame(self, spark: SparkSession, slots: int) -> DataFrame:
        """The rows that carry words to the slots."""
        self._folder.write(_KEEP, b"")  # Spark reads only folders that are there
        return spark.readStream.text(self._folder.uri).mapInArrow(_to_every_slot(slots), SCHEMA)

    def announce_end(self) -> None:
        """No source will give another record."""
        self._drop(_END)

    def tick(self) -> None:
        """Let a micro-batch run, so that slots look at their clocks."""
        with self._lock:
            self._drop(_TICK)
            for old in self._ticks[:-_KEPT_TICKS]:
                # Long read by now; the query remembers the names it has seen.
                self._folder.delete(old)
            del self._ticks[:-_KEPT_TICKS]

    def wake_at(self, due: int | None) -> None:
        """Tick when the earliest processing-time timer is due."""
        with self._lock:
            if self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None
            if due is not None and not self._closed:
                delay = min(max(0.0, due / 1000 - time.time()), threading.TIMEOUT_MAX)
                self._alarm = threading.Timer(delay, self.tick)
                self._alarm.daemon = True
                self._alarm.start()

    def close(self) -> None:
        """Say nothing any more: a word that is on its way would bring a deleted folder back."""
        with self._lock:
            self._closed = True
            self.wake_at(None)

    def _drop(self, word: str) -> None:
        with self._lock:
            if self._closed:
                return
            name = f"{word}-{uuid.uuid4().hex}"
            self._folder.write(name, f"{word}\n".encode())
            if word == _TICK:
                self._ticks.append(name)


def _to_every_slot(slots: int) -> ArrowFunction:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in batches:
            for word in rows.column(0).to_pylist():
                blob = Envelope(final=word == _END).encode()
                yield from as_arrow(iter([(slot, blob) for slot in range(slots)]))

    return run
