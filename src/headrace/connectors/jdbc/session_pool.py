"""Some connections to a database, on which queries run at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from queue import SimpleQueue
from typing import Any, TypeVar

from headrace.connectors.jdbc.databases import Database
from headrace.connectors.jdbc.sessions import Session
from headrace.operators.table.awaited_calls import took_too_long

T = TypeVar("T")
R = TypeVar("R")


class SessionPool:
    """Runs queries by threads, each with a connection of its own; with one connection there is no
    thread. What takes longer than the timeout (0: none) is cut off."""

    def __init__(self, database: Database, size: int, timeout_ms: int = 0):
        self._sessions = [Session(database, on_connect=database.commit_each) for _ in range(size)]
        self._free: SimpleQueue[Session] = SimpleQueue()
        for session in self._sessions:
            self._free.put(session)
        self._timeout_ms = timeout_ms
        self._threads: ThreadPoolExecutor | None = None
        self.is_cut = False
        """Whether nobody waits for what still runs."""

    def map(self, action: Callable[[Session, T], R], parts: Sequence[T]) -> list[R]:
        """What an action does with each part, in their order."""
        if len(self._sessions) == 1 and not self._timeout_ms:
            return [action(self._sessions[0], part) for part in parts]
        if self._threads is None:
            self._threads = ThreadPoolExecutor(len(self._sessions), "database look-ups")
        found: list[R] = []
        for start in range(0, len(parts), len(self._sessions)):
            some = parts[start : start + len(self._sessions)]
            found += self._results([self._threads.submit(self._run, action, one) for one in some])
        return found

    def _run(self, action: Callable[[Session, T], R], part: T) -> R:
        session = self._free.get()
        try:
            return action(session, part)
        finally:
            self._free.put(session)

    def _results(self, running: list[Future[Any]]) -> list[Any]:
        limit = self._timeout_ms / 1000 if self._timeout_ms else None
        if wait(running, limit).not_done:
            self._cut()
            raise took_too_long("a look-up", self._timeout_ms)
        return [each.result() for each in running]

    def _cut(self) -> None:
        self.is_cut = True
        for session in self._sessions:
            session.cut()

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
            self._threads = None
        for session in self._sessions:
            session.close()
