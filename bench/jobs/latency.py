"""Counts by key behind one exchange or two; each record knows when it was made."""

from __future__ import annotations

import argparse
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headrace.datastream.connectors import Source, Split, SplitEnumerator, SplitReader
from headrace.datastream.state import ValueStateDescriptor

KEYS = 10_007
SPLITS = 2
PARALLELISM = 2
SAMPLE = 16
"""Of so many records one is timed: writing times down is work, too."""
_RECORD = Types.TUPLE([Types.INT(), Types.DOUBLE()])


class Paced(Source[Any]):
    """So many records a second, for ever; they are made when they are due."""

    def __init__(self, rate: int):
        self._rate = rate / SPLITS

    def create_enumerator(self) -> SplitEnumerator:
        return _Due(self._rate)

    def create_reader(self) -> SplitReader[Any]:
        return _Reader()


class _Due(SplitEnumerator):
    positions_count_records = True

    def __init__(self, rate: float):
        self._rate = rate
        self._began = time.time()

    def splits(self) -> list[Split]:
        return [Split(f"part-{number}", number) for number in range(SPLITS)]

    def latest_position(self, split: Split, start: int) -> int:
        return max(start, int((time.time() - self._began) * self._rate))


class _Reader(SplitReader[Any]):
    def read(self, split: Split, start: int, end: int) -> list[Any]:
        now, first = time.time(), split.info
        return [((number * 7 + first) % KEYS, now) for number in range(start, end)]


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self._count.update((self._count.value() or 0) + 1)
        yield value


class Timed(Count):
    """Writes down when records came, and how long that was after they were made."""

    def __init__(self, folder: str):
        self._folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self._seen = 0
        name = f"times-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._file = (Path(self._folder) / name).open("w", buffering=1 << 14)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self._seen += 1
        if not self._seen % SAMPLE:
            now = time.time()
            self._file.write(f"{now:.4f} {1000 * (now - value[1]):.3f}\n")
        yield from super().process_element(value, ctx)

    def close(self) -> None:
        self._file.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("mode")
    parser.add_argument("rate", type=int)
    parser.add_argument("exchanges", type=int)
    parser.add_argument("seconds", type=float)
    args = parser.parse_args()
    settings = Configuration()
    settings.set_string("headrace.stream.mode", args.mode)
    settings.set_string("execution.checkpointing.dir", str(Path(args.folder) / "checkpoints"))
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(PARALLELISM)
    env.enable_checkpointing(1000)
    stream = env.from_source(
        Paced(args.rate), WatermarkStrategy.no_watermarks(), "paced", type_info=_RECORD
    )
    for number in range(args.exchanges):
        last = number == args.exchanges - 1
        count = Timed(args.folder) if last else Count()
        counted = stream.key_by(lambda record: record[0]).process(count, _RECORD)
        stream = counted.uid(f"count-{number}")
    stream.filter(lambda record: record[0] < 0).print()
    client = env.execute_async("latency")
    time.sleep(args.seconds)
    client.cancel().result()


if __name__ == "__main__":
    main()
