"""Worker processes that keep nothing between micro-batches.

A worker keeps the state of its slots and reads from Spark's state store only what it missed. Where
it forgets them, every micro-batch begins with state as a new process would find it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headrace.spark import processor


class Forgetful:
    """As long as its file is there, workers that opened it forget the state of their slots."""

    def __init__(self, mark: Path):
        self._mark = mark

    def begin(self) -> None:
        self._mark.touch()

    def end(self) -> int:
        """How often a slot's state was forgotten."""
        count = self._mark.stat().st_size
        self._mark.unlink()
        return count

    def open_in_worker(self) -> None:
        """To be called by a function of the job when it is opened."""
        kept = processor._REPLICAS
        if not isinstance(kept, _NothingKept) or kept.mark != self._mark:
            processor._REPLICAS = _NothingKept(self._mark, kept)


class _NothingKept(dict[Any, Any]):
    """Takes the place of what a worker remembers."""

    def __init__(self, mark: Path, kept: dict[Any, Any]):
        super().__init__(kept)
        self.mark = mark

    def __setitem__(self, slot: Any, replica: Any) -> None:
        if not self.mark.exists():
            super().__setitem__(slot, replica)
            return
        _, task = replica
        task.close()
        with self.mark.open("a") as counted:
            counted.write(".")
