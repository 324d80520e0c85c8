"""What a process and everything it started use: memory, sampled while they run, and CPU time."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass

import psutil

INTERVAL_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of a whole process tree. `pss` counts a shared page once; None if unreadable."""

    rss: int
    pss: int | None

    @property
    def used(self) -> int:
        """The fairest figure there is: forked workers share pages, which RSS counts many times."""
        return self.rss if self.pss is None else self.pss


class MemorySampler:
    """Watches the tree below one process; `peak` is the largest sample."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.peak = Memory(0, None)

    def __enter__(self) -> MemorySampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(INTERVAL_SECONDS):
            sample = tree_memory(self._root)
            if sample.used > self.peak.used:
                self.peak = sample


def tree_memory(root: psutil.Process) -> Memory:
    """The memory of `root` and all its descendants at this moment."""
    try:
        members = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return Memory(0, None)
    rss, pss, all_readable = 0, 0, True
    for member in members:
        try:
            resident = member.memory_info().rss
        except psutil.Error:
            continue  # it ended between the listing and this line
        rss += resident
        try:
            pss += member.memory_full_info().pss
        except (psutil.Error, AttributeError):
            all_readable = False  # another user's process, or a system without PSS
    return Memory(rss, pss if all_readable else None)


def tree_cpu_seconds(root: psutil.Process) -> float:
    """CPU time of `root` and all its descendants so far, those that have ended included."""
    seconds = 0.0
    for member in [root, *root.children(recursive=True)]:
        with contextlib.suppress(psutil.Error):  # it ended, and its parent has its time
            seconds += sum(member.cpu_times()[:4])  # its own and that of ended children
    return seconds


def end_tree(pid: int) -> None:
    """End a process and all it started: a JVM outlives the Python process that began it."""
    root = psutil.Process(pid)
    for member in [*root.children(recursive=True), root]:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
