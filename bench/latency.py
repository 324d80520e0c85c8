"""How long a record takes from its creation to the last operator, in real time or not."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.engines import BENCH_DIR, Engine, RunFailed, headrace
from bench.figures import Bar, Check, Outcome
from bench.measure import Progress

SCRIPT = "jobs/latency.py"
RATE = 20_000
SECONDS = 30.0
WARM_UP = 0.5
"""Of what was seen, the later part counts."""
MODES = ("real-time", "micro-batch")


@dataclass(frozen=True, slots=True)
class Latencies:
    """Milliseconds that half of the records, and all but one in a hundred, took at most."""

    median: float
    p99: float
    records: int


def latency(repeats: int, progress: Progress) -> Outcome:
    """Paced records behind one keyed exchange and two, a checkpoint each second."""
    engine = headrace()
    engine.check()
    found: dict[tuple[str, int], Latencies] = {}
    for mode in MODES:
        for exchanges in (1, 2):
            progress(f"{mode}, {exchanges} exchanges")
            runs = [_measure(engine, mode, exchanges) for _ in range(repeats)]
            found[mode, exchanges] = sorted(runs, key=lambda run: run.p99)[len(runs) // 2]
    bars = tuple(
        Bar(
            name=f"{mode}, {exchanges} exchange{'s' if exchanges > 1 else ''}",
            value=seen.p99,
            unit="ms",
            records=seen.records,
            note=f"p99 of {RATE:,} records/s; half within {seen.median:.1f} ms",
        )
        for (mode, exchanges), seen in found.items()
    )
    checks = tuple(
        Check(
            name=f"p99 in real time behind {exchanges} exchange{'s' if exchanges > 1 else ''}",
            value=found["real-time", exchanges].p99,
            unit="ms",
            bound="at most",
            target=most,
        )
        for exchanges, most in ((1, 20), (2, 30))
    )
    return Outcome(benchmark="latency", bars=bars, checks=checks)


def _measure(engine: Engine, mode: str, exchanges: int) -> Latencies:
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as scratch:
        words = [scratch, mode, str(RATE), str(exchanges), str(SECONDS)]
        done = subprocess.run(
            [*engine.command, str(BENCH_DIR / SCRIPT), *words], cwd=scratch, text=True,
            capture_output=True, env=engine.environment(), check=False, timeout=SECONDS + 120,
        )  # fmt: skip
        lines = [line.split() for file in Path(scratch).glob("times-*")
                 for line in file.read_text().splitlines()]  # fmt: skip
        if done.returncode or not lines:
            raise RunFailed(f"{SCRIPT} {mode}:\n{done.stderr[-3000:]}")
    seen = sorted(
        (float(at), float(took)) for at, took in (line for line in lines if len(line) == 2)
    )
    counted = sorted(took for _, took in seen[int(len(seen) * WARM_UP) :])
    return Latencies(counted[len(counted) // 2], counted[int(len(counted) * 0.99)], len(counted))
