"""A job that keeps documents, to be killed at named steps and started again.

python -m tests.spark.elasticsearch_jobs <folder> <batches> <address of the server> <index>

    KILL_JOBS_...    as of kill_jobs
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headrace.common import Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, RuntimeContext
from headrace.datastream.connectors.elasticsearch import (
    BulkAction,
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
)
from headrace.datastream.state import ValueStateDescriptor
from tests.conftest import ROOT
from tests.spark.kill_jobs import STEP, environment, patient


class Number(KeyedProcessFunction):
    """Numbers the records of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield ctx.get_current_key(), count


class Documents(ElasticsearchEmitter):
    """One for each record, and one for each key that is written again and again; those of every
    third record are deleted."""

    def __init__(self, index: str):
        self.index = index

    def emit(self, value: Any) -> Iterable[BulkAction]:
        key, count = value
        yield BulkAction("index", self.index, f"{key}-{count}", f'{{"count": {count}}}')
        yield BulkAction("update", self.index, key, f'{{"last": {count}}}')
        if count % 3 == 0:
            yield BulkAction("delete", self.index, f"{key}-{count}")


def expected(batches: int) -> dict[str, Any]:
    sizes = Counter(f"key-{n % 7}" for n in range(STEP * batches) for _ in range(2))
    each = {f"{key}-{n}": {"count": n} for key in sizes for n in range(1, sizes[key] + 1) if n % 3}
    return {**each, **{key: {"last": size} for key, size in sizes.items()}}


def begin(folder: Path, batches: int, url: str, index: str, **environ: str) -> Any:
    """The program, in a session of its own; what it says is in the file `said`."""
    arguments = [str(folder), str(batches), url, index]
    with (folder / "said").open("w") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.spark.elasticsearch_jobs", *arguments],
            cwd=ROOT,
            stdout=said,
            stderr=said,
            start_new_session=True,
            env={**os.environ, "HEADRACE_PARALLELISM": "1", **environ},
        )


def main() -> None:
    folder, batches, url, index = sys.argv[1:]
    env = environment(Path(folder))
    numbers = patient(int(batches), Path(folder))
    records = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    counted = records.key_by(lambda record: record[0]).process(Number()).uid("number")
    sink = Elasticsearch7SinkBuilder().set_hosts([url]).set_emitter(Documents(index))
    counted.sink_to(sink.set_bulk_flush_max_actions(5).build()).uid("sink")
    env.execute("documents")
    print("finished")


if __name__ == "__main__":
    main()
