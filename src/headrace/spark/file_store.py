"""Small files that must be whole or not there, on this machine or on any Hadoop file system."""

from __future__ import annotations

import os
import shutil
import uuid
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

_TRIES = 3


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
    def write(self, name: str, content: bytes) -> None:
        """Make the file hold this; whoever reads it sees all of it or what was there before."""

    @abstractmethod
    def exists(self, name: str = "") -> bool: ...

    @abstractmethod
    def names(self, folder: str = "") -> list[str]:
        """What is in a folder, in order of name; nothing if there is no such folder."""

    @abstractmethod
    def size(self, name: str) -> int: ...

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

    def write(self, name: str, content: bytes) -> None:
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}")
        try:
            with unfinished.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(target)
            _sync_folder(target.parent)
        finally:
            unfinished.unlink(missing_ok=True)

    def exists(self, name: str = "") -> bool:
        return (self.path / name).exists()

    def names(self, folder: str = "") -> list[str]:
        place = self.path / folder
        return sorted(entry.name for entry in place.iterdir()) if place.is_dir() else []

    def size(self, name: str) -> int:
        return (self.path / name).stat().st_size

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
        return self._path("").getFileSystem(self._configuration())

    def _configuration(self) -> Any:
        return self._spark._jsparkSession.sessionState().newHadoopConf()

    def child(self, name: str) -> HadoopStore:
        return HadoopStore(self._spark, f"{self.uri}/{name}")

    def read(self, name: str) -> bytes:
        path = self._path(name)
        files = self._files()
        if not files.exists(path):
            raise FileNotFoundError(f"{self.uri}/{name}")
        stream = files.open(path)
        try:
            jvm: Any = self._spark._jvm
            return bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, name: str, content: bytes) -> None:
        target = self._path(name)
        files = self._files()
        unfinished = self._hadoop.Path(
            target.getParent(), f".{target.getName()}.{uuid.uuid4().hex[:8]}"
        )
        stream = files.create(unfinished, True)
        try:
            stream.write(bytearray(content))
            stream.hsync()
        finally:
            stream.close()
        gateway: Any = self._spark.sparkContext._gateway
        overwrite = gateway.new_array(getattr(self._hadoop, "Options$Rename"), 1)
        overwrite[0] = getattr(self._hadoop, "Options$Rename").OVERWRITE
        context = self._hadoop.FileContext.getFileContext(target.toUri(), self._configuration())
        context.rename(unfinished, target, overwrite)

    def exists(self, name: str = "") -> bool:
        return bool(self._files().exists(self._path(name)))

    def names(self, folder: str = "") -> list[str]:
        files, path = self._files(), self._path(folder)
        if not files.exists(path):
            return []
        return sorted(entry.getPath().getName() for entry in files.listStatus(path))

    def size(self, name: str) -> int:
        return int(self._files().getFileStatus(self._path(name)).getLen())

    def delete(self, name: str = "") -> None:
        self._files().delete(self._path(name), True)


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
