"""Folders that live as long as the process that made them."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path

_PREFIX = "headrace-state-"
_LOCK = "in-use"
_SWEPT: set[str] = set()
"""Places this process has already looked for leftovers in."""


class WorkFolder:
    """A new folder for working state, removed when it is closed or its process ends.

    The lock on a file in it dies with the process, whatever it died of: a folder whose lock is
    free belongs to nobody any more.
    """

    def __init__(self, places: Sequence[str]):
        place = _place(places)
        _sweep(place)
        self.path, lock = _locked_folder(place)
        self._remove = weakref.finalize(self, _remove, self.path, lock, os.getpid())

    def close(self) -> None:
        self._remove()


def _locked_folder(place: str) -> tuple[Path, int]:
    """A new folder, and the descriptor that holds its lock."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=place))
        lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.fstat(lock).st_nlink:
            return folder, lock
        os.close(lock)  # between the two lines another process took it for somebody's leftover


def _place(places: Sequence[str]) -> str:
    """One of the places that were asked for, else of Spark's, else where the system keeps such."""
    spark = os.environ.get("SPARK_LOCAL_DIRS", "")
    candidates = list(places) or [
        place for place in spark.split(",") if place and Path(place).is_dir()
    ]
    if not candidates:
        return tempfile.gettempdir()
    chosen = candidates[os.getpid() % len(candidates)]  # the workers of a host share the disks
    Path(chosen).mkdir(parents=True, exist_ok=True)
    return chosen


def _remove(folder: Path, lock: int, owner: int) -> None:
    if os.getpid() == owner:  # a process forked from the owner shares nothing but the lock
        shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def _sweep(place: str) -> None:
    if place in _SWEPT:
        return
    _SWEPT.add(place)
    for folder in Path(place).glob(f"{_PREFIX}*"):
        try:
            lock = os.open(folder / _LOCK, os.O_RDWR)
        except OSError:
            continue  # just being made, or somebody else's
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)
