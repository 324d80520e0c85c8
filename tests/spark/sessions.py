"""The processes of a program that a test has started in a session of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from headrace.core.crash_points import STEPS

_CHANCES = 60

EVERY_STEP = tuple(step for step in STEPS if step != "barrier-overtakes")
"""What each checkpoint comes by, whatever the job does."""

when_asked = pytest.mark.skipif(
    os.environ.get("HEADRACE_KILL_MATRIX") != "full",
    reason="HEADRACE_KILL_MATRIX=full kills at every step, an hour long",
)


def session(number: int) -> list[int]:
    """The processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(ProcessLookupError, PermissionError):
                if os.getsid(int(entry.name)) == number:
                    found.append(int(entry.name))
    return found


def send(number: int, what: signal.Signals) -> None:
    """Send all processes of a session a signal."""
    for pid in session(number):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, what)


def is_stopped(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False


def dies_at(step: str, first: int, mark: Path, chances: int = 1) -> dict[str, str]:
    """What makes a program die with all its processes when it comes by a step, at the checkpoint of
    that number or, with more than one chance, of a later one. `<mark>.<step>@<number>` tells."""
    points = (f"{step}@{first + n}" for n in range(chances))
    return {"HEADRACE_CRASH_AT": ",".join(points), "HEADRACE_CRASH_MARK": str(mark)}


class Deaths:
    """Steps at which a program loses a worker: once each, at whichever checkpoint comes by there
    first, for with nothing to commit or to write a checkpoint may pass a step over."""

    def __init__(self, mark: Path, steps: Iterable[str], first: int = 1, chances: int = _CHANCES):
        self._mark = mark
        numbers = range(first, first + chances)
        self._left = {step: [f"{step}@{n}" for n in numbers] for step in steps}
        self.count = 0
        """How many workers have died."""
        self.last = 0
        """At the last of which checkpoints."""

    @property
    def points(self) -> str:
        return ",".join(point for points in self._left.values() for point in points)

    @property
    def environ(self) -> dict[str, str]:
        """What the program is to be started with."""
        return {
            "HEADRACE_CRASH_WHOM": "process",
            "HEADRACE_CRASH_MARK": str(self._mark),
            "HEADRACE_CRASH_AT": self.points,
        }

    def put_off(self) -> None:
        """None of them happens before `take_place`."""
        for point in self.points.split(","):
            Path(f"{self._mark}.{point}").touch()

    def take_place(self) -> None:
        for point in self.points.split(","):
            Path(f"{self._mark}.{point}").unlink()

    def all_happened(self) -> bool:
        """To be asked again and again: where somebody has died nobody else has to."""
        for step, points in list(self._left.items()):
            if any(Path(f"{self._mark}.{point}").exists() for point in points):
                happened = list(filter(self._has_happened, points))
                self.count += len(happened)
                self.last = max(self.last, *(int(point.rpartition("@")[2]) for point in happened))
                del self._left[step]
        return not self._left

    def _has_happened(self, point: str) -> bool:
        """From here on it cannot happen any more."""
        try:
            Path(f"{self._mark}.{point}").touch(exist_ok=False)
        except FileExistsError:
            return True
        return False
