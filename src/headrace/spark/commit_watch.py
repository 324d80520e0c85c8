"""Noticing when Spark has planned a micro-batch, and when it has committed one.

Spark calls back before it writes its commit log, not after. So a thread looks at the logs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from headrace.core.crash_points import reach
from headrace.spark.file_store import FileStore, LocalStore
from headrace.spark.savepoints.checkpoint import last_committed
from headrace.spark.savepoints.verification import note_progress

_PAUSE = 0.01
_PAUSE_ELSEWHERE = 0.2
"""Seconds between two looks; a look at another machine's files is dearer."""
_IDLE_EVERY = 1.0
_LOOKS_FOR_LATER = 50
"""After so many looks in vain, it is asked whether later micro-batches are committed."""


class Listener(Protocol):
    def begun(self, batch_id: int) -> None: ...

    def committed(self, batch_id: int) -> None: ...

    def idle(self) -> None: ...


class CommitWatch:
    """Tells a listener of each micro-batch once, in order."""

    def __init__(
        self, run: FileStore, listener: Listener, on_error: Callable[[BaseException], None]
    ):
        """`on_error` must end the stream: output could not be committed."""
        self._on_error = on_error
        self._run = run
        self._listener = listener
        self._pause = _PAUSE if isinstance(run, LocalStore) else _PAUSE_ELSEWHERE
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._changed = threading.Condition()
        last = last_committed(run)
        self._next = 0 if last is None else last + 1
        self._begun = False
        self._looks = 0
        self._is_over = False
        self._error: BaseException | None = None

    @property
    def last(self) -> int | None:
        """The last micro-batch whose commit was told."""
        return self._next - 1 if self._next else None

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._look, daemon=True, name="headrace-commit-watch")
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def settle(self) -> None:
        """Tell of everything that is committed by now; raises what the listener raised."""
        with self._lock:
            self._looks = -1  # the next look is for later ones, too
            while not self._is_over and self._tell():
                self._looks = -1
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def end(self) -> None:
        """Tell of what is left, and of nothing any more: another attempt has a watch of its own."""
        try:
            self.settle()
        finally:
            self._is_over = True

    def wait_for(self, batch_id: int, timeout: float) -> bool:
        """Wait until a micro-batch is committed and told of."""
        with self._changed:
            return self._changed.wait_for(lambda: self._next > batch_id, timeout)

    def _look(self) -> None:
        silent = 0.0
        while not self._over.wait(self._pause):
            silent += self._pause
            try:
                with self._lock:
                    if self._tell() or silent >= _IDLE_EVERY:
                        silent = 0.0
                        self._listener.idle()
            except BaseException as error:
                self._error = error
                self._on_error(error)
                return

    def _is_committed(self, batch: int) -> bool:
        if self._run.exists(f"checkpoint/commits/{batch}"):
            self._looks = 0
            return True
        # Spark may have cleared it away already, if committing output took long.
        self._looks += 1
        if self._looks % _LOOKS_FOR_LATER:
            return False
        last = last_committed(self._run)
        return last is not None and last > batch

    def _tell(self) -> bool:
        batch = self._next
        if not self._begun and self._run.exists(f"checkpoint/offsets/{batch}"):
            self._begun = True
            self._listener.begun(batch)
        if not self._is_committed(batch):
            return False
        reach("commit-log.after", batch)
        if not self._begun:
            self._listener.begun(batch)
        note_progress(self._run, batch)
        self._listener.committed(batch)
        self._begun = False
        with self._changed:
            self._next = batch + 1
            self._changed.notify_all()
        return True
