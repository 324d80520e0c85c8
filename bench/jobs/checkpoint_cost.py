"""What frequent checkpoints cost, and how much each of them writes.

    --interval-ms 1000 --records 40000000 --keys 10000   seconds for a keyed counter
    --bytes                                              bytes when 1% of a million keys change

Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from savepoint_cost import Count

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import DataGeneratorSource


def environment(folder: Path, interval_ms: int) -> StreamExecutionEnvironment:
    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", str(folder))
    settings.set_string("web.checkpoints.history", "1000")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(2)
    env.enable_checkpointing(interval_ms)
    return env


def throughput(records: int, keys: int, interval_ms: int, folder: Path) -> dict[str, float]:
    """Seconds for all records less those for a few, in one process."""
    seconds = []
    for number, count in enumerate((1000, 100_000, records)):
        env = environment(folder / str(number), interval_ms)
        source = DataGeneratorSource(lambda number: number, count=count, splits=2)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        keyed = numbers.uid("numbers").key_by(lambda number: number % keys, Types.LONG())
        keyed.process(Count()).uid("count").print()
        client = env.execute_async()
        began = time.perf_counter()
        client.get_job_execution_result().result()
        seconds.append(time.perf_counter() - began)
    checkpoints = client.get_checkpoints().counts().completed
    return {"seconds": seconds[2] - seconds[1], "checkpoints": checkpoints}


class Steps(Source[int]):
    """All keys, and then one in a hundred, twenty times: each a micro-batch of its own."""

    def __init__(self, keys: int):
        self.keys = keys

    def create_enumerator(self) -> SplitEnumerator:
        return _OneByOne()

    def create_reader(self) -> SplitReader[int]:
        return _Step(self.keys)

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED


class _OneByOne(SplitEnumerator):
    def splits(self) -> list[Split]:
        return [Split("all")]

    def latest_position(self, split: Split, start: Any) -> Any:
        return min(start + 1, 21)


class _Step(SplitReader[int]):
    def __init__(self, keys: int):
        self._keys = keys

    def read(self, split: Split, start: Any, end: Any) -> Any:
        return range(self._keys) if start == 0 else range(start, self._keys, 100)


def bytes_written(keys: int, folder: Path) -> dict[str, float]:
    """Bytes of the checkpoints that change one key in a hundred, and of one that has them all."""
    env = environment(folder, 10)
    source = env.from_source(Steps(keys), WatermarkStrategy.no_watermarks(), "numbers")
    keyed = source.uid("numbers").key_by(lambda number: number, Types.LONG())
    keyed.process(Count()).uid("count").print()
    client = env.execute_async()
    client.get_job_execution_result().result()
    entries = sorted(client.get_checkpoints().entries(), key=lambda entry: entry.id)
    full, *rest = [entry.bytes_written for entry in entries if entry.bytes_written > keys / 100]
    return {"full": full, "mean": statistics.mean(rest), "largest": max(rest)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--interval-ms", type=int, default=1000)
    parser.add_argument("--records", type=int, default=40_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--bytes", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        found = (
            bytes_written(1_000_000, Path(place))
            if given.bytes
            else throughput(given.records, given.keys, given.interval_ms, Path(place))
        )
        print(json.dumps(found))
