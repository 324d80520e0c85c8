"""Counts by key that go on for ever, into files that appear with each checkpoint."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headrace.common import Configuration, Encoder, Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headrace.datastream.connectors import (
    FileSink,
    RollingPolicy,
    Source,
    Split,
    SplitEnumerator,
    SplitReader,
)
from headrace.datastream.state import ValueStateDescriptor

KEYS = 10_000
SPLITS = 2
STEP = 5_000
"""How many records a split gives to a micro-batch."""
PARALLELISM = 2
INTERVAL_MS = 200


class Numbers(Source[int]):
    """Numbers that never end, some at a time."""

    def create_enumerator(self) -> SplitEnumerator:
        return _Steps()

    def create_reader(self) -> SplitReader[int]:
        return _Reader()


class _Steps(SplitEnumerator):
    def splits(self) -> list[Split]:
        return [Split(f"part-{number}", number) for number in range(SPLITS)]

    def latest_position(self, split: Split, start: Any) -> Any:
        return start + STEP


class _Reader(SplitReader[int]):
    def read(self, split: Split, start: Any, end: Any) -> Iterable[int]:
        return range(start * SPLITS + split.info, end * SPLITS + split.info, SPLITS)


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value} {count}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", str(folder / "checkpoints"))
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(PARALLELISM)
    env.enable_checkpointing(INTERVAL_MS)
    numbers = env.from_source(Numbers(), WatermarkStrategy.no_watermarks(), "numbers")
    counts = numbers.uid("numbers").key_by(lambda number: number % KEYS, Types.LONG())
    files = FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder())
    files = files.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy())
    counts.process(Count(), Types.STRING()).uid("count").sink_to(files.build()).uid("files")
    env.execute("recovery")


if __name__ == "__main__":
    main()
