"""Changes of files that survive a power cut."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["UNFINISHED", "sync_folders", "write_whole"]

UNFINISHED = ".unfinished"


def sync_folders(folders: Iterable[Path]) -> None:
    """Names that were given in a folder last once the folder is on disk."""
    for folder in set(folders):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_whole(path: Path, content: bytes) -> None:
    """A file that is there with all its content or not at all."""
    unfinished = path.with_name(path.name + UNFINISHED)
    with unfinished.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    sync_folders([path.parent])
