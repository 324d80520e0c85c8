"""Jobs in real time, all in one program: it needs more slots than the session of the other tests.

python -m tests.spark.real_time_jobs <folder> <job> …
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from headrace.common import Configuration, Encoder, Time, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.connectors.tables import register_connector
from headrace.core.logical_types import RowType
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader
from headrace.core.table_connector import CatalogTable, TableConnector, TableSource
from headrace.datastream import (
    AsyncFunction,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.async_data_stream import AsyncDataStream
from headrace.datastream.connectors import FileSink, FileSource, RollingPolicy, StreamFormat
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import HeadraceError
from headrace.jobs.load import OperatorLoad
from headrace.runtime.flow.splits import is_within
from headrace.spark.file_store import LocalStore
from headrace.spark.flow.checkpoint_files import last_checkpoint
from headrace.spark.flow.self_test import why_not_real_time
from headrace.spark.session import get_session
from headrace.table import StreamTableEnvironment
from tests.spark.conftest import visible

KEYS = 10
FILES, LINES = 4, 4000
_PAIR = Types.TUPLE([Types.INT(), Types.LONG()])
AUTO, REAL_TIME, MICRO_BATCH = "auto", "real-time", "micro-batch"


class Ticking(Source[Any]):
    """Numbers that come one after the other, some thousand in a second, from two splits."""

    def __init__(self, limit: int | None, rate: int = 4000):
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
    """Whether the job's last run was in real time."""
    return any(folder.glob("checkpoints/job-1/run-*/spark/*"))


def to_the_end(folder: Path) -> dict[str, Any]:
    """A source that ends: everything is counted, and the job comes to its end."""
    env = environment(folder, REAL_TIME)
    build(env, folder, Ticking(3000))
    env.execute("to the end")
    return {**is_exact(folder), "flowed": flowed(folder)}


def at_least_once(folder: Path) -> dict[str, Any]:
    """Nobody waits at a barrier, and no record for another: where nothing fails, all is exact."""
    env = environment(
        folder, REAL_TIME, execution_checkpointing_mode="AT_LEAST_ONCE",
        execution_buffer__timeout_interval="0 ms",
    )  # fmt: skip
    build(env, folder, Ticking(3000))
    env.execute("at least once")
    return is_exact(folder)


class _FirstNumber(TimestampAssigner):
    def extract_timestamp(self, value: str, record_timestamp: int) -> int:
        return int(value.split()[0])


def in_order(folder: Path) -> dict[str, Any]:
    """Files that follow each other in time, several for each task: nothing in them is late."""
    (folder / "in").mkdir()
    for file in range(FILES):
        times = range(file * LINES, (file + 1) * LINES)
        (folder / "in" / f"{file}").write_text("".join(f"{at} {'.' * 1000}\n" for at in times))
    env = environment(folder, REAL_TIME, pipeline_auto__watermark__interval="1 ms")
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    lines = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(folder / "in")
    ).build()
    late = OutputTag("late", Types.STRING())
    counts = (
        env.from_source(lines, WatermarkStrategy.no_watermarks(), "lines")
        .assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(_FirstNumber()))
        .key_by(lambda line: int(line.split()[0]) % 2, Types.INT())
        .window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
        .side_output_late_data(late)
        .apply(lambda key, window, lines: [len(list(lines))], Types.INT())
    )
    ones = counts.get_side_output(late).map(lambda line: -1, Types.INT())
    with counts.union(ones).execute_and_collect() as found:
        results = list(found)
    return {
        "lines": sum(results),
        "late": results.count(-1),
        "flowed": flowed(folder),
    }


def chosen(folder: Path) -> dict[str, Any]:
    """What is to be found out by itself: real time for this job, micro-batches for that."""
    session = get_session(slots=12)
    why_not = why_not_real_time(session, "127.0.0.1", kept_in=folder)
    kept = [json.loads(file.read_text()) for file in folder.glob("real-time-*")]
    env = environment(folder, AUTO)
    build(env, folder, Ticking(None))
    client = env.execute_async("chosen")
    _wait_for_checkpoints(client, 3)
    client.cancel().result()
    return {"why not": why_not, "kept": kept, "flowed": flowed(folder), **is_exact(folder)}


def moved_about(folder: Path) -> dict[str, Any]:
    """One folder, one job: at another parallelism each time, and in both modes."""
    ways: list[bool] = []
    lives = [(REAL_TIME, 2), (REAL_TIME, 4), (MICRO_BATCH, 1), (REAL_TIME, 2)]
    for mode, parallelism in lives:
        env = environment(folder, mode, parallelism)
        build(env, folder, Ticking(None))
        client = env.execute_async("moved about")
        _wait_for_checkpoints(client, 3)
        client.cancel().result()
        ways.append(flowed(folder))
    return {**is_exact(folder), "flowed": ways}


