"""Counts by key on one level after the other, in real time.

Without records (`--rate 0`) the job only waits, and shows with a file when it has settled. With
records it prints, as JSON, the seconds from submitting it, in a session that has run another job,
to the first result and to that of the last of its tasks.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paced import Paced

from headrace.common import Configuration, JobClient, Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headrace.datastream.state import ValueStateDescriptor

SETTLED = "settled"
SETTLED_AFTER = 5
"""As many checkpoints."""
KEYS = 1000
PAUSE_SECONDS = 0.01


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self._count.update((self._count.value() or 0) + 1)
        yield value


class First(Count):
    """Notes in a folder that a task has had its first record."""

    def __init__(self, folder: Path):
        self._folder = folder

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self._note: Path | None = self._folder / f"{runtime_context.get_index_of_this_subtask()}"

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if self._note is not None:
            self._note.touch()
            self._note = None
        yield from super().process_element(value, ctx)


def start(folder: Path, levels: int, parallelism: int, sources: int, rate: float) -> JobClient:
    folder.mkdir(parents=True)
    settings = Configuration()
    settings.set_string("headrace.stream.mode", "real-time")
    settings.set_string("execution.checkpointing.dir", str(folder / "checkpoints"))
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(parallelism)
    env.enable_checkpointing(1000)
    numbers = Paced(lambda number: number, rate)
    stream = env.from_source(
        numbers, WatermarkStrategy.no_watermarks(), "numbers", type_info=Types.LONG()
    )
    stream = stream.uid("numbers").set_parallelism(sources)
    for level in range(levels):
        count = First(folder) if level == levels - 1 else Count()
        keyed = stream.key_by(lambda number: number % KEYS, Types.LONG())
        stream = keyed.process(count, Types.LONG()).uid(f"count-{level}")
    stream.filter(lambda number: False).print()
    return env.execute_async("levels")


def first_results(folder: Path, tasks: int) -> list[float]:
    """When each of the last level's tasks had its first record."""
    while True:
        notes = [folder / str(number) for number in range(tasks)]
        if all(note.exists() for note in notes):
            return [note.stat().st_mtime for note in notes]
        time.sleep(PAUSE_SECONDS)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--levels", type=int, default=1)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--sources", type=int, default=2)
    parser.add_argument("--rate", type=float, default=0)
    args = parser.parse_args()
    job = args.folder / "job"
    if not args.rate:
        client = start(job, args.levels, args.parallelism, args.sources, 0)
        while client.get_checkpoints().counts().completed < SETTLED_AFTER:
            time.sleep(PAUSE_SECONDS)
        (args.folder / SETTLED).touch()
        client.get_job_execution_result().result()
    before = start(args.folder / "before", 1, 1, 1, args.rate)
    first_results(args.folder / "before", 1)
    before.cancel().result()
    submitted = time.time()
    client = start(job, args.levels, args.parallelism, args.sources, args.rate)
    seen = first_results(job, args.parallelism)
    client.cancel().result()
    print(json.dumps({"first": min(seen) - submitted, "all": max(seen) - submitted}))


if __name__ == "__main__":
    main()
