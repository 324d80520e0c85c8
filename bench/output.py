"""What a job has committed to files, read while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


class Output:
    """A job's output folder, each file of it read once."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._read: set[Path] = set()

    def new_lines(self) -> Iterator[str]:
        """The lines of the files that were not there before."""
        for file in set(self._folder.rglob("part-*")) - self._read:
            self._read.add(file)
            yield from file.read_text().splitlines()
