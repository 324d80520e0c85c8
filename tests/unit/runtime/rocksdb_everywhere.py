"""A pytest plugin: every task keeps its keyed state in RocksDB, with hardly any cache."""

from __future__ import annotations

from headrace.runtime import subtask_state
from headrace.runtime.backends import BackendChoice, cells, entry_cells
from headrace.runtime.backends.rocksdb import RocksBackend
from headrace.runtime.flow import level


def pytest_configure() -> None:
    def backend(*_: object) -> RocksBackend:
        return RocksBackend(BackendChoice("rocksdb", memory=4 << 20))

    subtask_state.HeapBackend = backend  # type: ignore[assignment, misc]
    level.backend_of = backend
    cells._FIRST_ROOM = cells._LEAST_ROOM = 3
    cells._OBJECT_BYTES = 1 << 30
    cells._PIECE_CELLS = 2
    entry_cells._SORTED_AT_ONCE = 3
