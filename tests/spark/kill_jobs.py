"""A job that is killed at named points, started again, and what must come of it in the end.

python -m tests.spark.kill_jobs <folder> <batches>

    KILL_JOBS_OPTIONS, KILL_JOBS_PARALLELISM    how it is set up
    KILL_JOBS_PAUSE, KILL_JOBS_SLOW             seconds that a source and a function take
    KILL_JOBS_MODES=real-time=9 micro-batch=9   once in each mode, in a folder of its own, with
                                                so many batches
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import sleep
from typing import Any

from headrace.common import Configuration, Duration, Encoder, Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headrace.datastream.connectors import FileSink, RollingPolicy
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from tests.conftest import ROOT
from tests.spark.conftest import visible
from tests.spark.fault_jobs import EventTime, Numbers
from tests.spark.test_operator_state import Tally
from tests.spark.test_two_phase_commit import DatabaseSink, create, rows

STEP = 6
"""Records that each of the two splits gives to a micro-batch."""
END_OF_TIME = 1 << 40


class Account(KeyedProcessFunction):
    """Numbers the records of each key; timers on the way, and one at the end that sums up."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self._seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        sleep(float(os.environ.get("KILL_JOBS_SLOW", "0")))
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        self._seen.add(value[1])
        ctx.timer_service().register_event_time_timer(_mark(value[1]))
        ctx.timer_service().register_event_time_timer(END_OF_TIME)
        yield value[0], f"#{count}"

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        key = ctx.get_current_key()
        if timestamp < END_OF_TIME:
            yield key, f"at {timestamp}"
        else:
            seen = sorted(self._seen.get() or ())
            yield key, f"has {self._count.value()}: {' '.join(map(str, seen))}"


def _mark(value: int) -> int:
    return value // 50 * 50 + 50


def source(batches: int, pause: float = 0) -> Numbers:
    return Numbers(limit=STEP * batches, step=STEP, pause=pause)


def expected(batches: int) -> Counter[str]:
    """What Account says, in plain Python."""
    seen: dict[str, list[int]] = {}
    for number in range(STEP * batches):
        for part in range(2):
            seen.setdefault(f"key-{number % 7}", []).append(number * 2 + part)
    lines: Counter[str] = Counter()
    for key, values in seen.items():
        lines.update(f"{key} #{count}" for count in range(1, len(values) + 1))
        lines.update({f"{key} at {_mark(value)}" for value in values})
        lines[f"{key} has {len(values)}: {' '.join(map(str, sorted(values)))}"] += 1
    return lines


def environment(folder: Path, **options: str) -> StreamExecutionEnvironment:
    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", str(folder / "checkpoints"))
    for key, value in options.items():
        settings.set_string(key.replace("__", "-").replace("_", "."), value)
    for option in os.environ.get("KILL_JOBS_OPTIONS", "").split():
        settings.set_string(*option.split("=", 1))
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(int(os.environ.get("KILL_JOBS_PARALLELISM", "2")))
    env.enable_checkpointing(50)
    return env


def build(env: StreamExecutionEnvironment, folder: Path, numbers: Numbers) -> None:
    """Keyed state, timers and operator state; files of both kinds and a database."""
    time = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(20))
    time = time.with_timestamp_assigner(EventTime())
    records = env.from_source(numbers, time, "numbers").uid("numbers")
    tallied = records.process(Tally(), Types.STRING()).uid("tally")
    tallied.sink_to(_files(folder / "tally", rolling=True)).uid("tallied")
    account = records.key_by(lambda record: record[0]).process(Account()).uid("account")
    lines = account.map(" ".join, Types.STRING()).uid("lines")
    lines.sink_to(_files(folder / "rolled", rolling=True)).uid("rolled")
    lines.sink_to(_files(folder / "kept", rolling=False)).uid("kept")
    account.add_sink(DatabaseSink(folder / "db")).uid("database")


