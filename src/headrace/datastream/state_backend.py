"""Where the working state of a job lives."""

from __future__ import annotations

import os
import re
from enum import Enum
from typing import Any, NoReturn
from urllib.parse import urlsplit

from headrace.core.config import Configuration
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.origin import calling_origin
from headrace.runtime.backends import DEFAULT_MEMORY, HEAP, ROCKSDB, BackendChoice

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "HashMapStateBackend",
    "PredefinedOptions",
    "StateBackend",
]

_TYPE = "state.backend.type"
_OLD_TYPE = "state.backend"
_FOLDERS = "state.backend.rocksdb.localdir"
_MEMORY = "state.backend.rocksdb.memory.fixed-per-slot"
_SIZE = re.compile(r"\s*(\d+)\s*([a-z]*)\s*", re.IGNORECASE)
_UNITS = {"": 0, "b": 0, "bytes": 0, "k": 1, "kb": 1, "m": 2, "mb": 2, "g": 3, "gb": 3}


class PredefinedOptions(Enum):
    """Settings of RocksDB for kinds of disks."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class StateBackend:
    """Base of the places working state can live in. Results never depend on the place."""

    def _configure(self, configuration: Configuration) -> None:
        """Say in a job's settings that it uses this backend."""
        raise Unsupported(
            f"{type(self).__name__} is no state backend that headrace has",
            origin=calling_origin(),
            hint="Use HashMapStateBackend() or EmbeddedRocksDBStateBackend().",
        )

    def __repr__(self) -> str:
        return str(self)


class HashMapStateBackend(StateBackend):
    """Working state as Python objects in the memory of the workers."""

    def _configure(self, configuration: Configuration) -> None:
        configuration.set_string(_TYPE, HEAP)

    def __str__(self) -> str:
        return "HashMapStateBackend"


class EmbeddedRocksDBStateBackend(StateBackend):
    """Working state on the local disks of the workers; it may be larger than memory."""

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        if enable_incremental_checkpointing not in (None, True, False):
            raise TypeMismatch(
                "enable_incremental_checkpointing is True, False or None, not "
                f"{enable_incremental_checkpointing!r}",
                origin=calling_origin(),
            )
        self._incremental = enable_incremental_checkpointing
        self._paths: tuple[str, ...] = ()
        self._predefined = PredefinedOptions.DEFAULT
        self._transfer_threads = 4

    def _configure(self, configuration: Configuration) -> None:
        configuration.set_string(_TYPE, ROCKSDB)
        if self._paths:
            configuration.set_string(_FOLDERS, ",".join(self._paths))

    def set_db_storage_paths(self, *paths: str) -> None:
        """Local directories for the working state; none restores the default."""
        self._paths = tuple(_local(path) for path in paths)

    def get_db_storage_paths(self) -> list[str]:
        """The directories that were set; none means Spark's own local directories."""
        return list(self._paths)

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Whether it was asked for; what is written is always only what changed."""
        return bool(self._incremental)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Kept but without effect: RocksDB is set up by the memory it may use."""
        if not isinstance(options, PredefinedOptions):
            raise TypeMismatch(
                f"PredefinedOptions were expected, not {options!r}",
                origin=calling_origin(),
                hint="Write PredefinedOptions.FLASH_SSD_OPTIMIZED, for example.",
            )
        self._predefined = options

    def get_predefined_options(self) -> PredefinedOptions:
        return self._predefined

    def set_options(self, options_factory_class_name: str) -> NoReturn:
        raise Unsupported(
            f"{options_factory_class_name!r} names a Java class, and there is no Flink JVM here",
            origin=calling_origin(),
            hint="Set state.backend.rocksdb.memory.fixed-per-slot, the memory of a subtask.",
        )

    def get_options(self) -> str | None:
        """Always None: there is no options factory."""
        return None

    def get_number_of_transfer_threads(self) -> int:
        return self._transfer_threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Kept but without effect: a task writes its files one after the other."""
        threads: Any = number_of_transfering_threads
        if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
            raise InvalidArgument(
                f"the number of transfer threads must be at least 1, not {threads!r}",
                origin=calling_origin(),
            )
        self._transfer_threads = threads

    def __str__(self) -> str:
        return (
            f"EmbeddedRocksDBStateBackend{{localRocksDbDirectories={list(self._paths)}, "
            f"enableIncrementalCheckpointing={self._incremental}, "
            f"numberOfTransferThreads={self._transfer_threads}}}"
        )


class CustomStateBackend(StateBackend):
    """A backend written in Java, which cannot be used without Flink's JVM."""

    def __init__(self, j_custom_state_backend: object) -> None:
        raise Unsupported(
            "a CustomStateBackend wraps a Java object, and there is no Flink JVM here",
            origin=calling_origin(),
            hint="Use HashMapStateBackend or EmbeddedRocksDBStateBackend.",
        )


def backend_choice(configuration: Configuration) -> BackendChoice:
    """The backend that a job's settings ask for; what cannot be had is refused here."""
    old = configuration.get_string(_OLD_TYPE, HEAP)
    folders = configuration.get_string(_FOLDERS, "")
    separators = f"[,{os.pathsep}]" if "://" not in folders else ","
    return BackendChoice(
        type=configuration.get_string(_TYPE, old).strip().lower(),
        memory=_size(configuration.get_string(_MEMORY, str(DEFAULT_MEMORY))),
        folders=tuple(_local(part.strip()) for part in re.split(separators, folders) if part),
    ).check()


def _size(text: str) -> int:
    """A number of bytes, as Flink's settings write it: 64mb, 1 gb, 1048576."""
    found = _SIZE.fullmatch(text)
    if found is None or found[2].lower() not in _UNITS:
        raise InvalidArgument(
            f"{text!r} is no memory size, as {_MEMORY} needs one", origin=calling_origin(),
            hint="Write 64mb, 1gb or a number of bytes.",
        )  # fmt: skip
    return int(found[1]) << 10 * _UNITS[found[2].lower()]


def _local(path: Any) -> str:
    """An absolute path, with or without `file://`."""
    parts = urlsplit(path) if isinstance(path, str) else None
    if parts is None or parts.scheme not in ("", "file") or not parts.path.startswith("/"):
        raise InvalidArgument(
            f"{path!r} is not an absolute path of the local file system",
            origin=calling_origin(),
            hint='Write "/data/state" or "file:///data/state", for example.',
        )
    return os.path.normpath(parts.path)
