"""The part files of one subtask and micro-batch: written hidden, then renamed.

.part-<uid>-<batch>-<n>.inprogress.<attempt>   while the batch runs
part-<uid>-<batch>-<n>                         once the batch is committed
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from headrace.connectors.output_files import BucketAssigner
from headrace.core.sink import Committer, SinkWriter
from headrace.errors import InvalidArgument, JobFailed, TypeMismatch

__all__ = ["PartFileCommitter", "PartFileWriter", "PartNames"]

BUFFER_BYTES = 1 << 18

Committable = tuple[str, str]
"""The path a part was written to, and the one it gets."""


@dataclass(frozen=True, slots=True)
class PartNames:
    """Names that a repeated batch gives again and no other batch, subtask or run gives."""

    prefix: str
    uid: str
    batch_id: int
    suffix: str

    def name(self, number: int) -> str:
        return f"{self.prefix}-{self.uid}-{self.batch_id}-{number}{self.suffix}"


@dataclass(slots=True)
class _Part:
    file: BinaryIO
    hidden: Path
    final: Path
    size: int = 0


class PartFileWriter(SinkWriter[Any]):
    """Writes lines to one open part per bucket."""

    def __init__(
        self,
        base_path: Path,
        encode: Callable[[Any], bytes],
        assigner: BucketAssigner,
        part_size: int | None,
        names: PartNames,
    ):
        self._base_path = base_path
        self._encode = encode
        self._assigner = assigner
        self._part_size = part_size
        self._names = names
        self._attempt = uuid.uuid4().hex[:12]
        self._open: dict[str, _Part] = {}
        self._written: list[Committable] = []
        self._counts: dict[str, int] = {}

    def write(self, value: Any, timestamp: int | None) -> None:
        line = self._encode(value)
        bucket = self._assigner.bucket_id(value, timestamp)
        part = self._open.get(bucket)
        if part is None:
            part = self._start(bucket)
        elif self._part_size is not None and part.size >= self._part_size:
            self._finish(self._open.pop(bucket))
            part = self._start(bucket)
        part.file.write(line)
        part.size += len(line)

    def prepare_commit(self) -> list[Any]:
        while self._open:
            self._finish(self._open.popitem()[1])
        prepared, self._written = self._written, []
        return prepared

    def close(self) -> None:
        """What was not prepared belongs to a failed attempt: remove it."""
        for part in self._open.values():
            part.file.close()
            part.hidden.unlink(missing_ok=True)
        for hidden, _ in self._written:
            Path(hidden).unlink(missing_ok=True)
        self._open.clear()
        self._written.clear()

    def _start(self, bucket: str) -> _Part:
        folder = _bucket_folder(self._base_path, bucket)
        number = self._counts.get(bucket, 0)
        self._counts[bucket] = number + 1
        name = self._names.name(number)
        hidden = folder / f".{name}.inprogress.{self._attempt}"
        part = _Part(hidden.open("wb", BUFFER_BYTES), hidden, folder / name)
        self._open[bucket] = part
        return part

    def _finish(self, part: _Part) -> None:
        self._written.append((str(part.hidden), str(part.final)))
        with part.file as file:
            file.flush()
            os.fsync(file.fileno())


class PartFileCommitter(Committer[Committable]):
    """Gives prepared parts their names; a second time changes nothing."""

    def commit(self, committables: list[Committable]) -> None:
        folders = set()
        for hidden, final in committables:
            try:
                Path(hidden).replace(final)
            except FileNotFoundError:
                if not Path(final).exists():
                    raise JobFailed(
                        f"the part file {final} is lost: neither it nor {hidden} exists",
                        hint="Was the output folder changed, or is it not shared by all machines?",
                    ) from None
            folders.add(Path(final).parent)
        for folder in folders:
            _sync_folder(folder)


def _bucket_folder(base_path: Path, bucket: str) -> Path:
    if not isinstance(bucket, str):
        raise TypeMismatch(f"a bucket id must be a string, not {bucket!r}")
    if bucket.startswith("/") or ".." in bucket.split("/"):
        raise InvalidArgument(
            f"the bucket id {bucket!r} leads out of the base path {base_path}",
            hint="Return a relative folder from bucket_id().",
        )
    folder = base_path / bucket
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InvalidArgument(
            f"the file sink cannot write to {folder}: it, or a folder above it, is a file",
            hint="Choose a base path that is a folder.",
        ) from None
    return folder


def _sync_folder(folder: Path) -> None:
    """A rename survives a power cut once its folder is on disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
