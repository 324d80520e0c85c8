"""How long a killed job takes until its first new result, next to one that starts with nothing."""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.engines import Engine, headrace, running, seconds_until
from bench.figures import Bar, Outcome, at_most
from bench.measure import Progress
from bench.output import Output

SCRIPT = "jobs/recovery.py"
PER_BATCH = 10_000
"""Records of a micro-batch of the job."""
BATCHES_BEFORE = 30
"""How many micro-batches have left state and logs behind when the job is killed."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds from the start of the program to a result that others can see."""

    cold: float
    again: float


class Highest:
    """The largest number that a job has put out so far."""

    def __init__(self, folder: Path):
        self._output = Output(folder)
        self._highest = -1

    def look(self) -> int:
        numbers = (int(line.split()[0]) for line in self._output.new_lines())
        self._highest = max(self._highest, *numbers, -1)
        return self._highest


def recovery(repeats: int, progress: Progress) -> Outcome:
    """Kill a job's whole process tree with SIGKILL, start it again, and compare."""
    engine = headrace()
    engine.check()
    times = []
    for turn in range(repeats):
        progress(f"{engine.name}, run {turn + 1} of {repeats}")
        times.append(_measure(engine))
    samples = {"from nothing": [each.cold for each in times],
               "after a kill": [each.again for each in times]}  # fmt: skip
    bars = tuple(
        Bar(
            name=f"headrace, {name}",
            value=statistics.median(seconds),
            unit="s",
            records=BATCHES_BEFORE * PER_BATCH if name == "after a kill" else 0,
            spread=(min(seconds), max(seconds)),
            note="from the start of the program to the first new result in a file",
        )
        for name, seconds in samples.items()
    )
    longer = bars[1].value / bars[0].value
    check = at_most("first new result after a kill, over a cold start", longer, 3)
    return Outcome(benchmark="recovery", bars=bars, checks=(check,))


def _measure(engine: Engine) -> Times:
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as scratch:
        folder = Path(scratch)
        output = Highest(folder / "out")
        with running(engine, SCRIPT, [scratch], folder) as process:
            cold = seconds_until(lambda: output.look() > 0, process, folder)
            seconds_until(lambda: output.look() > BATCHES_BEFORE * PER_BATCH, process, folder)
        # What the killed job had computed may still come out: it is not new.
        beyond = output.look() + PER_BATCH
        with running(engine, SCRIPT, [scratch], folder) as process:
            return Times(cold, seconds_until(lambda: output.look() > beyond, process, folder))
