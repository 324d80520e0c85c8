"""The files of a job's state as its tasks see them: in a mounted folder, or through the driver.

Python workers write to folders only; other file systems are known to Spark's JVM, which only the
driver speaks to. What a task writes there goes through the driver piece by piece, in a thread for
each task, and is durable when the last piece is answered.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any, Protocol

from headrace.errors import JobFailed
from headrace.runtime.flow.messages import Piece, ReadPiece, Refused, WritePiece
from headrace.spark.failures import from_spark
from headrace.spark.file_store import FileStore, LocalStore, NewFile
from headrace.spark.flow.channel import Address, Inquiries

_PIECE = 4 * 1024 * 1024
"""Bytes that are on their way at once."""
_NAME = re.compile(r"\d+-\d+-\d+-\d+(-[\w-]+)?", re.ASCII)
"""Attempt, task, checkpoint and what else tells a file of state from others."""
_LONGEST_REASON = 400


class StateFiles(Protocol):
    """The folder of a job's state."""

    def read(self, name: str) -> bytes:
        """Raises FileNotFoundError if there is no such file."""

    def write(self, name: str, content: bytes) -> None:
        """Make a file durable."""


def mounted_at(state: FileStore) -> Path | None:
    """Where tasks find a folder themselves; None if only the driver reaches it."""
    return state.path if isinstance(state, LocalStore) else None


class DriverFiles:
    """Files that only the driver reaches."""

    def __init__(self, address: Address):
        self._inquiries = Inquiries(address)

    def state_files(self, mounted: Path | None) -> StateFiles:
        """The folder of the job's state: itself where it is mounted."""
        return self if mounted is None else LocalStore(mounted)

    def write(self, name: str, content: bytes) -> None:
        for start in range(0, max(1, len(content)), _PIECE):
            end = start + _PIECE
            self._ask(WritePiece(name, content[start:end], is_last=end >= len(content)))

    def read(self, name: str) -> bytes:
        found: list[bytes] = []
        while not found or len(found[-1]) == _PIECE:
            found.append(self._ask(ReadPiece(name, len(found) * _PIECE, _PIECE)))
        return b"".join(found)

    def open_saved(self, name: str, size: int) -> io.RawIOBase:
        """A file of the savepoint that the job begins with; only what is read of it travels."""
        return _SavedFile(self, name, size)

    def read_saved(self, name: str, start: int, size: int) -> bytes:
        """At most so many bytes of a file of the savepoint."""
        return self._ask(ReadPiece(name, start, min(size, _PIECE), of_savepoint=True))

    def _ask(self, request: WritePiece | ReadPiece) -> bytes:
        answer = self._inquiries.ask(request)
        if isinstance(answer, Refused):
            if answer.is_missing:
                raise FileNotFoundError(answer.reason)
            raise JobFailed(
                answer.reason,
                hint="Is there space, and may the driver write there? With checkpoints enabled a "
                "job goes on from the last one.",
            )
        assert isinstance(answer, Piece)
        return answer.content

    def close(self) -> None:
        self._inquiries.close()


class _SavedFile(io.RawIOBase):
    """A file of a savepoint, of which any part can be read."""

    def __init__(self, files: DriverFiles, name: str, size: int):
        self._files, self._name, self._size = files, name, size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = begin + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fills the buffer, unless the file ends before."""
        target = memoryview(buffer).cast("B")
        wanted = min(len(target), max(0, self._size - self._at))
        done = 0
        while done < wanted:
            piece = self._files.read_saved(self._name, self._at, wanted - done)
            if not piece:
                break
            target[done : done + len(piece)] = piece
            done += len(piece)
            self._at += len(piece)
        return done


class SavedParts(Protocol):
    """The files of a savepoint."""

    def read_part(self, name: str, start: int, size: int) -> bytes:
        """Raises FileNotFoundError if the savepoint has no such file."""


class FileClerk:
    """Writes and reads for one task what it cannot reach itself."""

    def __init__(self, state: FileStore, savepoint: SavedParts | None = None):
        self._state = state
        self._savepoint = savepoint
        self._name = ""
        self._unfinished: NewFile | None = None

    def answer(self, request: WritePiece | ReadPiece) -> Piece | Refused:
        """What became of a request; nothing is raised, for the task is to hear of it."""
        try:
            if isinstance(request, WritePiece):
                self._write(request)
                return Piece()
            return Piece(self._read(request))
        except Exception as error:
            return self._refusal(request, error)

    def _refusal(self, request: WritePiece | ReadPiece, error: Exception) -> Refused:
        why = from_spark(error).message[:_LONGEST_REASON]
        if isinstance(request, WritePiece):
            self.close()
            return Refused(f"state of the job cannot be written to {self._state.uri}: {why}")
        if isinstance(error, FileNotFoundError):
            return Refused(str(error), is_missing=True)
        return Refused(f"{request.name} cannot be read: {why}")

    def _write(self, piece: WritePiece) -> None:
        if self._unfinished is None or piece.name != self._name:
            self.close()
            self._unfinished = self._state.begin(_checked(piece.name))
            self._name = piece.name
        self._unfinished.add(piece.content)
        if piece.is_last:
            self._unfinished.finish()
            self.close()

    def _read(self, piece: ReadPiece) -> bytes:
        if not piece.of_savepoint:
            return self._state.read_part(_checked(piece.name), piece.start, piece.size)
        if self._savepoint is None:
            raise FileNotFoundError(piece.name)
        return self._savepoint.read_part(piece.name, piece.start, piece.size)

    def close(self) -> None:
        """Forget a file of which not all pieces came."""
        unfinished, self._unfinished = self._unfinished, None
        if unfinished is not None:
            unfinished.discard()


def _checked(name: str) -> str:
    """Refuse what is no name of a file with state, such as a way out of the folder."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no file of state")
    return name
