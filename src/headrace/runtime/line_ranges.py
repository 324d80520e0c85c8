"""Lines of local files, read by byte range in the worker.

Going through Spark's text reader, every line is a row that the JVM makes, copies to Arrow and hands
over. A worker that opens the file itself splits megabytes into lines in one C call. Spark still
decides which task reads which range; only files it alone can open go through its own reader.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

BLOCK = 1 << 20
LARGEST_RANGE = 64 << 20
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


def ranges_of(files: list[Path], parallelism: int) -> list[bytes]:
    """The files cut into about as many ranges as there are tasks, pickled."""
    sizes = [(str(file.resolve()), file.stat().st_size) for file in files]
    total = sum(size for _, size in sizes)
    step = LARGEST_RANGE
    if parallelism > 1:
        step = max(BLOCK, min(LARGEST_RANGE, -(-total // parallelism)))
    return [
        pickle.dumps((name, start, min(start + step, size)))
        for name, size in sizes
        for start in range(0, size, step)
    ]


def read_range(blob: bytes) -> Iterator[list[str]]:
    """The lines that start in a range, some at a time."""
    name, start, end = pickle.loads(blob)
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
