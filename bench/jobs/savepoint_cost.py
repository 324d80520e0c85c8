"""What saving and restoring many keys costs, next to Spark writing the same data as Parquet.

Prints one JSON object of seconds. `restore` is the time until a restored job has its first
checkpoint less that of a job that starts with nothing.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.core.source import Source, Split, SplitEnumerator, SplitReader
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.jobs.client import JobClient
from headrace.spark.session import get_session

SPLITS = 2


class Numbers(Source[int]):
    """The numbers below a limit, and then nothing, for ever."""

    def __init__(self, limit: int):
        self.limit = limit

    def create_enumerator(self) -> SplitEnumerator:
        return _Halves(self.limit)

    def create_reader(self) -> SplitReader[int]:
        return _Reader()


class _Halves(SplitEnumerator):
    def __init__(self, limit: int):
        self._limit = limit

    def splits(self) -> list[Split]:
        return [Split(str(number), number) for number in range(SPLITS)]

    def latest_position(self, split: Split, start: Any) -> Any:
        return max(start, self._limit // SPLITS)


class _Reader(SplitReader[int]):
    def read(self, split: Split, start: Any, end: Any) -> Any:
        return range(start * SPLITS + split.info, end * SPLITS + split.info, SPLITS)


class Count(KeyedProcessFunction):
    """A number for each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterator[int]:
        self.count.update((self.count.value() or 0) + value)
        return iter(())


def start(limit: int, folder: Path, savepoint: str | None) -> JobClient:
    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", str(folder))
    if savepoint is not None:
        settings.set_string("execution.state-recovery.path", savepoint)
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(SPLITS)
    env.enable_checkpointing(10)
    numbers = env.from_source(Numbers(limit), WatermarkStrategy.no_watermarks(), "numbers")
    counts = numbers.uid("numbers").key_by(lambda number: number, Types.LONG()).process(Count())
    counts.uid("count").print()
    return env.execute_async()


def entries(client: JobClient) -> int:
    latest = client.get_checkpoints().latest("completed")
    return 0 if latest is None else latest.operators["count"].entries


def wait_for(client: JobClient, keys: int) -> None:
    while client.get_checkpoints().latest("completed") is None or entries(client) < keys:
        if client.get_job_status().result().is_globally_terminal_state():
            client.get_job_execution_result().result()
        time.sleep(0.005)


def timed(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def seconds_to_first_checkpoint(limit: int, keys: int, folder: Path, path: str | None) -> float:
    def begin() -> None:
        nonlocal client
        client = start(limit, folder, path)
        wait_for(client, keys)

    client: Any = None
    passed = timed(begin)
    client.cancel().result()
    return passed


def measure(keys: int, folder: Path) -> dict[str, float]:
    seconds_to_first_checkpoint(1000, 1000, folder / "warm", None)
    client = start(keys, folder / "filled", None)
    wait_for(client, keys)
    client.trigger_savepoint(str(folder / "savepoints")).result()
    path = ""

    def save() -> None:
        nonlocal path
        path = client.trigger_savepoint(str(folder / "savepoints")).result()

    saving = timed(save)
    client.cancel().result()

    # Asked for now: a job in real time has Spark start once more if it has too few slots.
    rows = get_session().read.parquet(f"{path}/state/count/count").persist()
    rows.write.parquet(str(folder / "warm.parquet"))
    writing = timed(lambda: rows.write.parquet(str(folder / "same.parquet")))
    rows.unpersist()
    empty = seconds_to_first_checkpoint(0, 0, folder / "empty", None)
    full = seconds_to_first_checkpoint(keys, keys, folder / "restored", path)
    return {"savepoint": saving, "restore": full - empty, "parquet": writing, "start": empty}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=5_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        print(json.dumps(measure(arguments.keys, Path(place))))
