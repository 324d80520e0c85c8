"""A job that is killed at named points, started again, and what must come of it in the end.

python -m tests.spark.kill_jobs <folder> <batches>

    KILL_JOBS_OPTIONS, KILL_JOBS_PARALLELISM    how it is set up
    KILL_JOBS_PAUSE, KILL_JOBS_SLOW             seconds that a source and a function take
    KILL_JOBS_AHEAD                             how many batches the source reads at most before
                                                the next checkpoint is complete
    KILL_JOBS_HOLD                              1: the last batch comes when the file `go` is there
    KILL_JOBS_MODES=real-time=9 micro-batch=9   once in each mode, in a folder of its own, with
                                                so many batches
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import sleep
from typing import Any

import cloudpickle

import tests
from headrace.common import Configuration, Duration, Encoder, Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headrace.datastream.connectors import FileSink, RollingPolicy, Split, SplitEnumerator
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from tests.conftest import ROOT
from tests.spark.conftest import visible
from tests.spark.fault_jobs import EventTime, Numbers
from tests.spark.sessions import send
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


class Patient(Numbers):
    """Reads only some batches before the next checkpoint is complete: however slow checkpoints
    are, it has something left to give for the later ones."""

    def __init__(self, batches: int, pause: float, ahead: int, folder: Path, *, holds: bool):
        super().__init__(STEP * batches, STEP, pause=pause)
        self.ahead, self.folder, self.holds = ahead, folder, holds

    @property
    def upto(self) -> int:
        """How much there is by now."""
        waits = self.holds and not (self.folder / "go").exists()
        return self.limit - self.step if waits else self.limit

    def create_enumerator(self) -> SplitEnumerator:
        return _Waiting(self)


class _Waiting(SplitEnumerator):
    def __init__(self, source: Patient):
        self._source = source
        self._begun: dict[str, tuple[Any, int]] = {}
        """By split: the last checkpoint, and where it was when that was new."""

    def splits(self) -> list[Split]:
        return [Split(f"part-{number}", number) for number in range(self._source.count)]

    def latest_position(self, split: Split, start: Any) -> Any:
        source = self._source
        sleep(source.pause)
        found = max(checkpoints(source.folder), default=None)
        if split.id not in self._begun or self._begun[split.id][0] != found:
            self._begun[split.id] = found, start
        most = self._begun[split.id][1] + source.ahead * source.step
        return max(start, min(start + source.step, most, source.upto))

    def is_at_end(self, split: Split, position: Any) -> bool:
        return bool(position == self._source.limit)


def checkpoints(folder: Path) -> list[tuple[int, int, int]]:
    """Run, number and attempt of the complete checkpoints that are there."""
    try:
        paths = list(folder.glob("checkpoints/job-1/run-*/checkpoints/*"))
    except FileNotFoundError:  # a run that was removed just now
        return checkpoints(folder)
    found = [
        (path.parts[-3].removeprefix("run-"), *path.name.partition("-")[::2]) for path in paths
    ]
    return [
        (int(run), int(number), int(attempt))
        for run, number, attempt in found
        if number.isdigit() and attempt.isdigit()
    ]


def patient(batches: int, folder: Path) -> Patient:
    """The source of a job that a test kills; to be called in the job's own program."""
    # Workers would import these modules, and with them all that tests need, one after the other.
    cloudpickle.register_pickle_by_value(tests)
    given = os.environ
    pause, ahead = given.get("KILL_JOBS_PAUSE", "0"), given.get("KILL_JOBS_AHEAD", "4")
    holds = given.get("KILL_JOBS_HOLD") == "1"
    return Patient(batches, float(pause), int(ahead), folder, holds=holds)


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
    finally:
        send(process.pid, signal.SIGKILL)
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
        build(env, place, patient(int(batches), place))
        env.execute("killed")
    print("finished")


if __name__ == "__main__":
    main()
