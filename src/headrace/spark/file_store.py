"""Small files that must be whole or not there, on this machine or on any Hadoop file system."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from headrace.spark.jvm_bytes import read_bytes, write_bytes

_TRIES = 3
_UNFINISHED = re.compile(r"\.(.+)\.[0-9a-f]{8}")


class NewFile(ABC):
    """A file that is written piece by piece, and that nobody sees before it is finished."""

    @abstractmethod
    def add(self, piece: bytes) -> None: ...

    @abstractmethod
    def finish(self) -> None:
        """Make it durable, and show it in place of what was there before."""

    @abstractmethod
    def discard(self) -> None:
        """Remove what is left of it if it was not finished."""


def _unfinished(name: str) -> str:
    return f".{name}.{uuid.uuid4().hex[:8]}"


def finished_name(name: str) -> str | None:
    """What a file was to be called that nobody has finished; None if it is no such file."""
    found = _UNFINISHED.fullmatch(name)
    return None if found is None else found[1]


class FileStore(ABC):
    """A folder. Names may lead into folders below it."""

    uri: str
    """As Spark takes it."""

    @abstractmethod
    def child(self, name: str) -> FileStore:
        """A folder in this one; it need not exist yet."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Raises FileNotFoundError if there is no such file."""

    @abstractmethod
    def read_part(self, name: str, start: int, size: int) -> bytes:
        """So many bytes of a file from some place on; fewer where it ends."""

    @abstractmethod
    def begin(self, name: str) -> NewFile: ...

    def write(self, name: str, content: bytes) -> None:
        """Make the file hold this; whoever reads it sees all of it or what was there before."""
        file = self.begin(name)
        try:
            file.add(content)
            file.finish()
        finally:
            file.discard()

    @abstractmethod
    def exists(self, name: str = "") -> bool: ...

    @abstractmethod
    def names(self, folder: str = "") -> list[str]:
        """What is in a folder, in order of name; nothing if there is no such folder."""

    @abstractmethod
    def sizes(self, folder: str) -> dict[str, int]:
        """How long each file in a folder is, by name; nothing if there is no such folder."""

    @abstractmethod
    def delete(self, name: str = "") -> None:
        """Remove a file or a folder with everything in it, if it is there."""


class LocalStore(FileStore):
    """A folder of this machine, or one that is mounted everywhere."""

    def __init__(self, path: Path):
        self.path = path
        self.uri = str(path)

    def child(self, name: str) -> LocalStore:
        return LocalStore(self.path / name)

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def read_part(self, name: str, start: int, size: int) -> bytes:
        with (self.path / name).open("rb") as file:
            file.seek(start)
            return file.read(size)

    def begin(self, name: str) -> NewFile:
        return _LocalFile(self.path / name)

    def exists(self, name: str = "") -> bool:
        return (self.path / name).exists()

    def names(self, folder: str = "") -> list[str]:
        place = self.path / folder
        return sorted(entry.name for entry in place.iterdir()) if place.is_dir() else []

    def sizes(self, folder: str) -> dict[str, int]:
        place = self.path / folder
        if not place.is_dir():
            return {}
        return {file.name: file.stat().st_size for file in place.iterdir() if file.is_file()}

    def delete(self, name: str = "") -> None:
        target = self.path / name
        if not target.is_dir():
            target.unlink(missing_ok=True)
            return
        for tries_left in reversed(range(_TRIES)):
            try:
                shutil.rmtree(target)
                return
            except OSError:  # Spark clears its own old files away meanwhile
                if not target.exists():
                    return
                if not tries_left:
                    raise


