"""Turning runs into figures: net of start-up, medians, and several engines taking turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.engines import Engine, Run, run

START_UP_RECORDS = 1_000
LEAST_SECONDS = 1e-6
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One engine running one job on one input. `tiny` is the same job's start-up input."""

    engine: Engine
    script: str
    input: Path
    tiny: Path
    records: int
    tiny_records: int = START_UP_RECORDS
    label: str = ""
    arguments: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name this case has in tables."""
        return self.label or self.engine.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """A case's cost per record, net of start-up. The samples are seconds of `execute`."""

    name: str
    records: int
    tiny_records: int
    full: tuple[float, ...]
    start_up: tuple[float, ...]

    @property
    def net_seconds(self) -> float:
        """Seconds for the records alone; never zero, so that ratios exist."""
        return statistics.median(self.nets)

    @property
    def nets(self) -> list[float]:
        """The same for each run: a process's large input less its own small one."""
        pairs = zip(self.full, self.start_up, strict=True)
        return [max(full - start_up, LEAST_SECONDS) for full, start_up in pairs]

    @property
    def start_up_seconds(self) -> float:
        """Seconds of `execute` on the start-up input."""
        return statistics.median(self.start_up)

    @property
    def records_per_second(self) -> float:
        """The rate at which records go through once the engine is up."""
        return self.timed_records / self.net_seconds

    @property
    def rate_spread(self) -> tuple[float, float]:
        """The rates that the slowest and the quickest run would have given."""
        return self.timed_records / max(self.nets), self.timed_records / min(self.nets)

    @property
    def timed_records(self) -> int:
        """The records of the net time: those that the start-up input has not."""
        return self.records - self.tiny_records


def net_timings(cases: Sequence[Case], repeats: int, progress: Progress) -> list[Timing]:
    """Time all cases. They take turns, so that a busy minute of the machine hits them all."""
    for case in cases:
        case.engine.check()
    full: list[list[float]] = [[] for _ in cases]
    start_up: list[list[float]] = [[] for _ in cases]
    for turn in range(repeats):
        for number, case in enumerate(cases):
            progress(f"{case.name}, {case.records:,} records, run {turn + 1} of {repeats}")
            inputs = ["--input", str(case.input), "--warm-up", str(case.tiny)]
            seen = run(case.engine, case.script, [*case.arguments, *inputs])
            start_up[number].append(seen.start_up_seconds)
            full[number].append(seen.execute_seconds)
    return [
        Timing(
            name=case.name,
            records=case.records,
            tiny_records=case.tiny_records,
            full=tuple(full[number]),
            start_up=tuple(start_up[number]),
        )
        for number, case in enumerate(cases)
    ]


def whole_runs(
    engines: Sequence[Engine], script: str, path: Path, repeats: int, progress: Progress
) -> dict[str, list[Run]]:
    """Run a job from cold several times on each engine, taking turns; by engine name."""
    for engine in engines:
        engine.check()
    runs: dict[str, list[Run]] = {engine.name: [] for engine in engines}
    for turn in range(repeats):
        for engine in engines:
            progress(f"{engine.name}, run {turn + 1} of {repeats}")
            runs[engine.name].append(run(engine, script, ["--input", str(path)]))
    return runs
