"""Worker processes that keep nothing between micro-batches.

A worker keeps the tasks of its slots and reads only the files it has missed. Where it forgets them,
every micro-batch begins with state as a new process would find it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headrace.spark.flow import round_worker
from tests.conftest import IN_REAL_TIME


class Forgetful:
    """As long as its file is there, workers that opened it forget the state of their slots."""

    def __init__(self, mark: Path):
        self._mark = mark

    def begin(self) -> None:
        self._mark.touch()

    def end(self, *, at_least: int) -> None:
        """Say that a slot's state was forgotten so often; in real time tasks go on and on."""
        count = self._mark.stat().st_size
        self._mark.unlink()
        assert count >= at_least or IN_REAL_TIME

    def open_in_worker(self) -> None:
        """To be called by a function of the job when it is opened."""
        kept = round_worker._KEPT
        if not isinstance(kept, _NothingKept) or kept.mark != self._mark:
            round_worker._KEPT = _NothingKept(self._mark, kept)


class _NothingKept(dict[Any, Any]):
    """Takes the place of what a worker remembers."""

    def __init__(self, mark: Path, kept: dict[Any, Any]):
        super().__init__(kept)
        self.mark = mark

    def __setitem__(self, place: Any, kept: Any) -> None:
        _, task = place
        if task.level == 0 or not self.mark.exists():
            super().__setitem__(place, kept)
            return
        kept.level.close()
        with self.mark.open("a") as counted:
            counted.write(".")
