"""What the jobs in real time are made of: a source, two counts one after the other, and files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from headrace.common import Configuration, Encoder, Types, WatermarkStrategy
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors import FileSink, RollingPolicy
from headrace.datastream.state import ValueStateDescriptor
from tests.spark.conftest import visible

KEYS = 10
PATIENCE = 180
"""Seconds, far more than anything here takes."""
_PAIR = Types.TUPLE([Types.INT(), Types.LONG()])


class Ticking(Source[Any]):
    """Numbers that come one after the other, some hundred in a second, from two splits.

    The clock gives them: on a slow machine a quick source is no more than work that piles up."""

    def __init__(self, limit: int | None, rate: int = 500):
        self.limit, self.rate = limit, rate

    def boundedness(self) -> Boundedness:
        endless = self.limit is None
        return Boundedness.CONTINUOUS_UNBOUNDED if endless else Boundedness.BOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return _Ticks(self.limit, self.rate)

    def create_reader(self) -> SplitReader[Any]:
        return _Numbers()


class _Ticks(SplitEnumerator):
    positions_count_records = True

    def __init__(self, limit: int | None, rate: int):
        self._limit, self._rate = limit, rate
        self._began = time.monotonic()
        self._first: dict[str, Any] = {}

    def splits(self) -> list[Split]:
        return [Split("even", 0), Split("odd", 1)]

    def latest_position(self, split: Split, start: Any) -> Any:
        if self._limit is not None:
            return self._limit
        first = self._first.setdefault(split.id, start)
        return max(start, first + int((time.monotonic() - self._began) * self._rate))


class _Numbers(SplitReader[Any]):
    def read(self, split: Split, start: Any, end: Any) -> Iterable[Any]:
        return [(2 * number + split.info) % KEYS for number in range(start, end)]


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield ctx.get_current_key(), count


def environment(folder: Path, mode: str, parallelism: int = 2, **options: str) -> Any:
    settings = Configuration()
    settings.set_string("headrace.stream.mode", mode)
    settings.set_string("execution.checkpointing.dir", str(folder / "checkpoints"))
    for key, value in options.items():
        settings.set_string(key.replace("__", "-").replace("_", "."), value)
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(parallelism)
    env.enable_checkpointing(100)
    return env


def build(
    env: StreamExecutionEnvironment, folder: Path, source: Source[Any], second: Count | None = None
) -> None:
    """Counts by key, and counts of those by half, into files."""
    count(env.from_source(source, WatermarkStrategy.no_watermarks(), "ticks").uid("ticks"), folder,
          second)  # fmt: skip


def count(numbers: DataStream, folder: Path, second: Count | None = None) -> None:
    once = numbers.key_by(lambda number: number).process(Count(), _PAIR).uid("once")
    twice = once.key_by(lambda pair: pair[0] % 2).process(second or Count(), _PAIR).uid("twice")
    for name, counts in (("once", once), ("twice", twice)):
        lines = counts.map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING()).uid(f"{name}-text")
        sink = FileSink.for_row_format(str(folder / name), Encoder.simple_string_encoder())
        sink = sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
        lines.sink_to(sink.build()).uid(f"{name}-files")


def is_exact(folder: Path) -> dict[str, Any]:
    """Each key's counts go from one to its number of records, each exactly once."""
    found: dict[str, Any] = {}
    for name in ("once", "twice"):
        lines = [line for file in visible(folder / name) for line in file.read_text().splitlines()]
        counts: dict[str, list[int]] = {}
        for line in lines:
            key, count = line.split()
            counts.setdefault(key, []).append(int(count))
        found[name] = sum(map(len, counts.values()))
        found[f"{name} exact"] = all(
            sorted(each) == list(range(1, len(each) + 1)) for each in counts.values()
        )
    return found


def flowed(folder: Path) -> bool:
    """Whether the last attempt of the job's last run was in real time."""
    runs = folder.glob("checkpoints/job-1/run-*")
    last = max(runs, key=lambda run: int(run.name.removeprefix("run-")))
    attempt = max(int(each.name.partition("-")[0]) for each in last.glob("attempts/*"))
    return (last / "spark" / str(attempt)).exists()


def wait_for_checkpoints(client: Any, count: int) -> None:
    counts = client.get_checkpoints().counts
    wait_for(lambda: counts().completed >= count, f"there were never {count} checkpoints")


def until_still(number: Callable[[], int]) -> bool:
    """Wait until a number does not change for a while; whether that came."""
    deadline, last = time.monotonic() + PATIENCE, -1
    while time.monotonic() < deadline:
        if last == (last := number()):
            return True
        time.sleep(1.5)
    return False


def wait_for(condition: Callable[[], Any], otherwise: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(otherwise)
        time.sleep(0.05)
