"""Hours of a job under load that is killed again and again: is all of its output there, once, and
do its memory and its files stay as they are?"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

import psutil

from bench.engines import OUTPUT_TAIL, RunFailed, headrace, running, said
from bench.figures import Bar, Outcome, at_most
from bench.output import Output
from bench.process_tree import tree_memory

SCRIPT = "jobs/soak.py"
RATE = 20_000
KEYS_AT_A_TIME, OF_A_KEY = 5_000, 20  # as in the job
GENERATION = KEYS_AT_A_TIME * OF_A_KEY
SAMPLE_SECONDS = 5
LONGEST_WARM_UP = 600
SETTLED_AFTER = 120
"""Seconds after a kill; a fraction of the time between two where that is less."""
ENDS_WITHIN = 300
MOST_GROWTH = 0.1
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Sample:
    """What there was at one moment of the run."""

    second: float
    memory: int
    files: int


class Ledger:
    """The job's results against those that its numbers have."""

    def __init__(self, keys: int):
        self._seen = bytearray(keys)
        self.found = 0
        self.wrong = 0
        """Lines that are no key's sum, and keys that came once more."""

    def note(self, lines: Iterable[str]) -> None:
        """Take down committed lines, `key sum` each."""
        for line in lines:
            key, total = map(int, line.split())
            if key >= len(self._seen) or total != sum_of(key) or self._seen[key]:
                self.wrong += 1
            else:
                self._seen[key] = 1
                self.found += 1

    @property
    def missing(self) -> int:
        """Keys whose sum has not come."""
        return len(self._seen) - self.found


def sum_of(key: int) -> int:
    """The sum of a key's numbers."""
    generation, rest = divmod(key, KEYS_AT_A_TIME)
    first = generation * GENERATION + rest
    return sum(range(first, first + GENERATION, KEYS_AT_A_TIME))


def growth(samples: Sequence[tuple[float, float]]) -> float:
    """By what part of their mean values grow from the first to the last, by least squares."""
    if len(samples) < 2:
        return 0.0
    moments, values = zip(*samples, strict=True)
    slope = statistics.linear_regression(moments, values).slope
    return float(slope * (moments[-1] - moments[0]) / statistics.fmean(values))


