"""Jobs that are disturbed while they run, and the parts they are made of.

Everything here is deterministic: what a disturbed run gives must be what an undisturbed one gives.
"""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from headrace.common import Duration, Encoder, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors import (
    Boundedness,
    BucketAssigner,
    Committer,
    FileSink,
    RollingPolicy,
    Sink,
    SinkWriter,
    Source,
    Split,
    SplitEnumerator,
    SplitReader,
)
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor

IN_REAL_TIME = os.environ.get("HEADRACE_STREAM_MODE") == "real-time"
"""As in tests/conftest.py, which workers would have to import with all that it needs."""
LATE = OutputTag("late", Types.STRING())


def restart_at_once(env: StreamExecutionEnvironment) -> None:
    """A stream that loses a worker goes on as its restart strategy says; a batch needs none. In
    real time there are checkpoints to go on from only if somebody asks for them."""
    if IN_REAL_TIME and os.environ.get("HEADRACE_MODE") == "stream":
        env.enable_checkpointing(20)
    env.configuration.set_string("restart-strategy.type", "fixed-delay")
    env.configuration.set_string("restart-strategy.fixed-delay.attempts", "3")
    env.configuration.set_string("restart-strategy.fixed-delay.delay", "0 s")


class Numbers(Source[Any]):
    """(key, n) for n up to a limit, in splits that are read a few records at a time."""

    def __init__(self, limit: int, step: int, splits: int = 2, pause: float = 0):
        self.limit, self.step, self.count, self.pause = limit, step, splits, pause

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return Steps(self)

    def create_reader(self) -> SplitReader[Any]:
        return _Ranges(self.count)


class Steps(SplitEnumerator):
    def __init__(self, source: Numbers):
        self._source = source

    def splits(self) -> list[Split]:
        return [Split(f"part-{number}", number) for number in range(self._source.count)]

    def latest_position(self, split: Split, start: Any) -> Any:
        time.sleep(self._source.pause)
        return min(start + self._source.step, self._source.limit)


class _Ranges(SplitReader[Any]):
    def __init__(self, count: int):
        self._count = count

    def read(self, split: Split, start: Any, end: Any) -> Iterable[Any]:
        for n in range(start, end):
            yield f"key-{n % 7}", n * self._count + split.info


class Once:
    """Does something the first times it is asked, over all processes."""

    def __init__(self, folder: Path, times: int, act: Callable[[], None]):
        self._folder, self._times, self._act = folder, times, act

    def __call__(self) -> None:
        for number in range(self._times):
            try:
                (self._folder / f"done-{number}").touch(exist_ok=False)
            except FileExistsError:
                continue
            self._act()
            return

    @property
    def happened(self) -> int:
        return len(list(self._folder.glob("done-*")))


def kill_this_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def raise_an_error() -> None:
    raise RuntimeError("a passing trouble")


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Totals(KeyedProcessFunction):
    """Timers tell of each fifty numbers of a key; every tenth number goes aside."""

    def __init__(self, disturb: Callable[[], None] | None = None, at: int = 0):
        self._disturb, self._at = disturb, at

    def open(self, runtime_context: RuntimeContext) -> None:
        self._recent = runtime_context.get_list_state(ListStateDescriptor("recent", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if self._disturb is not None and value[1] >= self._at:
            self._disturb()
        self._recent.add(value[1])
        ctx.timer_service().register_event_time_timer(value[1] // 50 * 50 + 50)
        if value[1] % 10 == 0:
            yield LATE, f"tenth {value[1]}"

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        # Which records came before a timer depends on where micro-batches are cut: not said here.
        yield f"{ctx.get_current_key()} at {timestamp}"


class Sums(KeyedProcessFunction):
    """The running sum of each key, which shows a record that was counted twice or lost."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        total = (self._sum.value() or 0) + 1
        self._sum.update(total)
        yield f"{value[0]} #{total}"


class Ledger(Sink[Any]):
    """A two-phase sink of one file per subtask and micro-batch; a commit moves it into place."""

    def __init__(self, folder: Path, after_commit: Callable[[], None] | None = None):
        self.folder, self.after_commit = folder, after_commit

    def create_writer(self, task: Any) -> SinkWriter[Any]:
        return _LedgerWriter(self.folder, f"{task.subtask}-{task.batch_id}")

    def create_committer(self) -> Committer[Any]:
        return _LedgerCommitter(self.after_commit)


class _LedgerWriter(SinkWriter[Any]):
    def __init__(self, folder: Path, name: str):
        folder.mkdir(parents=True, exist_ok=True)
        # No attempt's name is ever given again: committing two of them would be seen.
        self._final = folder / f"{name}-{uuid.uuid4().hex}"
        self._prepared = folder / f".{self._final.name}"
        self._file = self._prepared.open("w")
        self._ready = False

    def write(self, value: Any, timestamp: int | None) -> None:
        self._file.write(f"{value}\n")

    def prepare_commit(self) -> list[Any]:
        self._file.flush()
        self._ready = True
        return [(str(self._prepared), str(self._final))]

    def close(self) -> None:
        self._file.close()
        if not self._ready:
            self._prepared.unlink(missing_ok=True)


class _LedgerCommitter(Committer[Any]):
    def __init__(self, after_commit: Callable[[], None] | None):
        self._after_commit = after_commit

    def commit(self, committables: list[Any]) -> None:
        for prepared, final in committables:
            if Path(prepared).exists():
                Path(prepared).rename(final)
        if self._after_commit is not None:
            self._after_commit()


def files(folder: Path) -> FileSink:
    return (
        FileSink.for_row_format(str(folder), Encoder.simple_string_encoder())
        .with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .build()
    )


def build(
    env: StreamExecutionEnvironment, source: Numbers, output: Path,
    disturb: Callable[[], None] | None = None, at: int = 0,
    after_commit: Callable[[], None] | None = None,
) -> DataStream:  # fmt: skip
    """State, timers, side output, two keyed levels, both kinds of sink."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(20)
    ).with_timestamp_assigner(EventTime())
    records = env.from_source(source, strategy, "numbers")
    records.map(lambda record: f"{record[0]} {record[1]}").sink_to(files(output / "read"))
    keyed = records.key_by(lambda record: record[0])
    totals = keyed.process(Totals(disturb, at), Types.STRING()).uid("totals")
    sums = keyed.process(Sums(), Types.STRING()).uid("sums")
    sums.sink_to(files(output / "sums"))
    totals.get_side_output(LATE).sink_to(Ledger(output / "tenths"))
    again = sums.map(lambda text: ("all", text)).key_by(lambda pair: pair[0])
    again.process(Sums(), Types.STRING()).sink_to(Ledger(output / "again", after_commit))
    return totals
