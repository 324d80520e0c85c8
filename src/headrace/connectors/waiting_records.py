"""Records that wait in a worker until enough of them can be written together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["WaitingRecords"]


def _weightless(record: Any) -> int:
    return 0


class WaitingRecords:
    """Records that wait until there are enough of them, or until they have waited long enough: then
    a thread writes them, and what it cannot write is told with the next record."""

    def __init__(
        self,
        write: Callable[[list[Any]], None],
        *,
        most: int | None = None,
        interval_ms: int | None = None,
        weigh: Callable[[Any], int] = _weightless,
        heaviest: int | None = None,
    ):
        """`most`, `heaviest`: how many may wait, and what they may weigh; None: anything."""
        self._write = write
        self._most = most
        self._weigh = weigh
        self._heaviest = heaviest
        self._records: list[Any] = []
        self._weight = 0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._failure: Exception | None = None
        if interval_ms:
            interval_s = interval_ms / 1000
            threading.Thread(
                target=self._flush_now_and_then, args=(interval_s,), daemon=True
            ).start()

    def add(self, record: Any) -> None:
        with self._lock:
            self._raise_failure()
            self._records.append(record)
            self._weight += self._weigh(record)
            if self._is_enough():
                self._flush()

    def flush(self) -> None:
        with self._lock:
            self._raise_failure()
            self._flush()

    def _is_enough(self) -> bool:
        if self._most is not None and len(self._records) >= self._most:
            return True
        return self._heaviest is not None and self._weight >= self._heaviest

    def _flush(self) -> None:
        if self._records:
            records, self._records, self._weight = self._records, [], 0
            self._write(records)

    def _flush_now_and_then(self, interval_s: float) -> None:
        while not self._closed.wait(interval_s):
            with self._lock:
                try:
                    self._flush()
                except Exception as error:
                    self._failure = error
                    return

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def forget(self) -> None:
        with self._lock:
            self._records, self._weight = [], 0

    def close(self) -> None:
        self._closed.set()
        self.forget()
