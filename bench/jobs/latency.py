"""Records that know when they were made, and how long they take through a job of some kind.

    1, 2      counts by key behind so many keyed exchanges
    sql       SELECT id, COUNT(*) … GROUP BY id: until the change is there
    window    counts by key and second of event time: from the second's end until they are there

The same text runs on both engines but for the source: PyFlink has none in Python that makes
records when they are due, so there they come through a socket.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import threading
import time
import uuid
from pathlib import Path

from pyflink.common import Configuration, RowKind, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction,
    DataStream,
    FilterFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows
from pyflink.table import StreamTableEnvironment

KEYS = 10_007
PARALLELISM = 2
WATERMARK_MS = 10
"""Flink's 200 ms would be all that is seen of a window's result."""
WRITES_PER_SECOND = 500
"""How often a socket is written to."""


def record_type():
    # New for each use: PyFlink ties a type it has used to the gateway, and cannot pickle that.
    return Types.TUPLE([Types.INT(), Types.DOUBLE()])


def paced(env, rate):
    """The key and the moment of records that are made when they are due."""
    try:
        from paced import Paced
    except ImportError:
        lines = env._j_stream_execution_environment.socketTextStream("localhost", served(rate))
        return DataStream(lines).map(parse, output_type=record_type())
    source = Paced(lambda number: (number * 7 % KEYS, time.time()), rate)
    return env.from_source(
        source, WatermarkStrategy.no_watermarks(), "paced", type_info=record_type()
    )


def parse(line):
    key, made = line.split()
    return int(key), float(made)


def served(rate):
    """The port of a socket to which such records are written."""
    listening = socket.create_server(("localhost", 0))
    threading.Thread(target=serve, args=(listening, rate), daemon=True).start()
    return listening.getsockname()[1]


def serve(listening, rate):
    connection, _ = listening.accept()
    began, number = time.time(), 0
    with contextlib.suppress(OSError):  # the job has ended
        while True:
            now = time.time()
            due = int((now - began) * rate)
            lines = (f"{each * 7 % KEYS} {now}\n" for each in range(number, due))
            connection.sendall("".join(lines).encode())
            number = due
            time.sleep(1 / WRITES_PER_SECOND)


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value


class HowMany(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class WithEnd(ProcessWindowFunction):
    """The key and the end of a window, in seconds."""

    def process(self, key, context, elements):
        yield key, context.window().end / 1000


class MomentOfRecord(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return int(value[1] * 1000)


class Timed(FilterFunction):
    """Writes down when records came, and how long that was after they were made.

    Of `sample` records one is timed, for writing times down is work, too. The last field of a
    record is when it was made. None goes further.
    """

    def __init__(self, folder, sample):
        self.folder = folder
        self.sample = sample

    def open(self, runtime_context):
        self.seen = 0
        name = f"times-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.file = (Path(self.folder) / name).open("w", buffering=1 << 12)

    def filter(self, value):
        self.seen += 1
        if not self.seen % self.sample:
            now = time.time()
            self.file.write(f"{now:.4f} {1000 * (now - value[len(value) - 1]):.3f}\n")
        return False

    def close(self):
        self.file.close()


def counted(stream, exchanges):
    for number in range(exchanges):
        keyed = stream.key_by(lambda record: record[0], key_type=Types.INT())
        stream = keyed.process(Count(), output_type=record_type()).uid(f"count-{number}")
    return stream


def in_windows(stream):
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return (
        stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(MomentOfRecord()))
        .key_by(lambda record: record[0], key_type=Types.INT())
        .window(TumblingEventTimeWindows.of(Time.seconds(1)))
        .aggregate(HowMany(), WithEnd(), accumulator_type=Types.LONG(), output_type=record_type())
        .uid("window")
    )


def changes(env, stream):
    tables = StreamTableEnvironment.create(env)
    records = tables.from_data_stream(stream).alias("id", "made")
    tables.create_temporary_view("records", records)
    query = "SELECT id, COUNT(*), MAX(made) FROM records GROUP BY id"
    rows = tables.to_changelog_stream(tables.sql_query(query))
    return rows.filter(lambda row: row.get_row_kind() != RowKind.UPDATE_BEFORE)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("mode")
    parser.add_argument("rate", type=int)
    parser.add_argument("kind")
    parser.add_argument("seconds", type=float)
    parser.add_argument("sample", type=int)
    args = parser.parse_args()
    settings = Configuration()
    settings.set_string("headrace.stream.mode", args.mode)
    settings.set_string("execution.checkpointing.dir", (args.folder / "checkpoints").as_uri())
    execution_mode = os.environ.get("BENCH_EXECUTION_MODE")
    if execution_mode:
        settings.set_string("python.execution-mode", execution_mode)
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(PARALLELISM)
    env.enable_checkpointing(1000)
    stream = paced(env, args.rate)
    if args.kind == "sql":
        results = changes(env, stream)
    elif args.kind == "window":
        env.get_config().set_auto_watermark_interval(WATERMARK_MS)
        results = in_windows(stream)
    else:
        results = counted(stream, int(args.kind))
    results.filter(Timed(str(args.folder), args.sample)).print()
    client = env.execute_async("latency")
    time.sleep(args.seconds)
    client.cancel().result()


if __name__ == "__main__":
    main()
