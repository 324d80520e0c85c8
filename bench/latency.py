"""How long a record takes from its creation to the last operator, in real time or not."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.engines import BENCH_DIR, OUTPUT_TAIL, Engine, RunFailed, headrace, pyflink
from bench.figures import Bar, Outcome, at_most
from bench.measure import Progress

SCRIPT = "jobs/latency.py"
RATE = 20_000
SECONDS = 30.0
ENDS_WITHIN = 120
WARM_UP = 0.5
"""Of what was seen, the later part counts."""
REAL_TIME, MICRO_BATCH = "real-time", "micro-batch"
KINDS = {"1": "1 exchange", "2": "2 exchanges", "sql": "SQL GROUP BY", "window": "1 s windows"}
MOST_MS = {"1": 20, "2": 30, "sql": 50, "window": 50}


@dataclass(frozen=True, slots=True)
class Latencies:
    """Milliseconds that half of the results, and all but one in a hundred, took at most."""

    median: float
    p99: float
    results: int


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of job in one mode of an engine."""

    engine: Engine
    kind: str
    mode: str = REAL_TIME

    @property
    def name(self) -> str:
        """The name this case has in tables."""
        mode = f" {self.mode}" if self.engine.name == headrace().name else ""
        return f"{self.engine.name}{mode}, {KINDS[self.kind]}"


def latency(repeats: int, with_peers: bool, progress: Progress) -> Outcome:
    """Paced records, a checkpoint each second: through exchanges, a query and windows."""
    cases = [Case(headrace(), kind) for kind in KINDS]
    cases += [Case(headrace(), kind, MICRO_BATCH) for kind in ("1", "2")]
    if with_peers:
        cases += [Case(pyflink(mode), kind) for mode in ("thread", "process") for kind in KINDS]
    for case in cases:
        case.engine.check()
    runs: dict[str, list[Latencies]] = {case.name: [] for case in cases}
    for turn in range(repeats):
        for case in cases:
            progress(f"{case.name}, run {turn + 1} of {repeats}")
            runs[case.name].append(_measure(case))
    found = {name: sorted(seen, key=lambda run: run.p99)[repeats // 2]
             for name, seen in runs.items()}  # fmt: skip
    bars = tuple(
        Bar(
            name=name,
            value=seen.p99,
            unit="ms",
            records=seen.results,
            spread=(min(run.p99 for run in runs[name]), max(run.p99 for run in runs[name])),
            note=f"p99 of {RATE:,} records/s; half within {seen.median:.1f} ms",
        )
        for name, seen in found.items()
    )
    checks = tuple(
        at_most(
            f"p99 in real time, {KINDS[kind]}", found[Case(headrace(), kind).name].p99, most, "ms"
        )
        for kind, most in MOST_MS.items()
    )
    return Outcome(benchmark="latency", bars=bars, checks=checks)


def counted(lines: Iterable[str]) -> Latencies:
    """What the lines `moment milliseconds` say of the later part; a torn line says nothing."""
    pairs = (line.split() for line in lines)
    seen = sorted((float(pair[0]), float(pair[1])) for pair in pairs if len(pair) == 2)
    took = sorted(each for _, each in seen[int(len(seen) * WARM_UP) :])
    return Latencies(took[len(took) // 2], took[int(len(took) * 0.99)], len(took))


def _measure(case: Case) -> Latencies:
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as scratch:
        words = [scratch, case.mode, str(RATE), case.kind, str(SECONDS)]
        done = subprocess.run(
            [*case.engine.command, str(BENCH_DIR / SCRIPT), *words], cwd=scratch, text=True,
            capture_output=True, env=case.engine.environment(), check=False,
            timeout=SECONDS + ENDS_WITHIN,
        )  # fmt: skip
        lines = [line for file in Path(scratch).glob("times-*")
                 for line in file.read_text().splitlines()]  # fmt: skip
    if done.returncode or not lines:
        raise RunFailed(f"{case.name}:\n{done.stderr[-OUTPUT_TAIL:]}")
    return counted(lines)
