"""A job from files through keyed state to documents, to be killed at named steps and started again.

python -m tests.spark.elasticsearch_jobs <folder> <folder of files> <address of the server> <index>

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

from headrace.common import Duration, Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, RuntimeContext
from headrace.datastream.connectors import FileSource, StreamFormat
from headrace.datastream.connectors.elasticsearch import (
    BulkAction,
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
)
from headrace.datastream.state import ValueStateDescriptor
from tests.conftest import ROOT
from tests.spark.kill_jobs import environment


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


def expected(records: int) -> dict[str, Any]:
    """What that leaves of the numbers up to a limit, one in each line of the files."""
    sizes = Counter(f"key-{n % 7}" for n in range(records))
    each = {f"{key}-{n}": {"count": n} for key in sizes for n in range(1, sizes[key] + 1) if n % 3}
    return {**each, **{key: {"last": size} for key, size in sizes.items()}}


def begin(folder: Path, files: Path, url: str, index: str, **environ: str) -> Any:
    """The program, in a session of its own; what it says is in the file `said`."""
    arguments = [str(folder), str(files), url, index]
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
    folder, files, url, index = sys.argv[1:]
    env = environment(Path(folder))
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), files)
    source = lines.monitor_continuously(Duration.of_millis(100)).build()
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").uid("lines")
    keyed = numbers.key_by(lambda line: f"key-{int(line) % 7}", Types.STRING())
    counted = keyed.process(Number()).uid("number")
    sink = Elasticsearch7SinkBuilder().set_hosts([url]).set_emitter(Documents(index))
    counted.sink_to(sink.set_bulk_flush_max_actions(5).build()).uid("sink")
    env.execute("documents")


if __name__ == "__main__":
    main()
