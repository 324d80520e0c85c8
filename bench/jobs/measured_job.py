"""What every benchmark job shares: its arguments, its input, its end and its clock.

The scripts beside this file are plain PyFlink programs; the same text runs on both engines.
"""

from __future__ import annotations

import argparse
import json
import os
import time

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


def finish(env: StreamExecutionEnvironment, results: DataStream, args: argparse.Namespace) -> None:
    """Send the results away, run the job, and print how long `execute` took."""
    if args.print:
        results.print()
    else:
        results.sink_to(discarding_sink())
    start = time.perf_counter()
    env.execute()
    seconds = time.perf_counter() - start
    print(RESULT_MARK + json.dumps({"execute_seconds": seconds}), flush=True)
