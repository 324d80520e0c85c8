"""A job with patterns of both kinds, in events and in rows: it is killed, saved and resumed.

python -m tests.spark.pattern_jobs <folder>

Events are (key, n) with the time n; `n // KEYS` is an event's place among those of its key, and all
that patterns ask for is the last digit of it. So what must be found follows from the last event.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from headrace.cep import CEP, Pattern
from headrace.common import Row, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors import Source
from headrace.table import Schema, StreamTableEnvironment
from tests.conftest import IN_REAL_TIME, ROOT
from tests.spark.fault_jobs import files
from tests.spark.kill_jobs import source
from tests.spark.savepoint_jobs import settings

KEYS = 3
FIRST, SECOND, THIRD = 0, 4, 7
"""Last digits of the events that the pattern is made of."""
ROWS = """
    SELECT * FROM events MATCH_RECOGNIZE (
        PARTITION BY name ORDER BY ts
        MEASURES A.place AS a, COUNT(B.place) AS b, C.place AS c
        PATTERN (A B+ C)
        DEFINE A AS MOD(A.place, 10) = 0,
               B AS MOD(B.place, 10) BETWEEN 1 AND 6,
               C AS MOD(C.place, 10) = 7
    )
"""


class Number(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def pattern() -> Pattern:
    begun = Pattern.begin("first").where(lambda event: event[1] // KEYS % 10 == FIRST)
    second = begun.followed_by("second").where(lambda event: event[1] // KEYS % 10 == SECOND)
    return second.followed_by("third").where(lambda event: event[1] // KEYS % 10 == THIRD)


def build(env: StreamExecutionEnvironment, numbers: Source[Any], out: Path) -> None:
    """Matches as lines: `key: [places]`."""
    read = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    kind = Types.TUPLE([Types.STRING(), Types.LONG()])
    named = read.map(_named, kind).uid("named")
    timed = named.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
    ).uid("timed")
    found = CEP.pattern(timed.key_by(lambda event: event[0], Types.STRING()), pattern())
    lines = found.select(_line, Types.STRING()).uid("pattern")
    lines.sink_to(files(out / "events")).uid("events")
    _rows(env, named).sink_to(files(out / "rows")).uid("rows")


def _named(number: Any) -> tuple[str, int]:
    n = number if isinstance(number, int) else number[1]
    return f"key-{n % KEYS}", n


def _line(match: Any) -> str:
    events = [event for taken in match.values() for event in taken]
    return f"{events[0][0]}: {[n // KEYS for _, n in events]}"


def _rows(env: StreamExecutionEnvironment, named: DataStream) -> DataStream:
    tables = StreamTableEnvironment.create(env)
    kind = Types.ROW_NAMED(["name", "place", "n"], [Types.STRING(), Types.LONG(), Types.LONG()])
    rows = named.map(lambda event: Row(event[0], event[1] // KEYS, event[1]), kind).uid("as rows")
    schema = (
        Schema.new_builder()
        .column_by_expression("ts", "TO_TIMESTAMP_LTZ(n, 3)")
        .watermark("ts", "ts - INTERVAL '0.001' SECOND")
        .build()
    )
    tables.create_temporary_view("events", tables.from_data_stream(rows, schema))
    matches = tables.to_data_stream(tables.sql_query(ROWS))
    return matches.map(lambda row: f"{row[0]}: {list(row)[1:]}", Types.STRING()).uid("as lines")


def expected(events: int) -> dict[str, Counter[str]]:
    """What is found in the events with a number below the limit, when time is over."""
    lines: dict[str, Counter[str]] = {"events": Counter(), "rows": Counter()}
    for n in range(events):
        place = n // KEYS
        if place % 10 == THIRD:
            tens = place - THIRD
            lines["events"][f"key-{n % KEYS}: {[tens, tens + SECOND, place]}"] += 1
            lines["rows"][f"key-{n % KEYS}: {[tens, 6, place]}"] += 1
    return lines


def process(folder: Path, batches: int, **environ: str) -> subprocess.CompletedProcess[str]:
    """One life of the program, in a session of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tests.spark.pattern_jobs", str(folder), str(batches)], cwd=ROOT,
        text=True, timeout=240, capture_output=True, start_new_session=True, check=False,
        env={**os.environ, "HEADRACE_PARALLELISM": "1", **environ},
    )  # fmt: skip


def run(folder: Path, batches: int) -> None:
    """The job to its end, or to where it is killed."""
    env = StreamExecutionEnvironment.get_execution_environment(settings(folder / "checkpoints"))
    env.set_parallelism(1)
    env.enable_checkpointing(20)
    # A job that flows would be at its end before its fifth checkpoint.
    build(env, source(batches, 0.2 if IN_REAL_TIME else 0), folder / "out")
    env.execute("patterns")


def main() -> None:
    run(Path(sys.argv[1]), int(sys.argv[2]))


if __name__ == "__main__":
    main()
