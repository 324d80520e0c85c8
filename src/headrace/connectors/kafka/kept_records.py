"""Records of a transaction that are kept until it is known to be committed."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from headrace.connectors.durable import sync_folders
from headrace.connectors.kafka.records import KafkaProducerRecord
from headrace.core.operator import TaskInfo
from headrace.errors import JobFailed

__all__ = ["KeptRecords", "forget_kept", "kept_of", "read_kept"]

_AT_ONCE = 4096


def kept_of(task: TaskInfo) -> Path:
    """The folder in which one sink keeps records."""
    return Path(task.kept_folder) / hashlib.sha256(task.uid.encode()).hexdigest()[:16]


class KeptRecords:
    """Records in a file, or in memory where there is no place for one."""

    def __init__(self, path: Path | None):
        self._path = path
        self._file: IO[bytes] | None = None
        self._records: list[tuple[Any, ...]] = []
        self._pieces: list[bytes] = []

    def add(self, records: Iterable[KafkaProducerRecord]) -> None:
        self._records += map(tuple, records)
        if len(self._records) >= _AT_ONCE:
            self._write()

    def _write(self) -> None:
        written = io.BytesIO()
        pickler = pickle.Pickler(written, 5)
        pickler.fast = True  # nothing is there twice that would have to be one afterwards
        pickler.dump(self._records)
        piece, self._records = written.getvalue(), []
        if self._path is None:
            self._pieces.append(piece)
            return
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("wb")
        self._file.write(piece)

    def so_far(self) -> Iterator[KafkaProducerRecord]:
        """What was added up to now; nothing may be added meanwhile."""
        if self._file is not None:
            self._file.flush()
            assert self._path is not None
            yield from read_kept(str(self._path))
        yield from read_kept(b"".join(self._pieces))
        yield from (KafkaProducerRecord(*each) for each in self._records)

    def finish(self) -> str | bytes:
        """Make them durable; the path of the file, or what would be in it."""
        if self._records:
            self._write()
        if self._path is None:
            return b"".join(self._pieces)
        assert self._file is not None
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        sync_folders([self._path.parent])
        return str(self._path)

    def discard(self) -> None:
        if self._file is not None:
            self._file.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def read_kept(kept: str | bytes) -> Iterator[KafkaProducerRecord]:
    """What `finish` has made durable, in the same order."""
    with io.BytesIO(kept) if isinstance(kept, bytes) else _open(Path(kept)) as file:
        while True:
            try:
                records = pickle.load(file)
            except EOFError:
                return
            yield from (KafkaProducerRecord(*each) for each in records)


def _open(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise JobFailed(
            f"records for Kafka that are not committed yet are lost: there is no file {path}",
            hint="Was the checkpoint folder changed, or is it not shared by all machines?",
        ) from None


def forget_kept(kept: str | bytes) -> None:
    """They are committed, or count for nothing."""
    if isinstance(kept, str):
        Path(kept).unlink(missing_ok=True)