def saved(folder: Path) -> dict[str, Any]:
    """A savepoint while it runs, one to stop with, and a start from it in another folder."""
    env = environment(folder, REAL_TIME)
    build(env, folder, Ticking(None))
    client = env.execute_async("saved")
    counts = [client.query_state("once", "count", key) for key in range(KEYS)]
    asked = {"by key": sum(count or 0 for count in counts),
             "all": sum(row.value for row in client.state("once", "count").collect())}  # fmt: skip
    aside = client.trigger_savepoint(str(folder / "savepoints")).result()
    stopped = client.stop_with_savepoint(False, str(folder / "savepoints")).result()
    before = is_exact(folder)
    env = environment(folder / "other", REAL_TIME, 1, execution_state__recovery_path=stopped)
    build(env, folder, Ticking(None))
    client = env.execute_async("resumed")
    _wait_for_checkpoints(client, 2)
    client.stop_with_savepoint(True, str(folder / "savepoints")).result()
    return {
        "flowed": flowed(folder),
        "aside": Path(aside).name,
        "asked": asked,
        "before": before,
        "after": is_exact(folder),
    }


def overtaken(folder: Path) -> dict[str, Any]:
    """A slow function, and sources that read on: barriers overtake what waits for it."""
    client = _slow_job(folder, 2)
    _wait_for(lambda: _load(client, "twice").busy > 0.9)
    _wait_for(lambda: _load(client, "once").backpressured > 0.3)
    found: dict[str, Any] = {"checkpoints": client.get_checkpoints().to_json()["history"]}
    _wait_for(lambda: client.get_lag()["ticks"].records_behind is not None)
    found["behind"] = client.get_lag()["ticks"].records_behind
    found["in flight"] = []
    for parallelism in (1, 3):
        client.cancel().result()
        found["in flight"].append(_has_kept_records(folder))
        client = _slow_job(folder, parallelism)
        _wait_for_checkpoints(client, 2)
    client.stop_with_savepoint(False, str(folder / "savepoints")).result()
    return {**found, **is_exact(folder)}


def _has_kept_records(folder: Path) -> bool:
    """Whether the last checkpoint has records that were on their way."""
    runs = sorted(folder.glob("checkpoints/job-1/run-*"), key=lambda run: int(run.name[4:]))
    written = sorted(runs[-1].glob("checkpoints/*"), key=lambda file: int(file.name.split("-")[0]))
    return "in_flight" in written[-1].read_text()


def _slow_job(folder: Path, parallelism: int) -> Any:
    env = environment(folder, REAL_TIME, parallelism)
    env.get_checkpoint_config().enable_unaligned_checkpoints()
    build(env, folder, Ticking(None, rate=1_000_000), Slow())
    return env.execute_async("overtaken")


def _load(client: Any, uid: str) -> OperatorLoad:
    return client.get_load().get(uid, OperatorLoad(uid, 0.0, 0.0, 1.0))


