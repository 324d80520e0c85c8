"""Jobs in real time, all in one program: they share a Spark with slots for each of them.

python -m tests.spark.real_time_jobs <folder> <job> …
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cloudpickle

from headrace.common import Configuration, Time, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.connectors.tables import register_connector
from headrace.core.logical_types import RowType
from headrace.core.table_connector import CatalogTable, TableConnector, TableSource
from headrace.datastream import (
    AsyncFunction,
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
    collecting,
)
from headrace.datastream.async_data_stream import AsyncDataStream
from headrace.datastream.connectors import FileSource, StreamFormat
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import CorruptState, HeadraceError
from headrace.jobs.load import OperatorLoad
from headrace.runtime.flow.checkpoint import Checkpoint
from headrace.runtime.flow.splits import is_within
from headrace.spark.file_store import LocalStore
from headrace.spark.flow.checkpoint_files import last_checkpoint
from headrace.spark.flow.self_test import why_not_real_time
from headrace.spark.session import get_session
from headrace.table import StreamTableEnvironment
from tests.spark import real_time_parts
from tests.spark.conftest import visible
from tests.spark.real_time_parts import (
    KEYS,
    PATIENCE,
    Count,
    Ticking,
    build,
    count,
    environment,
    flowed,
    is_exact,
    until_still,
    wait_for,
    wait_for_checkpoints,
)

FILES, LINES = 4, 4000
AUTO, REAL_TIME, MICRO_BATCH = "auto", "real-time", "micro-batch"
SLOTS = 16
"""What the largest job asks for: else Spark would be started anew for it."""


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
    why_not = _once_the_machine_is_quick(folder)
    _once_the_machine_is_quick(None)  # what the job will find
    kept = [json.loads(file.read_text()) for file in folder.glob("real-time-*")]
    env = environment(folder, AUTO)
    build(env, folder, Ticking(None))
    client = env.execute_async("chosen")
    wait_for_checkpoints(client, 3)
    client.cancel().result()
    return {"why not": why_not, "kept": kept, "flowed": flowed(folder), **is_exact(folder)}


def _once_the_machine_is_quick(kept_in: Path | None) -> str | None:
    """What the self-test says; it refuses a machine that is busy, and keeps nothing then."""
    session, said = get_session(slots=SLOTS), []

    def is_quick() -> bool:
        said.append(why_not_real_time(session, "127.0.0.1", kept_in=kept_in))
        return not (said[-1] or "").startswith("rows take ")

    wait_for(is_quick, "the machine was never quick enough for the self-test")
    return said[-1]


def moved_about(folder: Path) -> dict[str, Any]:
    """One folder, one job: at another parallelism each time, and in both modes."""
    ways: list[bool] = []
    lives = [(REAL_TIME, 2), (REAL_TIME, 3), (MICRO_BATCH, 1), (REAL_TIME, 2)]
    for mode, parallelism in lives:
        env = environment(folder, mode, parallelism)
        build(env, folder, Ticking(None))
        client = env.execute_async("moved about")
        wait_for_checkpoints(client, 3)
        client.cancel().result()
        ways.append(flowed(folder))
    return {**is_exact(folder), "flowed": ways}


def saved(folder: Path) -> dict[str, Any]:
    """A savepoint while it runs, one to stop with, and a start from it in another folder."""
    env = environment(folder, REAL_TIME)
    build(env, folder, Ticking(None))
    client = env.execute_async("saved")
    # The first checkpoints may come before the first record.
    wait_for(lambda: client.query_state("once", "count", 0), "no checkpoint has a count")
    counts = [client.query_state("once", "count", key) for key in range(KEYS)]
    asked = {"by key": sum(count or 0 for count in counts),
             "all": sum(row.value for row in client.state("once", "count").collect())}  # fmt: skip
    aside = client.trigger_savepoint(str(folder / "savepoints")).result()
    stopped = client.stop_with_savepoint(False, str(folder / "savepoints")).result()
    before = is_exact(folder)
    env = environment(folder / "other", REAL_TIME, 1, execution_state__recovery_path=stopped)
    build(env, folder, Ticking(None))
    client = env.execute_async("resumed")
    wait_for(lambda: is_exact(folder)["once"] > before["once"], "nothing new was counted")
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
    wait_for(lambda: _load(client, "twice").busy > 0.9, "the slow function is not busy")
    wait_for(lambda: _load(client, "once").backpressured > 0.3, "nobody waits for it")
    wait_for(lambda: any(_persisted(client)), "no checkpoint has overtaken anything")
    found: dict[str, Any] = {"checkpoints": client.get_checkpoints().to_json()["history"]}
    wait_for(lambda: client.get_lag()["ticks"].records_behind, "it is not behind")
    found["behind"] = client.get_lag()["ticks"].records_behind
    found["in flight"] = []
    for parallelism in (1, 3):
        # From here on there is always more than it can take.
        wait_for(lambda of=client: any(_persisted(of)), "no checkpoint has overtaken anything")
        client.cancel().result()
        found["in flight"].append(_has_kept_records(folder))
        client = _slow_job(folder, parallelism)
    wait_for_checkpoints(client, 2)
    client.stop_with_savepoint(False, str(folder / "savepoints")).result()
    return {**found, **is_exact(folder)}


def _has_kept_records(folder: Path) -> bool:
    """Whether the last checkpoint has records that were on their way."""
    runs = sorted(folder.glob("checkpoints/job-1/run-*"), key=lambda run: int(run.name[4:]))
    written = sorted(runs[-1].glob("checkpoints/*"), key=lambda file: int(file.name.split("-")[0]))
    return "in_flight" in written[-1].read_text()


def _persisted(client: Any) -> list[int]:
    """How much the complete checkpoints of a job have overtaken."""
    history = client.get_checkpoints().to_json()["history"]
    return [each["persisted_data"] for each in history if each["status"] == "COMPLETED"]


def _slow_job(folder: Path, parallelism: int) -> Any:
    env = environment(folder, REAL_TIME, parallelism)
    env.get_checkpoint_config().enable_unaligned_checkpoints()
    build(env, folder, Ticking(None, rate=1_000_000), Slow())
    return env.execute_async("overtaken")


def _load(client: Any, uid: str) -> OperatorLoad:
    return client.get_load().get(uid, OperatorLoad(uid, 0.0, 0.0, 1.0))


class Slow(Count):
    """Counts, and takes its time."""

    pause = 0.0003

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        time.sleep(self.pause)
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
    """Fails when a file is there; slow until another is: a failure and a start are over long before
    it has seen everything."""

    pause = 0.001

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
    wait_for(lambda: any(_read_in_part(folder)), "no checkpoint is within a file")
    (folder / "fails").touch()
    wait_for(lambda: client.get_checkpoints().counts().restored > 0, "it has not failed")
    wait_for_checkpoints(client, client.get_checkpoints().counts().completed + 2)
    client.cancel().result()
    found: dict[str, Any] = {"read in part": _read_in_part(folder), "flowed": [flowed(folder)]}
    (folder / "hurries").touch()
    for file, (mode, parallelism) in enumerate(((MICRO_BATCH, 1), (REAL_TIME, 2)), 2):
        client = _start_reading_by_spark(folder, mode, parallelism)
        _add_json(folder, file, 10)
        wanted = 2 * TICKS + NATIVE + IN_FILES + 10 * (file - 1)
        wait_for(lambda wanted=wanted: _lines(folder / "twice") >= wanted, "rows are missing")
        # The checkpoint that told of the last row may have come before the end of its file.
        wait_for(lambda: not _read_in_part(folder), "the last file has no end")
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


def _lines(folder: Path) -> int:
    return sum(file.read_bytes().count(b"\n") for file in visible(folder))


def _read_in_part(folder: Path) -> list[str]:
    """Of the last checkpoint: splits of which some was read, and not all."""
    last = _last_checkpoint(folder)
    positions = {} if last is None else last.positions
    splits = {id: at for splits in positions.values() for id, (_, at) in splits.items()}
    return sorted(Path(id).name for id, at in splits.items() if is_within(at))


def _last_checkpoint(folder: Path) -> Checkpoint | None:
    """Of a job that may be running: then a later one takes its place while it is being read."""
    runs = sorted(folder.glob("checkpoints/job-1/run-*"), key=lambda run: int(run.name[4:]))
    deadline = time.monotonic() + PATIENCE
    while runs:
        try:
            return last_checkpoint(LocalStore(runs[-1]))
        except CorruptState:
            if time.monotonic() > deadline:
                raise
    return None


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


def left_waiting(folder: Path) -> dict[str, Any]:
    """Sources pause while nobody takes what is collected; nothing is lost when somebody does."""
    collecting._MOST = 500
    settings = Configuration().set_string("headrace.stream.mode", REAL_TIME)
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(2)
    source = Ticking(None, 2000)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "ticks")
    with numbers.key_by(lambda number: number % 2).process(Echo()).execute_and_collect() as records:
        found = [next(records)]
        wait_for(lambda: records.is_full, "too much to be taken")
        pauses = until_still(lambda: records.came)
        went_on = records.came + 5000
        while len(found) < went_on:
            found.append(next(records))
    orders = [[value for value in found if value % 2 == odd][: len(found) // 4] for odd in (0, 1)]
    expected = [[number % KEYS for number in range(odd, KEYS * 10**4, 2)] for odd in (0, 1)]
    right = [mine == wanted[: len(mine)] for mine, wanted in zip(orders, expected, strict=True)]
    return {"pauses": pauses, "right": right}


class Echo(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        yield value


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
        left_waiting,
    )
}


def main() -> None:
    # Workers would import that module, and with it all that tests need, one after the other.
    cloudpickle.register_pickle_by_value(real_time_parts)
    get_session(slots=SLOTS)
    folder = Path(sys.argv[1])
    for name in sys.argv[2:]:
        (folder / name).mkdir()
        began = time.monotonic()
        result = JOBS[name](folder / name)
        result["seconds"] = round(time.monotonic() - began, 1)
        (folder / f"{name}.json").write_text(json.dumps(result))


if __name__ == "__main__":
    main()