class Soak:
    """One run: the job, what kills it, and what was seen of it."""

    def __init__(self, folder: Path, minutes: float, kill_every: float, stack: ExitStack):
        generations = max(1, int(minutes * 60 * RATE / GENERATION))
        self._folder = folder
        self._stack = stack
        self._between = kill_every * 60
        self._numbers = generations * GENERATION
        self._lasts = self._numbers / RATE
        self._began = time.time()
        self._killed_at = 0.0
        self._process = self._start()
        self._chance = random.Random(0)
        self._orphans: list[psutil.Process] = []
        stack.callback(self.outlived)
        self.output = Output(folder / "out")
        self.ledger = Ledger(generations * KEYS_AT_A_TIME)
        self.samples: list[Sample] = []
        self.kills: list[str] = []

    def run(self) -> None:
        """Until all results are there, or have been waited for long enough."""
        said_at = 0.0
        while self.ledger.missing and self._elapsed < self._lasts + ENDS_WITHIN:
            time.sleep(SAMPLE_SECONDS)
            if self._process.poll() is not None:
                tail = said(self._folder)[-OUTPUT_TAIL:]
                raise RunFailed(f"{SCRIPT} ended with {self._process.returncode}\n{tail}")
            self.ledger.note(self.output.new_lines())
            self._sample()
            if self._elapsed - said_at >= 60:
                said_at = self._elapsed
                print(self._progress(), flush=True)
            if self._killed_at + self._between < self._elapsed < self._lasts:
                self._kill()
        self.ledger.note(self.output.new_lines())
        print(self._progress(), flush=True)

    def settled(self) -> list[Sample]:
        """The samples after the warm-up that no kill has stirred up."""
        return [sample for sample in self.samples if sample.second > self._warm_up]

    def outlived(self) -> int:
        """How many processes of killed drivers are still there; they are ended now."""
        left = [process for process in self._orphans if process.is_running()]
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._orphans.clear()
        return len(left)

    @property
    def _elapsed(self) -> float:
        return time.time() - self._began

    @property
    def _warm_up(self) -> float:
        return min(LONGEST_WARM_UP, self._lasts / 4)

    def _start(self) -> Popen[bytes]:
        arguments = ["--rate", str(RATE), "--began", str(self._began)]
        arguments = [str(self._folder), *arguments, "--count", str(self._numbers)]
        return self._stack.enter_context(running(headrace(), SCRIPT, arguments, self._folder))

    def _sample(self) -> None:
        since_kill = self._elapsed - self._killed_at
        if self.kills and since_kill < min(SETTLED_AFTER, self._between / 3):
            return
        memory = tree_memory(psutil.Process(self._process.pid)).used
        self.samples.append(Sample(self._elapsed, memory, _files(self._folder / "checkpoints")))

    def _kill(self) -> None:
        """A worker and the driver, in turn; a driver is started again, a worker is the job's."""
        driver = psutil.Process(self._process.pid)
        descendants = driver.children(recursive=True)
        if len(self.kills) % 2:
            self.kills.append("driver")
            driver.kill()
            self._process.wait()
            self._orphans += descendants
            self._process = self._start()
        else:
            self.kills.append("worker")
            self._chance.choice(_at_work(descendants)).kill()
        self._killed_at = self._elapsed
        print(f"{self._killed_at / 60:6.1f} min: killed a {self.kills[-1]}", flush=True)

    def _progress(self) -> str:
        made = min(self._numbers, int(self._elapsed * RATE)) // OF_A_KEY
        last = self.samples[-1] if self.samples else Sample(0, 0, 0)
        return (
            f"{self._elapsed / 60:6.1f} min: {self.ledger.found:,} results of {made:,}, "
            f"{self.ledger.wrong} wrong, {last.memory / MIB:,.0f} MiB, {last.files} files, "
            f"{len(self.kills)} kills"
        )


def soak(minutes: float, kill_every: float) -> Outcome:
    """Run the job for so long, with a SIGKILL every so many minutes, and say how it bore that."""
    headrace().check()
    with tempfile.TemporaryDirectory(prefix="headrace-soak-") as scratch, ExitStack() as stack:
        run = Soak(Path(scratch), minutes, kill_every, stack)
        run.run()
        outlived = run.outlived()
    settled = run.settled()
    memory = [(sample.second, sample.memory / MIB) for sample in settled]
    files = [(sample.second, float(sample.files)) for sample in settled]
    bars = tuple(
        Bar(
            name=f"headrace, {name}",
            value=statistics.fmean(values),
            unit=unit,
            records=run.ledger.found * OF_A_KEY,
            spread=(min(values), max(values)),
            note=f"{minutes:g} minutes, {len(run.kills)} kills",
        )
        for name, unit, values in (
            ("process tree", "MiB", [value for _, value in memory]),
            ("job folder", "files", [value for _, value in files]),
        )
        if values
    )
    return Outcome(
        benchmark="soak",
        bars=bars,
        checks=(
            at_most("results that are missing", run.ledger.missing, 0, ""),
            at_most("results that are wrong, or came twice", run.ledger.wrong, 0, ""),
            at_most("growth of memory, of its mean", growth(memory), MOST_GROWTH),
            at_most("growth of the files, of their mean", growth(files), MOST_GROWTH),
            at_most("processes that outlived their driver", outlived, 0, ""),
        ),
    )


def _at_work(descendants: Iterable[psutil.Process]) -> list[psutil.Process]:
    """The Python processes that have none below them and have done something."""
    found = []
    for process in descendants:
        with suppress(psutil.NoSuchProcess):
            worked = process.cpu_times().user >= 1
            if worked and "python" in process.name() and not process.children():
                found.append(process)
    return found


def _files(folder: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(folder))
