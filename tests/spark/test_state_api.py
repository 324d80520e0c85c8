"""Savepoints read, made and changed as DataFrames; the state of running jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit, struct

from headrace.common import Row, Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from headrace.errors import CorruptState, InvalidArgument
from headrace.jobs.client import JobClient
from headrace.state import SavepointWriter, read_savepoint
from headrace.state.sql import query
from tests.spark.conftest import wait_until
from tests.spark.savepoint_jobs import Tap, every_state, expected, settings, to_files

LinesOf = Callable[[Path], Counter[str]]


class Everything(KeyedProcessFunction):
    """Adds to a state of each kind and says what all hold, with the types of what it found."""

    def open(self, runtime_context: RuntimeContext) -> None:
        pair = Types.TUPLE([Types.STRING(), Types.LONG()])
        profile = Types.ROW_NAMED(["name", "visits"], [Types.STRING(), Types.LONG()])
        ctx = runtime_context
        self.count = ctx.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.last = ctx.get_state(ValueStateDescriptor("last", pair))
        self.profile = ctx.get_state(ValueStateDescriptor("profile", profile))
        self.seen = ctx.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.marks = ctx.get_map_state(MapStateDescriptor("marks", Types.STRING(), Types.DOUBLE()))

    def process_element(self, value: int, ctx: Any) -> Iterator[str]:
        self.count.update((self.count.value() or 0) + 1)
        self.seen.add(value)
        parts = [self.count.value(), self.last.value(), self.profile.value(),
                 list(self.seen.get() or ()), dict(sorted(self.marks.items()))]  # fmt: skip
        yield f"{ctx.get_current_key()} {parts}"

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        yield f"{ctx.get_current_key()} at {timestamp}"


class Bench:
    """Starts jobs of a test and reads what they wrote."""

    def __init__(self, folder: Path, lines_of: LinesOf):
        self.folder = folder
        self.valve = folder / "valve"
        self.valve.write_text("0")
        self.out = folder / "out"
        self._lines_of = lines_of

    def start(self, parallelism: int, run: str, job: Any, **more: str) -> JobClient:
        env = StreamExecutionEnvironment.get_execution_environment(
            settings(self.folder / run, **more)
        )
        env.set_parallelism(parallelism)
        env.enable_checkpointing(50)
        to_files(job(env, self.valve), self.out)
        return env.execute_async("a job")

    def lines(self) -> Counter[str]:
        return self._lines_of(self.out)

    def results(self) -> Counter[str]:
        """The lines that are not of timers."""
        return Counter({line: n for line, n in self.lines().items() if " at " not in line})

    def wait_for(self, lines: int) -> None:
        wait_until(lambda: self.results().total() >= lines)


@pytest.fixture
def bench(tmp_path: Path, lines_of: LinesOf) -> Bench:
    return Bench(tmp_path, lines_of)


def everything(env: StreamExecutionEnvironment, valve: Path) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    numbers = env.from_source(Tap(valve, 1), strategy, "tap", Types.LONG())
    return numbers.key_by(lambda value: value % 4, Types.LONG()).process(
        Everything(), Types.STRING()
    ).uid("everything")  # fmt: skip


def bootstrapped(spark: SparkSession, path: Path) -> str:
    keys = spark.range(4).withColumnRenamed("id", "key")
    last = keys.withColumn("value", struct(lit("k").alias("a"), col("key").alias("b")))
    profile = keys.withColumn("value", struct(col("key").alias("visits"), lit("n").alias("name")))
    seen = spark.createDataFrame([(1, [10, 20])], "key int, value array<int>")
    marks = spark.createDataFrame(
        [(2, "x", 1.5), (2, "y", 2.5)], "key long, map_key string, value double"
    )
    timers = spark.createDataFrame([(3, 5)], "key long, time long")
    text = Types.STRING()
    return (
        SavepointWriter.new()
        .with_state("everything", "count", keys.withColumn("value", col("key") + 100))
        .with_state("everything", "last", last, value_type=Types.TUPLE([text, Types.LONG()]))
        .with_state("everything", "profile", profile,
                    value_type=Types.ROW_NAMED(["name", "visits"], [text, Types.LONG()]))
        .with_state("everything", "seen", seen, "list", key_type=Types.LONG(),
                    value_type=Types.LONG())
        .with_state("everything", "marks", marks, "map")
        .with_timers("everything", timers)
        .write(path)
    )  # fmt: skip


@pytest.mark.smoke
def test_bootstrap(spark: SparkSession, bench: Bench, tmp_path: Path) -> None:
    """A job starts from what DataFrames say, with the Python types it declares."""
    path = bootstrapped(spark, tmp_path / "made")
    client = bench.start(3, "run", everything, execution_state__recovery_path=path)
    bench.valve.write_text("4")
    wait_until(lambda: bench.lines().total() >= 5)
    client.cancel().result(60)
    want = [
        f"{key} {[101 + key, ('k', key), Row(name='n', visits=key), seen, marks]}"
        for key, seen, marks in [(0, [0], {}), (1, [10, 20, 1], {}),
                                 (2, [2], {"x": 1.5, "y": 2.5}), (3, [3], {})]
    ]  # fmt: skip
    assert bench.lines() == Counter([*want, "3 at 5"])


def test_read_transform_and_rename(spark: SparkSession, bench: Bench, tmp_path: Path) -> None:
    client = bench.start(2, "run", every_state)
    bench.valve.write_text("200")
    bench.wait_for(200)
    saved = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result(120)
    reader = read_savepoint(saved)
    assert {state.name: (state.kind, state.rows) for state in reader.states("every-state")} == {
        "count": ("value", 7), "seen": ("list", 7), "by rest": ("map", 21), "total": ("value", 7),
        "largest": ("value", 7), "_timers": ("timers", 7),
    }  # fmt: skip
    assert "every-state" in [operator.uid for operator in reader.operators()]
    counts = {row.key: row.value for row in reader.state("every-state", "count").collect()}
    assert counts == {key: len(range(key, 200, 7)) for key in range(7)}
    assert {row.time for row in reader.timers("every-state").collect()} == {1999}
    _same_from_the_checkpoint(tmp_path / "run", counts)
    with pytest.raises(InvalidArgument, match="'count'"):
        reader.state("every-state", "cuont")

    changed = (
        SavepointWriter.from_existing(saved)
        .transform("every-state", "total", lambda frame: frame.withColumn("value", lit(0)))
        .remove_state("every-state", "largest")
        .change_uid("every-state", "renamed")
        .write(tmp_path / "changed")
    )
    found = read_savepoint(changed)
    names = {state.name for state in found.states("renamed")}
    assert names == {"count", "seen", "by rest", "total", "_timers"}
    assert {row.value for row in found.state("renamed", "total").collect()} == {0}
    assert found.metadata.sources == reader.metadata.sources
    bench.out = tmp_path / "again"
    again = bench.start(1, "again-run", _renamed, execution_state__recovery_path=changed)
    bench.valve.write_text("207")
    bench.wait_for(7)
    again.cancel().result(60)
    for line in expected(207)[200:]:
        key, count, seen = line.split()[:3]
        assert any(got.startswith(f"{key} {count} {seen}") for got in bench.lines())
    totals = sorted(int(line.split()[-2]) for line in bench.results())
    assert totals == list(range(200, 207))


def _same_from_the_checkpoint(folder: Path, counts: dict[int, int]) -> None:
    with read_savepoint(folder) as reader:
        frame = reader.state("every-state", "count")
        assert {row.key: row.value for row in frame.collect()} == counts


def _renamed(env: StreamExecutionEnvironment, valve: Path) -> Any:
    return every_state(env, valve).uid("renamed")


def test_query_a_running_job(bench: Bench) -> None:
    client = bench.start(2, "run", every_state)
    bench.valve.write_text("100")
    bench.wait_for(100)
    mine = list(range(3, 100, 7))
    assert client.query_state("every-state", "count", 3) == len(mine)
    assert client.query_state("every-state", "seen", 3) == mine
    assert client.query_state("every-state", "by rest", 3) == {str(v % 3): v for v in mine}
    assert client.query_state("every-state", "count", 1000) is None
    frame: DataFrame = client.state("every-state", "total")
    assert {row.key: row.value for row in frame.collect()} == {
        key: sum(range(key, 100, 7)) for key in range(7)
    }
    with pytest.raises(InvalidArgument, match="largest"):
        client.query_state("every-state", "smallest", 3)
    with pytest.raises(InvalidArgument, match="every-state"):
        client.state("no-such", "count")
    bench.valve.write_text("150")
    bench.wait_for(150)
    client.cancel().result(60)
    assert bench.results() == Counter(expected(150))


def test_damage_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    path = Path(bootstrapped(spark, tmp_path / "made"))
    assert len(read_savepoint(path).states()) == 6
    file = next((path / "state/everything/_timers").glob("*.parquet"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(CorruptState, match="_timers"):
        read_savepoint(path)


def test_what_no_state_can_be(spark: SparkSession, tmp_path: Path) -> None:
    twice = spark.createDataFrame([(1, 1), (1, 2)], "key long, value long")
    writer = SavepointWriter.new()
    with pytest.raises(InvalidArgument, match="2 rows for key 1"):
        writer.with_state("a", "b", twice).write(tmp_path / "made")
    assert not (tmp_path / "made").exists()
    for frame, kind, given, message in [
        (twice.withColumnRenamed("value", "v"), "value", None, "lacks the column 'value'"),
        (twice, "list", None, "must be an array"),
        (twice, "queue", None, "cannot be a queue state"),
        (twice, "value", Types.TUPLE([Types.LONG()]), "does not fit"),
    ]:
        with pytest.raises(InvalidArgument, match=message):
            SavepointWriter.new().with_state("a", "b", frame, kind, value_type=given)


def test_sql(spark: SparkSession, tmp_path: Path) -> None:
    """Tables go by their short names and by uid and name; a mistake names them all."""
    reader = read_savepoint(bootstrapped(spark, tmp_path / "made"))
    for table in ("everything_count", '"everything"."count"'):
        assert query(reader, f"SELECT sum(value) AS s FROM {table}").to_pylist() == [{"s": 406}]
    with pytest.raises(InvalidArgument, match="everything_marks"):
        query(reader, "SELECT 1 FROM elsewhere")
