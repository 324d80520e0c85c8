"""How long it takes until there is a first result: of a wide job, and of a small one from cold."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from bench import data
from bench.agreement import PRINTED
from bench.engines import figures_of, headrace, running, said, seconds_until
from bench.figures import Bar, Outcome, at_most
from bench.measure import START_UP_RECORDS, Progress

WIDE = ("--levels", "6", "--parallelism", "4", "--sources", "1")
"""A source and four tasks on each of six levels."""
TASKS = 25
RATE = 1000
MOST_SECONDS = 10


def start_up(repeats: int, progress: Progress) -> Outcome:
    """25 tasks in a session that runs, and a stream's word count from the start of the program."""
    seconds: dict[str, list[float]] = {name: [] for name in ("first", "all", "cold")}
    for turn in range(repeats):
        progress(f"{TASKS} tasks, run {turn + 1} of {repeats}")
        with tempfile.TemporaryDirectory(prefix="headrace-bench-") as scratch:
            found = figures_of(headrace(), "jobs/levels.py", scratch, *WIDE, "--rate", str(RATE))
        for name, value in found.items():
            seconds[name].append(value)
        progress(f"word count from cold, run {turn + 1} of {repeats}")
        seconds["cold"].append(_cold_word_count())
    notes = {
        "first": f"{TASKS} tasks, first result",
        "all": f"{TASKS} tasks, until the last of them has a result",
        "cold": "word count from cold, first result",
    }
    bars = tuple(
        Bar(
            name=f"headrace, {note}",
            value=statistics.median(seconds[name]),
            unit="s",
            records=0,
            spread=(min(seconds[name]), max(seconds[name])),
        )
        for name, note in notes.items()
    )
    ready = statistics.median(seconds["all"])
    check = at_most(f"{TASKS} tasks, from submitting until all work", ready, MOST_SECONDS, "s")
    return Outcome(benchmark="start_up", bars=bars, checks=(check,))


def _cold_word_count() -> float:
    """Seconds from the start of the program to the first line it prints."""
    engine = headrace(stream=True, real_time=True)
    arguments = ["--input", str(data.text(START_UP_RECORDS)), "--print"]
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as scratch:
        folder = Path(scratch)

        def printed() -> bool:
            return any(PRINTED.match(line) for line in said(folder).splitlines())

        with running(engine, "jobs/word_count.py", arguments, folder) as process:
            return seconds_until(printed, process, folder)
