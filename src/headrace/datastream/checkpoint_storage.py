"""Where checkpoints are kept."""

from __future__ import annotations

import posixpath
from typing import Any
from urllib.parse import urlsplit

from headrace.errors import InvalidArgument, Unsupported
from headrace.origin import calling_origin

__all__ = [
    "CheckpointStorage",
    "CustomCheckpointStorage",
    "FileSystemCheckpointStorage",
    "JobManagerCheckpointStorage",
]


class CheckpointStorage:
    """Base of the places checkpoints can be kept in."""


class JobManagerCheckpointStorage(CheckpointStorage):
    """Checkpoints without a place of their own: they live in the job's working directory.

    Flink keeps these in memory; the size limit is carried along and not needed here.
    """

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024

    def __init__(
        self, checkpoint_path: str | None = None, max_state_size: int | None = None
    ) -> None:
        size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size
        self._path = None if checkpoint_path is None else _path(checkpoint_path)
        self._max_state_size = _between("the largest state", size, 1, None)

    def get_checkpoint_path(self) -> str | None:
        return None if self._path is None else _shown(self._path)

    def get_max_state_size(self) -> int:
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        """Where savepoints go by default; it is never set here but when one is triggered."""
        return None

    def __str__(self) -> str:
        where = "" if self._path is None else f"checkpoints: {self._path}, "
        return f"JobManagerCheckpointStorage ({where}maxStateSize: {self._max_state_size})"


class FileSystemCheckpointStorage(CheckpointStorage):
    """Checkpoints in a directory that every machine of the cluster can reach."""

    MAX_FILE_STATE_THRESHOLD = 1024 * 1024

    def __init__(
        self,
        checkpoint_path: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        """The two sizes are carried along: Spark decides how it writes files; -1 is the default."""
        threshold = -1 if file_state_size_threshold is None else file_state_size_threshold
        most = self.MAX_FILE_STATE_THRESHOLD
        self._path = _path(checkpoint_path)
        self._threshold = _between("the file size threshold", threshold, -1, most)
        self._buffer = _between("the write buffer size", write_buffer_size, -1, None)

    def get_checkpoint_path(self) -> str:
        return _shown(self._path)

    def get_savepoint_path(self) -> str | None:
        """Where savepoints go by default; it is never set here but when one is triggered."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """Up to this many bytes Flink keeps state in the checkpoint's own metadata."""
        return 20 * 1024 if self._threshold < 0 else self._threshold

    def get_write_buffer_size(self) -> int:
        return max(4096 if self._buffer < 0 else self._buffer, self.get_min_file_size_threshold())

    def __str__(self) -> str:
        return f"FileSystemCheckpointStorage (checkpoints: {self._path})"


class CustomCheckpointStorage(CheckpointStorage):
    """A storage written in Java, which cannot be used without Flink's JVM."""

    def __init__(self, j_custom_checkpoint_storage: object) -> None:
        raise Unsupported(
            "a CustomCheckpointStorage wraps a Java object, and there is no Flink JVM here",
            origin=calling_origin(),
            hint="Use FileSystemCheckpointStorage with a path Spark can reach.",
        )


def _path(path: str | None) -> str:
    if not isinstance(path, str) or not path:
        raise InvalidArgument(
            f"a checkpoint path is a string that is not empty, not {path!r}",
            origin=calling_origin(),
            hint='For instance FileSystemCheckpointStorage("file:///var/checkpoints").',
        )
    return path


def _shown(path: str) -> str:
    """A path as Flink writes it: `file:/a/b` for `file:///a/./b/`."""
    parts = urlsplit(path)
    scheme = f"{parts.scheme}:" if parts.scheme else ""
    place = f"//{parts.netloc}" if parts.netloc else ""
    return f"{scheme}{place}{posixpath.normpath(parts.path)}"


def _between(what: str, value: Any, least: int, most: int | None) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        limit = f"from {least} up" if most is None else f"from {least} to {most}"
        raise InvalidArgument(
            f"{what} is a number of bytes {limit}, not {value!r}", origin=calling_origin()
        )
    return int(value)
