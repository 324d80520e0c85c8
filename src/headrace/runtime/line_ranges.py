"""Lines of local files, read by byte range in the worker.

Going through Spark's text reader, every line is a row that the JVM makes, copies to Arrow and hands
over. A worker that opens the file itself splits megabytes into lines in one C call. Spark still
decides which task reads which range; only files it alone can open go through its own reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader
from headrace.core.user_code import apply_all

BLOCK = 1 << 20
LARGEST_RANGE = 64 << 20
SAMPLE = 64 << 10
_PACKED = {".bz2", ".deflate", ".gz", ".lz4", ".snappy", ".xz", ".zst"}

Range = tuple[str, int, int]
"""A file, and the bytes in which the lines of this range start."""


def local_files(paths: tuple[str, ...]) -> list[Path] | None:
    """The files below local paths, or None when Spark has to find or unpack them."""
    files: list[Path] = []
    for path in paths:
        local = Path(path.removeprefix("file://"))
        if "://" in str(local) or any(mark in path for mark in "*?[{") or not local.exists():
            return None
        found = sorted(local.rglob("*")) if local.is_dir() else [local]
        files += [file for file in found if file.is_file() and not _hidden(file, local)]
    return None if any(file.suffix in _PACKED for file in files) else files


def _hidden(file: Path, below: Path) -> bool:
    parts = file.relative_to(below).parts
    return any(part.startswith((".", "_")) for part in parts)


def ranges_of(files: list[Path], parallelism: int) -> list[Range]:
    """The files cut into about as many ranges as there are tasks."""
    sizes = [(str(file.resolve()), file.stat().st_size) for file in files]
    total = sum(size for _, size in sizes)
    step = LARGEST_RANGE
    if parallelism > 1:
        step = max(BLOCK, min(LARGEST_RANGE, -(-total // parallelism)))
    return [
        (name, start, min(start + step, size))
        for name, size in sizes
        for start in range(0, size, step)
    ]


def read_range(name: str, start: int, end: int) -> Iterator[list[str]]:
    """The lines that start in a range, some at a time."""
    with Path(name).open("rb") as file:
        if start:
            # The line that the byte before belongs to was started by somebody else.
            file.seek(start - 1)
            file.readline()
        while (at := file.tell()) < end:
            # No further than the range's end, then on to the end of that line.
            data = file.read(min(BLOCK, end - at))
            if not data.endswith(b"\n"):
                data += file.readline()
            yield _lines(data)


def _lines(data: bytes) -> list[str]:
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = data.decode("utf-8", "replace").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def bytes_per_line(name: str) -> float:
    """About how long the lines of a file are, judging by the first ones."""
    with Path(name).open("rb") as file:
        sample = file.read(SAMPLE)
    return max(1.0, len(sample) / max(1, sample.count(b"\n")))


class LineFiles(Source[Any]):
    """A fixed set of local files as a source with positions: each range is a split.

    `decode` turns lines into records; of `files_per_batch` new files at most a micro-batch reads.
    """

    splits_end = True

    def __init__(
        self, files: list[Path], parallelism: int, files_per_batch: int | None = None,
        decode: Callable[[list[str]], list[Any]] | None = None,
    ):  # fmt: skip
        self._ranges = [range_ for file in files for range_ in ranges_of([file], parallelism)]
        self._files_per_batch = files_per_batch
        self._parallelism = parallelism
        self._decode = decode

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return _RangeEnumerator(self._ranges, self._files_per_batch, self._parallelism)

    def create_reader(self) -> SplitReader[Any]:
        return _LineReader(self._decode)


class WatchedLines(Source[Any]):
    """Files of a folder as they come, each a split; one that is there is whole."""

    splits_end = True

    def __init__(
        self,
        path: str,
        decode: Callable[[list[str]], list[Any]] | None = None,
        files_per_batch: int | None = None,
    ):
        self._path = path
        self._decode = decode
        self._files_per_batch = files_per_batch

    def create_enumerator(self) -> SplitEnumerator:
        return _NewFiles(self._path, self._files_per_batch)

    def create_reader(self) -> SplitReader[Any]:
        return _LineReader(self._decode)


class _NewFiles(SplitEnumerator):
    """Files in the order in which they were written."""

    def __init__(self, path: str, files_per_batch: int | None = None):
        self._path = path
        self._files = _FewFiles(files_per_batch)

    def splits(self) -> list[Split]:
        self._files.begin_batch()
        found = [(file.stat(), str(file.resolve())) for file in local_files((self._path,)) or ()]
        found.sort(key=lambda each: (each[0].st_mtime_ns, each[1]))
        return [Split(name, [name, 0, facts.st_size]) for facts, name in found]

    def latest_position(self, split: Split, start: Any) -> Any:
        end = max(start, split.info[2])
        return end if start == end or self._files.admits(split.info[0]) else start

    def is_over(self, split: Split, position: Any) -> bool:
        return bool(position >= split.info[2])


class _FewFiles:
    """Lets a micro-batch read no more than so many files."""

    def __init__(self, most: int | None):
        self._most = most
        self._begun: set[str] = set()

    def begin_batch(self) -> None:
        self._begun = set()

    def admits(self, name: str) -> bool:
        if self._most is None or name in self._begun:
            return True
        if len(self._begun) >= self._most:
            return False
        self._begun.add(name)
        return True


class _RangeEnumerator(SplitEnumerator):
    """A position is a byte; the lines that start before it have been read."""

    def __init__(self, ranges: list[Range], files_per_batch: int | None, parallelism: int):
        self._splits = [Split(f"{name}:{start}", [name, start, end]) for name, start, end in ranges]
        self._files = _FewFiles(files_per_batch)
        self._parallelism = parallelism
        self._line_lengths: dict[str, float] = {}

    def splits(self) -> list[Split]:
        self._files.begin_batch()  # asked once for each micro-batch
        return self._splits

    def initial_position(self, split: Split) -> Any:
        return split.info[1]

    def latest_position(self, split: Split, start: Any) -> Any:
        name, _, end = split.info
        return end if start < end and self._files.admits(name) else start

    def is_at_end(self, split: Split, position: Any) -> bool:
        return bool(position >= split.info[2])

    def records_between(self, split: Split, start: int, end: int) -> int:
        return max(1, round((end - start) / self._line_length(split)))

    def position_after(self, split: Split, start: int, end: int, records: int) -> int:
        return min(end, start + max(1, round(records * self._line_length(split))))

    def cuts(self, split: Split, start: int, end: int) -> list[int]:
        if [start, end] == split.info[1:]:
            return []  # a whole range is one task's work already
        step = max(SAMPLE, -(-(end - start) // self._parallelism))
        return list(range(start + step, end, step))

    def _line_length(self, split: Split) -> float:
        name: str = split.info[0]
        if name not in self._line_lengths:
            self._line_lengths[name] = bytes_per_line(name)
        return self._line_lengths[name]


class _LineReader(SplitReader[Any]):
    def __init__(self, decode: Callable[[list[str]], list[Any]] | None):
        self._decode = decode

    def read(self, split: Split, start: Any, end: Any) -> Iterator[Any]:
        return (record for part in self.read_lists(split, start, end) for record in part)

    def read_lists(self, split: Split, start: Any, end: Any) -> Iterator[list[Any]]:
        for lines in read_range(split.info[0], start, end):
            yield lines if self._decode is None else decoded(self._decode, lines)


def decoded(decode: Callable[[list[str]], list[Any]], lines: list[str]) -> list[Any]:
    """The records of some lines; a failure names the line."""
    try:
        return decode(lines)
    except Exception:
        # Once more, line by line, to find the one that cannot be read.
        return [record for part in apply_all(lambda line: decode([line]), lines, "reading a line")
                for record in part]  # fmt: skip
