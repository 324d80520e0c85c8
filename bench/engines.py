"""The engines under comparison: how to start a job on each, and what one run of it showed."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.process_tree import Memory, MemorySampler, end_tree

BENCH_DIR = Path(__file__).parent
REPOSITORY = BENCH_DIR.parent
RESULT_MARK = "BENCH-RESULT "
TIMEOUT_SECONDS = 1800
OUTPUT_TAIL = 3000
LOG = "log"
WITHIN_SECONDS = 300
PAUSE_SECONDS = 0.02


class CannotMeasure(Exception):
    """There is no figure, and the message says why."""


class RunFailed(CannotMeasure):
    """A job under measurement did not end well."""


class EngineMissing(CannotMeasure):
    """An engine is not installed; the message says what to type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One way to run a job script: a command in front of it and an environment around it."""

    name: str
    command: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    inherits_python_path: bool = True
    set_up: str = ""

    def check(self) -> None:
        """Refuse early, with what to type, when the engine's interpreter is not there."""
        if not Path(self.command[0]).exists():
            raise EngineMissing(f"{self.name}: no {self.command[0]}; {self.set_up}")

    def environment(self) -> dict[str, str]:
        """The variables a run sees; `python` on its PATH is the engine's own interpreter."""
        variables = {**os.environ, **self.variables}
        if not self.inherits_python_path:
            variables.pop("PYTHONPATH", None)
        interpreter_dir = str(Path(self.command[0]).parent)
        variables["PATH"] = interpreter_dir + os.pathsep + variables.get("PATH", "")
        return variables


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run of a job in a fresh process showed."""

    execute_seconds: float
    start_up_seconds: float
    wall_seconds: float
    memory: Memory  # all zero when it was not watched
    output: str


_AS_STREAM = {
    "HEADRACE_MODE": "stream",
    "HEADRACE_CONF": json.dumps({"headrace.stream.files-per-batch": "1"}),
}


def headrace(*, stream: bool = False, real_time: bool = False) -> Engine:
    """headrace; with `stream`, a bounded job runs as a stream, one file a micro-batch or, in
    `real_time`, as fast as it goes."""
    python = os.environ.get("HEADRACE_PYTHON", sys.executable)
    name = "headrace stream" if stream else "headrace"
    mode = {"HEADRACE_STREAM_MODE": "real-time" if real_time else "micro-batch"}
    return Engine(
        name=f"{name}, real time" if real_time else name,
        command=(python, "-m", "headrace", "run"),
        variables={**_AS_STREAM, **mode} if stream else {},
        set_up="set HEADRACE_PYTHON to an interpreter that has headrace",
    )


def pyflink(mode: str) -> Engine:
    """PyFlink in `process` or `thread` mode, from its own virtual environment."""
    python = os.environ.get("HEADRACE_PEER_PYTHON", str(REPOSITORY / ".peer-venv/bin/python"))
    return Engine(
        name=f"PyFlink {mode}",
        command=(python,),
        variables={"BENCH_EXECUTION_MODE": mode},
        inherits_python_path=False,
        set_up="run `make peer`, or set HEADRACE_PEER_PYTHON",
    )


def spark() -> Engine:
    """Spark without headrace, for queries that need no Python."""
    python = os.environ.get("HEADRACE_PYTHON", sys.executable)
    return Engine(
        name="Spark JVM",
        command=(python,),
        inherits_python_path=False,
        set_up="set HEADRACE_PYTHON to an interpreter that has pyspark",
    )


def run(
    engine: Engine, script: str, arguments: Sequence[str], *, watch_memory: bool = False
) -> Run:
    """Run a script under `bench/` on an engine, in a fresh process, and wait for its end.

    Watching memory takes a share of a core, so runs that are timed go unwatched.
    """
    command = [*engine.command, str(BENCH_DIR / script), *arguments]
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as scratch:
        log = Path(scratch) / "output"
        start = time.perf_counter()
        with log.open("wb") as sink:
            process = subprocess.Popen(
                command,
                stdout=sink,
                stderr=subprocess.STDOUT,
                cwd=scratch,
                env=engine.environment(),
            )
            sampler = MemorySampler(process.pid)
            with sampler if watch_memory else contextlib.nullcontext():
                _wait(process, engine.name)
        wall_seconds = time.perf_counter() - start
        output = log.read_text(encoding="utf-8", errors="replace")
    if process.returncode != 0:
        tail = output[-OUTPUT_TAIL:]
        raise RunFailed(f"{engine.name}: {script} ended with {process.returncode}\n{tail}")
    return Run(
        **_figures(output, engine.name, script),
        wall_seconds=wall_seconds,
        memory=sampler.peak,
        output=output,
    )


@contextlib.contextmanager
def running(
    engine: Engine, script: str, arguments: Sequence[str], folder: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A script that goes on by itself in a folder, until it is killed at the end of the block."""
    command = [*engine.command, str(BENCH_DIR / script), *arguments]
    with (folder / LOG).open("ab") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, cwd=folder, env=engine.environment()
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            end_tree(process.pid)
            process.wait()


def said(folder: Path) -> str:
    """What a running script has said so far."""
    return (folder / LOG).read_text(encoding="utf-8", errors="replace")


def seconds_until(
    done: Callable[[], bool], process: subprocess.Popen[bytes], folder: Path
) -> float:
    """Seconds from now until a running script has come so far."""
    start = time.perf_counter()
    while not done():
        elapsed = time.perf_counter() - start
        if process.poll() is not None or elapsed > WITHIN_SECONDS:
            tail = said(folder)[-OUTPUT_TAIL:]
            raise RunFailed(f"{process.args}: not so far after {elapsed:.0f} s\n{tail}")
        time.sleep(PAUSE_SECONDS)
    return time.perf_counter() - start


def figures_of(engine: Engine, script: str, *arguments: str) -> dict[str, float]:
    """The JSON object that a script prints last; for scripts that measure themselves."""
    engine.check()
    done = subprocess.run(
        [*engine.command, str(BENCH_DIR / script), *arguments],
        capture_output=True, text=True, timeout=TIMEOUT_SECONDS, env=engine.environment(),
        check=False,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise RunFailed(f"{script}: {(done.stdout + done.stderr)[-OUTPUT_TAIL:]}")
    found: dict[str, float] = json.loads(lines[-1])
    return found


def _wait(process: subprocess.Popen[bytes], name: str) -> None:
    try:
        process.wait(TIMEOUT_SECONDS)
    except BaseException as error:
        end_tree(process.pid)
        process.wait()
        if isinstance(error, subprocess.TimeoutExpired):
            raise RunFailed(f"{name}: no end after {TIMEOUT_SECONDS} s") from None
        raise


def _figures(output: str, name: str, script: str) -> dict[str, float]:
    for line in output.splitlines():
        if line.startswith(RESULT_MARK):
            figures = json.loads(line.removeprefix(RESULT_MARK))
            return {key: float(value) for key, value in figures.items()}
    raise RunFailed(f"{name}: {script} printed no {RESULT_MARK.strip()} line")
