"""Files read from their start to their end: each one is a split."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

from headrace.connectors.local_paths import local_path
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader
from headrace.core.types import TypeInformation
from headrace.errors import SourceUnavailable, TypeMismatch
from headrace.formats.stream_format import BinaryFormat, FileFormat
from headrace.origin import Origin
from headrace.runtime.line_ranges import bytes_per_line

__all__ = ["WholeFiles"]


class WholeFiles(Source[Any]):
    """The files at and below some paths; those whose names begin with . or _ are passed over."""

    splits_end = True

    def __init__(
        self,
        file_format: FileFormat | BinaryFormat,
        paths: tuple[str, ...],
        watch: bool,
        origin: Origin | None,
    ):
        self._format = file_format
        self._paths = [local_path(path, "the path") for path in paths]
        self._watch = watch
        self._origin = origin

    def create_enumerator(self) -> SplitEnumerator:
        return _FileLister(self._paths, self._origin, isinstance(self._format, FileFormat))

    def create_reader(self) -> SplitReader[Any]:
        return _FileReader(self._format)

    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED if self._watch else Boundedness.BOUNDED

    def produced_type(self) -> TypeInformation | None:
        return self._format.produced_type()


class _FileLister(SplitEnumerator):
    """A position is the number of bytes read: none, or those the file had when it was found.

    What is added to a file later is not read; files should be moved into place when complete.
    """

    def __init__(self, paths: list[Path], origin: Origin | None, of_lines: bool = True):
        self._paths = paths
        self._of_lines = of_lines
        self._origin = origin
        self._line_length: float | None = None

    def splits(self) -> list[Split]:
        found: dict[str, None] = {}
        for path in self._paths:
            if not path.exists():
                raise SourceUnavailable(
                    f"there is no file or folder {path}",
                    origin=self._origin,
                    hint="Check the path; a relative one starts at the folder you run in.",
                )
            files = (path,) if path.is_file() else visible_files(path)
            found.update(dict.fromkeys(map(str, files)))
        return [Split(path) for path in found]

    def latest_position(self, split: Split, start: int) -> int:
        try:
            return start or Path(split.id).stat().st_size
        except FileNotFoundError:
            return start  # removed since it was listed

    def is_over(self, split: Split, position: int) -> bool:
        return position > 0

    def records_between(self, split: Split, start: int, end: int) -> int | None:
        """Its lines, at a guess: files are never cut, but not all are read at once."""
        if not self._of_lines or Path(split.id).suffix.lower() in _UNPACK:
            return None
        if self._line_length is None:
            try:
                self._line_length = bytes_per_line(split.id)  # those of one source are alike
            except FileNotFoundError:
                return None
        return max(1, round((end - start) / self._line_length))


class _FileReader(SplitReader[Any]):
    def __init__(self, file_format: FileFormat | BinaryFormat):
        self._format = file_format

    def read(self, split: Split, start: int, end: int) -> Iterable[Any]:
        if isinstance(self._format, BinaryFormat):
            with Path(split.id).open("rb") as binary:
                yield from self._format.read(binary, split.id)
            return
        charset = self._format.charset
        with open_text(Path(split.id), charset, self._format.malformed) as file:
            try:
                yield from self._format.read(file, split.id)
            except UnicodeDecodeError as error:
                wrong = error.object[error.start : error.start + 1]
                raise TypeMismatch(
                    f"{split.id} is not text in {charset}: there is a byte {wrong!r} in it",
                    hint="Convert the file to UTF-8.",
                ) from None


def visible_files(folder: Path) -> Iterator[Path]:
    """The files below a folder in the order of their names."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "_")):
            continue
        if path.is_dir():
            yield from visible_files(path)
        else:
            yield path


def _inflated(path: Path) -> BinaryIO:
    return io.BytesIO(zlib.decompress(path.read_bytes()))


_UNPACK: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".gzip": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".deflate": _inflated,
}


def open_text(path: Path, charset: str, malformed: str) -> IO[str]:
    """The text of a file, unpacked if its name says that it is packed."""
    unpack = _UNPACK.get(path.suffix.lower())
    file = path.open("rb") if unpack is None else unpack(path)
    # The CSV reader must see line ends as they are: inside quotes they are data.
    return io.TextIOWrapper(file, charset, malformed, newline="")
