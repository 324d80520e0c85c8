"""A pytest plugin: every task keeps its keyed state in RocksDB, with hardly any cache.

The tasks of a test, and those that go on after a crash, share one database: to open and close one
for each of them would take longer than all the rest. Each has its own part of it, as each table of
a task has.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from headrace.runtime import subtask_state
from headrace.runtime.backends import BackendChoice, cells, entry_cells
from headrace.runtime.backends.rocksdb import _TABLE, RocksBackend, RocksStore
from headrace.runtime.flow import level

CHOICE = BackendChoice("rocksdb", memory=4 << 20)


class PartOfOne(RocksBackend):
    """The backend of one task, whose tables nobody had before."""

    store = RocksStore(CHOICE)
    numbers = count(1)

    def __init__(self, *_: object):
        super().__init__(CHOICE)
        self._store = self.store

    def _cells(self, kind: type[Any], what: str) -> Any:
        self._tables += 1
        return kind(self._store, _TABLE.pack(next(self.numbers)), self._share, what)

    def close(self) -> None:
        """Others go on using the database."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    """A database for each test."""
    PartOfOne.store = RocksStore(CHOICE)
    try:
        return (yield)
    finally:
        PartOfOne.store.close()


def pytest_configure() -> None:
    subtask_state.HeapBackend = PartOfOne  # type: ignore[assignment, misc]
    level.backend_of = PartOfOne
    cells._FIRST_ROOM = cells._LEAST_ROOM = 3
    cells._OBJECT_BYTES = 1 << 30
    cells._PIECE_CELLS = 2
    entry_cells._SORTED_AT_ONCE = 3
