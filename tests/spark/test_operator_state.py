"""Functions and sinks with operator state: killed workers, stopped jobs, the same results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.datastream import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors import SinkWriter
from headrace.datastream.state import ListStateDescriptor
from tests.conftest import IN_REAL_TIME
from tests.spark.conftest import wait_until
from tests.spark.fault_jobs import (
    Ledger,
    Numbers,
    Once,
    kill_this_process,
    raise_an_error,
    restart_at_once,
)

LinesOf = Callable[[Path], Counter[str]]
NO_TIME = WatermarkStrategy.no_watermarks()
CHUNK = 5


class Tally(ProcessFunction, CheckpointedFunction):
    """Numbers the records of its subtask; the count is a field, and part of every checkpoint."""

    def __init__(self, disturb: Callable[[], None] | None = None, at: int = 0):
        self._disturb, self._at = disturb, at

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self._kept = store.get_list_state(ListStateDescriptor("count", Types.LONG()))
        self._count = sum(self._kept.get() or ())
        self._start = "restored" if context.is_restored() else "fresh"

    def open(self, runtime_context: RuntimeContext) -> None:
        self._subtask = runtime_context.get_index_of_this_subtask()

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._kept.update([self._count])

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if self._disturb is not None and value[1] >= self._at:
            self._disturb()
        self._count += 1
        yield f"{self._subtask} {self._count} {self._start}"


class Chunks(Ledger, CheckpointedFunction):
    """Writes a few records at a time; the rest waits in a field, and in every checkpoint."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self._kept = store.get_list_state(ListStateDescriptor("waiting"))
        self.waiting = list(self._kept.get() or ())

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._kept.update(self.waiting)

    def create_writer(self, task: Any) -> SinkWriter[Any]:
        return _ChunkWriter(super().create_writer(task), self.waiting)


class _ChunkWriter(SinkWriter[Any]):
    def __init__(self, ledger: SinkWriter[Any], waiting: list[Any]):
        self._ledger, self._waiting = ledger, waiting

    def write(self, value: Any, timestamp: int | None) -> None:
        self._waiting.append(value)
        if len(self._waiting) == CHUNK:
            for one in self._waiting:
                self._ledger.write(one, timestamp)
            self._waiting.clear()

    def prepare_commit(self) -> list[Any]:
        return self._ledger.prepare_commit()

    def close(self) -> None:
        self._ledger.close()


def build(
    env: StreamExecutionEnvironment, source: Numbers, out: Path,
    disturb: Callable[[], None] | None = None, at: int = 0,
) -> None:  # fmt: skip
    records = env.from_source(source, NO_TIME, "numbers")
    tallied = records.process(Tally(disturb, at), Types.STRING()).uid("tally")
    tallied.sink_to(Ledger(out / "tally"))
    records.map(lambda record: record[1]).sink_to(Chunks(out / "chunks")).uid("chunks")


def check(source: Numbers, out: Path, lines_of: LinesOf) -> None:
    """Every record was counted once and written at most once, a few may wait for more."""
    total = source.limit * source.count
    counts: dict[str, list[int]] = {}
    for line in lines_of(out / "tally").elements():
        subtask, count, _ = line.split()
        counts.setdefault(subtask, []).append(int(count))
    for found in counts.values():
        assert sorted(found) == list(range(1, len(found) + 1))
    assert sum(map(len, counts.values())) == total
    written = lines_of(out / "chunks")
    assert set(written) <= {str(n) for n in range(total)}
    assert set(written.values()) == {1}
    assert written.total() % CHUNK == 0
    assert total - written.total() <= 2 * (CHUNK - 1)


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["killed", "raised"])
def test_fields_of_functions_and_sinks_survive(
    env: StreamExecutionEnvironment, streaming: None, trouble: str, tmp_path: Path,
    lines_of: LinesOf,
) -> None:  # fmt: skip
    markers = tmp_path / "markers"
    markers.mkdir()
    disturb = Once(markers, 1, kill_this_process if trouble == "killed" else raise_an_error)
    restart_at_once(env)
    # A job that flows would have no checkpoint when it fails.
    source = Numbers(limit=203, step=40, pause=0.2 if IN_REAL_TIME else 0)
    build(env, source, tmp_path, disturb, at=120)
    env.execute()
    assert disturb.happened == 1
    check(source, tmp_path, lines_of)
    starts = Counter(line.split()[2] for line in lines_of(tmp_path / "tally").elements())
    assert starts["fresh"]
    assert starts["restored"]


@pytest.mark.smoke
def test_in_a_spark_batch_everything_is_fresh(
    env: StreamExecutionEnvironment, tmp_path: Path, lines_of: LinesOf
) -> None:
    source = Numbers(limit=23, step=40)
    build(env, source, tmp_path)
    env.execute()
    check(source, tmp_path, lines_of)
    assert all(line.endswith("fresh") for line in lines_of(tmp_path / "tally"))


@pytest.mark.slow
def test_a_stopped_job_goes_on(tmp_path: Path, lines_of: LinesOf) -> None:
    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", str(tmp_path / "checkpoints"))

    def started(step: int, pause: float) -> tuple[Any, Numbers]:
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        env.set_parallelism(2)
        env.enable_checkpointing(100)
        source = Numbers(limit=2003, step=step, pause=pause)
        build(env, source, tmp_path)
        return env.execute_async(), source

    client, source = started(step=20, pause=0.3)  # it would go on for a minute
    wait_until(lambda: lines_of(tmp_path / "tally").total() > 20)
    client.cancel().result()
    before = lines_of(tmp_path / "tally").total()
    assert before < source.limit * source.count
    client, source = started(step=1000, pause=0)
    client.get_job_execution_result().result()
    check(source, tmp_path, lines_of)
    late = Counter(line.split()[2] for line in lines_of(tmp_path / "tally").elements())
    assert late["restored"] >= source.limit * source.count - before
