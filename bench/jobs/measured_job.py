"""What every benchmark job shares: its arguments, its input, its end and its clock.

The scripts beside this file are plain PyFlink programs; the same text runs on both engines.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable

from pyflink.common import Configuration, WatermarkStrategy
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat

PARALLELISM = 2
RESULT_MARK = "BENCH-RESULT "
JAVA_DISCARDING_SINK = "org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink"


def arguments() -> argparse.Namespace:
    """The job's arguments: where to read, and whether to show the records that come out."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", required=True, help="a file or directory of lines")
    parser.add_argument("--warm-up", help="a small input to run on twice first")
    parser.add_argument("--print", action="store_true", help="print results, do not discard them")
    return parser.parse_args()


def environment() -> StreamExecutionEnvironment:
    """An environment of two slots, in PyFlink's execution mode named by BENCH_EXECUTION_MODE."""
    configuration = Configuration()
    mode = os.environ.get("BENCH_EXECUTION_MODE")
    if mode:
        configuration.set_string("python.execution-mode", mode)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(PARALLELISM)
    return env


def lines(env: StreamExecutionEnvironment, path: str) -> DataStream:
    """The lines of the input, read once."""
    source = (
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), path)
        .process_static_file_set()
        .build()
    )
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")


def discarding_sink() -> object:
    """A sink that forgets its records. PyFlink has none in Python, so there it is Flink's own."""
    try:
        from headrace.datastream.connectors import DiscardingSink
    except ImportError:
        from pyflink.datastream.connectors import Sink

        return Sink(JAVA_DISCARDING_SINK)
    return DiscardingSink()


def run(job: Callable[[StreamExecutionEnvironment, str], DataStream]) -> None:
    """Run a job on the input and print how long `execute` took.

    With a warm-up input the job runs on that twice before: the first time everything starts, the
    second time shows what a job costs that has next to nothing to do.
    """
    args = arguments()
    start_up = 0.0
    if args.warm_up:
        _execute(job, args.warm_up, show=False)
        start_up = _execute(job, args.warm_up, show=False)
    seconds = _execute(job, args.input, show=args.print)
    figures = {"execute_seconds": seconds, "start_up_seconds": start_up}
    print(RESULT_MARK + json.dumps(figures), flush=True)


def _execute(
    job: Callable[[StreamExecutionEnvironment, str], DataStream], path: str, *, show: bool
) -> float:
    env = environment()
    results = job(env, path)
    if show:
        results.print()
    else:
        results.sink_to(discarding_sink())
    start = time.perf_counter()
    env.execute()
    return time.perf_counter() - start