class _LocalFile(NewFile):
    def __init__(self, target: Path):
        self._target = target
        target.parent.mkdir(parents=True, exist_ok=True)
        self._unfinished = target.with_name(_unfinished(target.name))
        self._file = self._unfinished.open("wb")

    def add(self, piece: bytes) -> None:
        self._file.write(piece)

    def finish(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._unfinished.replace(self._target)
        _sync_folder(self._target.parent)

    def discard(self) -> None:
        with suppress(OSError):  # what could not be written cannot be flushed
            self._file.close()
        self._unfinished.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder last: a file may be on disk and its new name not yet."""
    if os.name == "nt":
        return  # folders cannot be opened there
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class HadoopStore(FileStore):
    """A folder of a file system that Spark knows; all is done in its JVM."""

    def __init__(self, spark: SparkSession, uri: str):
        self._spark = spark
        self.uri = uri.rstrip("/")

    @property
    def _hadoop(self) -> Any:
        jvm: Any = self._spark._jvm
        return jvm.org.apache.hadoop.fs

    def _path(self, name: str) -> Any:
        return self._hadoop.Path(f"{self.uri}/{name}" if name else self.uri)

    def _files(self) -> Any:
        return self._path("").getFileSystem(_configuration(self._spark))

    def child(self, name: str) -> HadoopStore:
        return HadoopStore(self._spark, f"{self.uri}/{name}")

    def read(self, name: str) -> bytes:
        return self.read_part(name, 0)

    def read_part(self, name: str, start: int, size: int | None = None) -> bytes:
        path, files = self._path(name), self._files()
        if not files.exists(path):
            raise FileNotFoundError(f"{self.uri}/{name}")
        left = max(0, int(files.getFileStatus(path).getLen()) - start)
        stream = files.open(path)
        try:
            stream.seek(start)
            return read_bytes(self._spark, stream, left if size is None else min(left, size))
        finally:
            stream.close()

    def begin(self, name: str) -> NewFile:
        return _HadoopFile(self._spark, self._files(), self._path(name))

    def exists(self, name: str = "") -> bool:
        return bool(self._files().exists(self._path(name)))

    def names(self, folder: str = "") -> list[str]:
        return sorted(entry.getPath().getName() for entry in self._listed(folder))

    def sizes(self, folder: str) -> dict[str, int]:
        return {
            entry.getPath().getName(): int(entry.getLen())
            for entry in self._listed(folder)
            if entry.isFile()
        }

    def _listed(self, folder: str) -> Any:
        files, path = self._files(), self._path(folder)
        return files.listStatus(path) if files.isDirectory(path) else ()

    def delete(self, name: str = "") -> None:
        self._files().delete(self._path(name), True)


class _HadoopFile(NewFile):
    def __init__(self, spark: SparkSession, files: Any, target: Any):
        self._spark, self._files, self._target = spark, files, target
        jvm: Any = spark._jvm
        self._hadoop = jvm.org.apache.hadoop.fs
        name = _unfinished(target.getName())
        self._unfinished = self._hadoop.Path(target.getParent(), name)
        self._stream = files.create(self._unfinished, True)
        self._finished = False

    def add(self, piece: bytes) -> None:
        write_bytes(self._spark, self._stream, piece)

    def finish(self) -> None:
        self._stream.hsync()
        self._stream.close()
        gateway: Any = self._spark.sparkContext._gateway
        kinds = getattr(self._hadoop, "Options$Rename")
        overwrite = gateway.new_array(kinds, 1)
        overwrite[0] = kinds.OVERWRITE
        where = self._target.toUri()
        context = self._hadoop.FileContext.getFileContext(where, _configuration(self._spark))
        context.rename(self._unfinished, self._target, overwrite)
        self._finished = True

    def discard(self) -> None:
        if not self._finished:
            # Whatever it is now, it was told when the file was written.
            with suppress(Py4JError):
                self._stream.close()
            with suppress(Py4JError):
                self._files.delete(self._unfinished, False)


def _configuration(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState().newHadoopConf()


def file_store(spark: SparkSession, place: str) -> FileStore:
    """The folder a path or an address stands for."""
    path = local_path(place)
    return HadoopStore(spark, place) if path is None else LocalStore(path)


def local_path(place: str) -> Path | None:
    """The folder of this machine that a path or an address stands for; None: Spark must know."""
    if place.startswith("file:"):
        place = "/" + place.removeprefix("file:").lstrip("/")
    if "://" in place or place.startswith("viewfs:"):
        return None
    return Path(place).resolve()
