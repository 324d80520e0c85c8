"""Where a subtask's working state lives: in memory, or in RocksDB on the worker's disk.

What is durable are the files of checkpoints in both cases; this is the copy a worker works on.
"""

from __future__ import annotations

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import InvalidArgument, Unsupported
from headrace.origin import calling_origin

HEAP = "hashmap"
ROCKSDB = "rocksdb"
SETTING = "state_backend"
"""The name under which a plan's settings hold a BackendChoice."""
DEFAULT_MEMORY = 64 * 1024 * 1024
LEAST_MEMORY = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """Which backend a job asks for, and what it may use."""

    type: str = HEAP
    memory: int = DEFAULT_MEMORY
    """Bytes a subtask may use for RocksDB and for the entries it keeps as Python objects."""
    folders: tuple[str, ...] = ()
    """Where RocksDB may put its files; none means Spark's local folders."""

    def check(self) -> BackendChoice:
        """Refuse what cannot be had, before anything runs."""
        if self.type not in (HEAP, ROCKSDB):
            raise InvalidArgument(
                f"there is no state backend {self.type!r}", origin=calling_origin(),
                hint=f"state.backend.type is {HEAP!r} or {ROCKSDB!r}.",
            )  # fmt: skip
        if self.type == ROCKSDB and self.memory < LEAST_MEMORY:
            raise InvalidArgument(
                f"{self.memory} bytes are too few for RocksDB", origin=calling_origin(),
                hint="Set state.backend.rocksdb.memory.fixed-per-slot to 4mb or more.",
            )  # fmt: skip
        if self.type == ROCKSDB and importlib.util.find_spec("rocksdict") is None:
            raise Unsupported(
                "the state backend 'rocksdb' needs the package rocksdict, which is not installed",
                origin=calling_origin(),
                hint="Run `pip install rocksdict` here and on the workers, or use 'hashmap'.",
            )
        return self


class Backend(ABC):
    """Gives tables the mappings they keep their entries in."""

    @abstractmethod
    def mapping(self, kind: str, what: str) -> Any:
        """An empty mapping for a table of a kind; `what` names the state in errors."""

    def close(self) -> None:
        """Give back what the mappings hold; none of them is used afterwards."""


class HeapBackend(Backend):
    """Entries are Python objects in dictionaries."""

    def mapping(self, kind: str, what: str) -> dict[Any, Any]:
        return {}


def backend_of(settings: Mapping[str, Any]) -> Backend:
    """The backend that a plan's settings ask for."""
    choice: BackendChoice | None = settings.get(SETTING)
    if choice is None or choice.type == HEAP:
        return HeapBackend()
    choice.check()
    from headrace.runtime.backends.rocksdb import RocksBackend

    return RocksBackend(choice)
