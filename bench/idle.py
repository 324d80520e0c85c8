"""What a job costs that has nothing to read."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from bench.engines import headrace, running, seconds_until
from bench.figures import Bar, Outcome, at_most
from bench.measure import Progress
from bench.process_tree import tree_cpu_seconds
from bench.start_up import TASKS, WIDE

SCRIPT = "jobs/levels.py"
SECONDS = 30.0
JOBS: dict[str, Sequence[str]] = {"one exchange": (), f"{TASKS} tasks": WIDE}
MOST_PERCENT = 10


def idle(repeats: int, progress: Progress) -> Outcome:
    """CPU time of the whole process tree in real time, with a checkpoint every second."""
    found: dict[str, list[float]] = {name: [] for name in JOBS}
    for turn in range(repeats):
        for name, arguments in JOBS.items():
            progress(f"{name}, run {turn + 1} of {repeats}")
            found[name].append(_percent_of_a_core(arguments))
    bars = tuple(
        Bar(
            name=f"headrace, {name}",
            value=statistics.median(seen),
            unit="% of a core",
            records=0,
            spread=(min(seen), max(seen)),
        )
        for name, seen in found.items()
    )
    check = at_most("one exchange, of a core", bars[0].value, MOST_PERCENT, "%")
    return Outcome(benchmark="idle", bars=bars, checks=(check,))


def _percent_of_a_core(arguments: Sequence[str]) -> float:
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as scratch:
        folder = Path(scratch)
        with running(headrace(), SCRIPT, [scratch, *arguments], folder) as process:
            seconds_until((folder / "settled").exists, process, folder)
            root = psutil.Process(process.pid)
            before, began = tree_cpu_seconds(root), time.perf_counter()
            time.sleep(SECONDS)
            return 100 * (tree_cpu_seconds(root) - before) / (time.perf_counter() - began)
