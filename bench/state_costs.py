"""What durable state costs: frequent checkpoints, the bytes they write, savepoints and restores."""

from __future__ import annotations

import statistics

from bench.engines import figures_of, headrace
from bench.figures import Bar, Outcome, at_most
from bench.measure import Progress

SAVED_KEYS = 5_000_000
RECORDS = 40_000_000
"""Some twenty seconds' worth: a checkpoint more or less must not decide."""
INTERVALS_MS = {"every second": 1000, "every 30 s": 30_000}


def checkpoints(repeats: int, progress: Progress) -> Outcome:
    """A keyed counter in real time with checkpoints every second and every 30 s, taking turns."""
    engine = headrace(stream=True, real_time=True)
    seconds: dict[str, list[float]] = {name: [] for name in INTERVALS_MS}
    completed: dict[str, float] = {}
    for turn in range(repeats):
        for name, interval in INTERVALS_MS.items():
            progress(f"checkpoints {name}, run {turn + 1} of {repeats}")
            arguments = ["--interval-ms", str(interval), "--records", str(RECORDS)]
            found = figures_of(engine, "jobs/checkpoint_cost.py", *arguments)
            seconds[name].append(found["seconds"])
            completed[name] = found["checkpoints"]
    progress("bytes of a checkpoint")
    size = figures_of(headrace(), "jobs/checkpoint_cost.py", "--bytes")
    often, seldom = (statistics.median(seconds[name]) for name in INTERVALS_MS)
    share = size["mean"] / size["full"]
    bars = tuple(
        Bar(
            name=f"headrace, checkpoints {name}",
            value=RECORDS / statistics.median(found),
            unit="records/s",
            records=RECORDS,
            spread=(RECORDS / max(found), RECORDS / min(found)),
            note=f"{completed[name]:.0f} checkpoints in the last run",
        )
        for name, found in seconds.items()
    )
    return Outcome(benchmark="checkpoints", bars=bars, checks=(
        at_most("throughput lost to checkpoints every second", 1 - seldom / often, 0.1),
        at_most("bytes of a checkpoint with 1% of the keys, over all", share, 0.05),
    ))  # fmt: skip


def savepoints(repeats: int, progress: Progress) -> Outcome:
    """Saving and restoring five million keys, over Spark writing the same rows as Parquet."""
    runs = []
    for turn in range(repeats):
        progress(f"savepoint and restore, run {turn + 1} of {repeats}")
        runs.append(figures_of(headrace(), "jobs/savepoint_cost.py", "--keys", str(SAVED_KEYS)))
    names = ("savepoint", "restore", "parquet")
    median = {name: statistics.median(run[name] for run in runs) for name in names}
    bars = tuple(
        Bar(name=name, value=median[name], unit="s", records=SAVED_KEYS,
            spread=(min(run[name] for run in runs), max(run[name] for run in runs)))
        for name in names
    )  # fmt: skip
    return Outcome(benchmark="savepoints", bars=bars, checks=(
        at_most("savepoint over Parquet", median["savepoint"] / median["parquet"], 3),
        at_most("restore over Parquet", median["restore"] / median["parquet"], 3),
    ))  # fmt: skip