def _files(folder: Path, *, rolling: bool) -> FileSink:
    sink = FileSink.for_row_format(str(folder), Encoder.simple_string_encoder())
    if rolling:
        sink = sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    return sink.build()


def prepared(folder: Path) -> Path:
    """A folder in which the job can run."""
    folder.mkdir(parents=True)
    create(folder / "db")
    return folder


def run(
    folder: Path, batches: int, timeout: float = 240, **environ: str
) -> subprocess.CompletedProcess[str]:
    """One life of the program, in a session of its own."""
    process = begin(folder, batches, **environ)
    try:
        out, messages = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, messages)


def begin(folder: Path, batches: int, **environ: str) -> subprocess.Popen[str]:
    """The program, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.spark.kill_jobs", str(folder), str(batches)], cwd=ROOT,
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        env={**os.environ, "HEADRACE_PARALLELISM": "1", **environ},
    )  # fmt: skip


def check_output(folder: Path, batches: int, *, moved: bool = False) -> None:
    """All sinks have exactly what an undisturbed run gives, and no file is left half done.

    What a killed worker had staged in the database nobody knows of: it stays there, unseen.
    `moved`: it ran at several parallelisms, so that subtasks took over each other's counts.
    """
    wanted = expected(batches)
    found = {name: lines_in(folder / name) for name in ("rolled", "kept")}
    found["db"] = rows(folder / "db")
    for name, lines in found.items():
        assert lines == wanted, (name, "too many", lines - wanted, "missing", wanted - lines)
    counts: dict[str, list[int]] = {}
    for line in lines_in(folder / "tally").elements():
        subtask, count, _ = line.split()
        counts.setdefault(subtask, []).append(int(count))
    for numbers in () if moved else counts.values():
        assert sorted(numbers) == list(range(1, len(numbers) + 1)), ("tally", sorted(numbers))
    tallied = sum(map(len, counts.values()))
    assert tallied == 2 * STEP * batches, ("tally", tallied)
    hidden = [path.name for name in ("rolled", "kept", "tally")
              for path in (folder / name).rglob(".*")]  # fmt: skip
    assert not hidden, hidden


def check_output_at_least_once(folder: Path, batches: int) -> None:
    """Nothing is missing; some records may count twice."""
    wanted = expected(batches)
    totals = {line for line in wanted if " has " in line}
    for name, found in (("rolled", lines_in(folder / "rolled")), ("db", rows(folder / "db"))):
        assert not set(wanted) - totals - set(found), name
        assert all(count == 1 for line, count in found.items() if " #" in line), name
        seen = {key: set(values.split()) for line in found if " has " in line
                for key, values in [(line.split()[0], line.partition(": ")[2])]}  # fmt: skip
        for line in totals:
            assert set(line.partition(": ")[2].split()) == seen[line.split()[0]], name


def check_nothing_wrong_yet(folder: Path, batches: int) -> None:
    """What a killed job has made visible is part of the result, and none of it is there twice."""
    wanted = expected(batches)
    for name in ("rolled", "kept"):
        assert not lines_in(folder / name) - wanted, name
    assert not rows(folder / "db") - wanted


def lines_in(folder: Path) -> Counter[str]:
    return Counter(line for file in visible(folder) for line in file.read_text().splitlines())


def calls(folder: Path) -> Counter[str]:
    """What was asked of the two-phase sink."""
    with closing(sqlite3.connect(folder / "db")) as database:
        return Counter(name for (name,) in database.execute("SELECT name FROM calls"))


def main() -> None:
    folder, modes = Path(sys.argv[1]), os.environ.get("KILL_JOBS_MODES", "").split()
    for asked in modes or [f"={sys.argv[2]}"]:
        mode, _, batches = asked.partition("=")
        place = folder / mode
        env = environment(place, **({"headrace_stream_mode": mode} if mode else {}))
        build(env, place, source(int(batches), float(os.environ.get("KILL_JOBS_PAUSE", "0"))))
        env.execute("killed")
    print("finished")


if __name__ == "__main__":
    main()