class Slow(Count):
    """Counts, and takes its time."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        time.sleep(0.0003)
        yield from super().process_element(value, ctx)


class Numbers(TableConnector):
    """Numbers that only Spark reads, in no order that would be the same the next time."""

    def source(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSource:
        return _Shuffled()


class _Shuffled(TableSource):
    def native(self, session: Any, files: list[str] | None = None) -> Any:
        return session.range(NATIVE).toDF("n").repartition(4)


TICKS, NATIVE, IN_FILES = 200, 500, 20_000


class FailsOnce(Slow):
    """Fails when a file is there; slow as long as another is."""

    def __init__(self, fails: Path, hurries: Path):
        self._fails, self._hurries = fails, hurries

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        if self._fails.exists():
            self._fails.unlink()
            raise ValueError("on purpose")
        slow = not self._hurries.exists()
        yield from (super() if slow else super(Slow, self)).process_element(value, ctx)


def read_by_spark(folder: Path) -> dict[str, Any]:
    """Files and a table that only Spark reads, beside a source that ends: a failure and another
    mode while only a part of a file was read."""
    register_connector(Numbers("numbers"))
    (folder / "in").mkdir()
    _add_json(folder, 1, IN_FILES)
    client = _start_reading_by_spark(folder, REAL_TIME, 2)
    _wait_for(lambda: any(_read_in_part(folder)))
    (folder / "fails").touch()
    _wait_for(lambda: client.get_checkpoints().counts().restored > 0)
    _wait_for_checkpoints(client, client.get_checkpoints().counts().completed + 2)
    client.cancel().result()
    found: dict[str, Any] = {"read in part": _read_in_part(folder), "flowed": [flowed(folder)]}
    (folder / "hurries").touch()
    for file, (mode, parallelism) in enumerate(((MICRO_BATCH, 1), (REAL_TIME, 2)), 2):
        client = _start_reading_by_spark(folder, mode, parallelism)
        _add_json(folder, file, 10)
        wanted = 2 * TICKS + NATIVE + IN_FILES + 10 * (file - 1)
        while sum(part.read_bytes().count(b"\n") for part in visible(folder / "twice")) < wanted:
            time.sleep(0.2)
        # The checkpoint that told of the last row may have come before the end of its file.
        _wait_for(lambda: not _read_in_part(folder))
        client.cancel().result()
        found["flowed"].append(flowed(folder))
    return {**found, **is_exact(folder)}


def _start_reading_by_spark(folder: Path, mode: str, parallelism: int) -> Any:
    env = environment(folder, mode, parallelism)
    tables = StreamTableEnvironment.create(env)
    tables.execute_sql(
        "CREATE TABLE files (n BIGINT) WITH ('connector' = 'filesystem', 'format' = 'json', "
        f"'path' = '{folder / 'in'}', 'source.monitor-interval' = '1 s')"
    )
    tables.execute_sql("CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'numbers')")
    ticks = env.from_source(Ticking(TICKS), WatermarkStrategy.no_watermarks(), "ticks").uid("ticks")
    for name in ("files", "numbers"):
        rows = tables.to_data_stream(tables.from_path(name))
        ticks = ticks.union(rows.map(lambda row: row[0] % KEYS, Types.INT()).uid(name))
    count(ticks, folder, FailsOnce(folder / "fails", folder / "hurries"))
    return env.execute_async("read by Spark")


def _add_json(folder: Path, number: int, rows: int) -> None:
    file = folder / f"{number}.json"
    file.write_text("".join(f'{{"n": {at}}}\n' for at in range(rows)))
    file.rename(folder / "in" / file.name)


def _read_in_part(folder: Path) -> list[str]:
    """Of the last checkpoint: splits that were neither begun nor read to their end."""
    runs = sorted(folder.glob("checkpoints/job-1/run-*"), key=lambda run: int(run.name[4:]))
    last = last_checkpoint(LocalStore(runs[-1])) if runs else None
    positions = {} if last is None else last.positions
    splits = {id: at for splits in positions.values() for id, (_, at) in splits.items()}
    return sorted(Path(id).name for id, at in splits.items() if is_within(at))


def failing(folder: Path) -> dict[str, Any]:
    """A function that fails is told with its line, by whichever task it fails in."""
    env = environment(folder, REAL_TIME, restart__strategy_type="none")
    numbers = env.from_source(Ticking(2000), WatermarkStrategy.no_watermarks(), "ticks")
    numbers.key_by(lambda number: number).map(lambda number: 1 // (number - 3)).print()
    try:
        env.execute("failing")
    except HeadraceError as error:
        return {"error": str(error)}
    return {}


class Asked(AsyncFunction[Any, Any]):
    """Never answers the first record, and fails when a file is there."""

    def __init__(self, fails: Path):
        self._fails = fails

    def open(self, runtime_context: RuntimeContext) -> None:
        self._calls = 0

    async def async_invoke(self, value: Any) -> list[Any]:
        self._calls += 1
        if self._calls == 1:
            await asyncio.Event().wait()
        if self._fails.exists():
            raise ValueError("on purpose")
        return [value]


def asked(folder: Path) -> dict[str, Any]:
    """Answers leave while others are owed; without checkpoints nothing is collected twice."""
    settings = Configuration().set_string("headrace.stream.mode", REAL_TIME)
    settings.set_string("restart-strategy.type", "fixed-delay")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(1)
    numbers = env.from_source(Ticking(None, 200), WatermarkStrategy.no_watermarks(), "ticks")
    found = 0
    try:
        never = Time.milliseconds(0)
        answers = AsyncDataStream.unordered_wait(numbers, Asked(folder / "fails"), never, 10_000)
        with answers.execute_and_collect() as records:
            for _ in records:
                found += 1
                if found == 20:
                    (folder / "fails").touch()
    except HeadraceError as error:
        return {"found": found, "error": str(error)}
    return {}


def _wait_for_checkpoints(client: Any, count: int) -> None:
    _wait_for(lambda: client.get_checkpoints().counts().completed >= count)


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


JOBS = {
    job.__name__: job
    for job in (
        to_the_end,
        in_order,
        at_least_once,
        chosen,
        moved_about,
        saved,
        overtaken,
        read_by_spark,
        failing,
        asked,
    )
}


def main() -> None:
    folder = Path(sys.argv[1])
    for name in sys.argv[2:]:
        (folder / name).mkdir()
        began = time.monotonic()
        result = JOBS[name](folder / name)
        result["seconds"] = round(time.monotonic() - began, 1)
        (folder / f"{name}.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
