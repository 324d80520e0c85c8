"""RocksDB as the working copy of a subtask's keyed state."""

from __future__ import annotations

import ctypes
import os
import resource
import weakref
from collections.abc import Callable, Iterator
from struct import Struct
from typing import TYPE_CHECKING, Any

from headrace.errors import StateAccessError
from headrace.runtime.backends import Backend, BackendChoice
from headrace.runtime.backends.cells import Cells
from headrace.runtime.backends.entry_cells import EntryCells
from headrace.runtime.backends.mappings import DiskMapping, FlatMapping, NestedMapping
from headrace.runtime.backends.work_folders import WorkFolder

if TYPE_CHECKING:
    from rocksdict import Options, Rdict

_TABLE = Struct(">I")
_M_ARENA_MAX = -8


class RocksBackend(Backend):
    """Keyed state in one RocksDB per subtask; half of the memory is for Python objects."""

    def __init__(self, choice: BackendChoice):
        self._objects = choice.memory // 2
        self._store = RocksStore(choice)
        self._tables = 0

    def mapping(self, kind: str, what: str) -> DiskMapping:
        if kind == "map":
            return NestedMapping(self._cells(Cells, what), self._cells(EntryCells, what))
        return FlatMapping(self._cells(Cells, what))

    def _cells(self, kind: type[Any], what: str) -> Any:
        self._tables += 1
        return kind(self._store, _TABLE.pack(self._tables), self._share, what)

    def _share(self) -> int:
        return self._objects // self._tables

    def close(self) -> None:
        self._store.close()


class RocksStore:
    """Bytes by address, on disk. Nothing is opened before something is written."""

    def __init__(self, choice: BackendChoice):
        self._choice = choice
        self._opened: Rdict | None = None
        self._close: Callable[[], Any] | None = None

    def _db(self) -> Rdict:
        if self._opened is None:
            if self._close is not None:
                raise StateAccessError("state was used after its task had been closed")
            from rocksdict import Rdict, WriteOptions

            _spare_address_space()
            folder = WorkFolder(self._choice.folders)
            self._opened = Rdict(str(folder.path / "db"), _options(self._choice.memory // 2))
            # What is lost with the process is read again from the files of the last checkpoint.
            writing: Any = WriteOptions()
            writing.disable_wal = True
            self._opened.set_write_options(writing)
            self._close = weakref.finalize(self, _close, self._opened, folder, os.getpid())
        return self._opened

    def get(self, address: bytes) -> bytes | None:
        return self._db().get(address)

    def write(self, puts: list[tuple[bytes, bytes]], deletes: list[bytes]) -> None:
        from rocksdict import WriteBatch

        batch = WriteBatch(raw_mode=True)
        for address, raw in puts:
            batch.put(address, raw)
        for address in deletes:
            batch.delete(address)
        self._db().write(batch)

    def items(self, prefix: bytes, after: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """What lies below a prefix, in order; `after` an address, if one is given."""
        start = prefix if after is None else after + b"\0"
        for address, raw in self._db().items(from_key=start):
            if not address.startswith(prefix):  # type: ignore[union-attr, arg-type]
                return
            yield address, raw  # type: ignore[misc]

    def remove_all(self, prefix: bytes) -> None:
        (number,) = _TABLE.unpack(prefix)
        self._db().delete_range(prefix, _TABLE.pack(number + 1))

    def close(self) -> None:
        if self._close is not None:
            self._close()
            self._opened = None


def _close(db: Rdict, folder: WorkFolder, owner: int) -> None:
    if os.getpid() == owner:
        db.close()
    folder.close()


def _spare_address_space() -> None:
    """Let RocksDB's threads share one arena of the C library where address space is limited, as
    by `spark.executor.pyspark.memory`: otherwise each of them reserves 64 MB for itself."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_M_ARENA_MAX, 1)


def _options(memory: int) -> Options:
    """Half of the memory for what is being written, half for blocks that were read."""
    from rocksdict import BlockBasedIndexType, BlockBasedOptions, Cache, DBCompressionType, Options

    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(memory // 4)
    options.set_max_write_buffer_number(2)
    options.set_compression_type(DBCompressionType.lz4())
    # A worker's address space may be limited: no mapped files, few threads, few open files.
    options.set_allow_mmap_reads(False)
    options.set_max_background_jobs(2)
    options.set_max_file_opening_threads(1)
    options.set_max_open_files(256)
    options.set_keep_log_file_num(1)
    options.set_stats_dump_period_sec(0)
    options.set_stats_persist_period_sec(0)
    blocks = BlockBasedOptions()
    blocks.set_block_cache(Cache(memory // 2))
    blocks.set_bloom_filter(10, False)
    # Indexes and filters count as blocks, too, in parts that are small against the cache.
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_index_type(BlockBasedIndexType.two_level_index_search())
    blocks.set_partition_filters(True)
    blocks.set_pin_top_level_index_and_filter(True)
    blocks.set_format_version(5)
    options.set_block_based_table_factory(blocks)
    return options
