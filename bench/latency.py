"""How long a record takes from its creation to the last operator, in real time or not."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.engines import BENCH_DIR, OUTPUT_TAIL, Engine, RunFailed, headrace, pyflink
from bench.figures import Bar, Outcome, at_most
from bench.measure import LEAST_SECONDS, Progress

SCRIPT = "jobs/latency.py"
RATE = 20_000
SECONDS = 30.0
PEER_SECONDS = 60.0
"""PyFlink takes longer to start, and its process mode to give anything."""
SAMPLE = 16
"""Of so many results one is timed."""
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
    per_second: float


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of job in one mode of an engine."""

    engine: Engine
    kind: str
    mode: str = REAL_TIME

    @property
    def name(self) -> str:
        """The name this case has in tables."""
        mode = f" {self.mode}" if self.ours else ""
        return f"{self.engine.name}{mode}, {KINDS[self.kind]}"

    @property
    def seconds(self) -> float:
        """From submitting the job to its end."""
        return SECONDS if self.ours else PEER_SECONDS

    @property
    def ours(self) -> bool:
        """Whether it is held to a target, and so must have results."""
        return self.engine.name == headrace().name


def latency(repeats: int, with_peers: bool, progress: Progress) -> Outcome:
    """Paced records, a checkpoint each second: through exchanges, a query and windows.

    The peers, which are held to nothing, run once.
    """
    ours = [Case(headrace(), kind) for kind in KINDS]
    ours += [Case(headrace(), kind, MICRO_BATCH) for kind in ("1", "2")]
    peers = [Case(pyflink(mode), kind) for mode in ("thread", "process") for kind in KINDS]
    cases = ours * repeats + (peers if with_peers else [])
    for case in cases:
        case.engine.check()
    runs: dict[str, list[Latencies]] = {case.name: [] for case in cases}
    for number, case in enumerate(cases):
        progress(f"{case.name}, run {number + 1} of {len(cases)}")
        runs[case.name].append(_measure(case))
    found = {name: sorted(seen, key=lambda run: run.p99)[len(seen) // 2]
             for name, seen in runs.items()}  # fmt: skip
    bars = tuple(
        Bar(
            name=name,
            value=seen.p99,
            unit="ms",
            records=seen.results,
            spread=(min(run.p99 for run in runs[name]), max(run.p99 for run in runs[name])),
            note=f"p99; half within {seen.median:.1f} ms; {seen.per_second:,.0f} results/s",
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
    later = seen[int(len(seen) * WARM_UP) :]
    took = sorted(each for _, each in later)
    span = max(later[-1][0] - later[0][0], LEAST_SECONDS)
    return Latencies(
        median=took[len(took) // 2],
        p99=took[int(len(took) * 0.99)],
        results=len(took),
        per_second=len(took) * SAMPLE / span,
    )


def nothing(seconds: float) -> Latencies:
    """What is known of an engine that has given no result all the time."""
    return Latencies(median=1000 * seconds, p99=1000 * seconds, results=0, per_second=0.0)


def _measure(case: Case) -> Latencies:
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as scratch:
        words = [scratch, case.mode, str(RATE), case.kind, str(case.seconds), str(SAMPLE)]
        done = subprocess.run(
            [*case.engine.command, str(BENCH_DIR / SCRIPT), *words], cwd=scratch, text=True,
            capture_output=True, env=case.engine.environment(), check=False,
            timeout=case.seconds + ENDS_WITHIN,
        )  # fmt: skip
        lines = [line for file in Path(scratch).glob("times-*")
                 for line in file.read_text().splitlines()]  # fmt: skip
    if done.returncode or (case.ours and not lines):
        raise RunFailed(f"{case.name}:\n{done.stderr[-OUTPUT_TAIL:]}")
    return counted(lines) if lines else nothing(case.seconds)
