"""One SQL query over a CSV table; the same text on both engines."""

from __future__ import annotations

import argparse
import json
import os
import time

from pyflink.common import Configuration
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udf

PARALLELISM = "2"
RESULT_MARK = "BENCH-RESULT "
READINGS = """CREATE TABLE readings (
    name STRING, num BIGINT, amount DOUBLE, millis BIGINT,
    ts AS TO_TIMESTAMP_LTZ(millis, 3),
    WATERMARK FOR ts AS ts - INTERVAL '2' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"""
PRICES = """CREATE TABLE prices (
    symbol STRING, price BIGINT, millis BIGINT,
    ts AS TO_TIMESTAMP_LTZ(millis, 3),
    WATERMARK FOR ts AS ts - INTERVAL '2' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"""
QUERIES = {
    "match": (
        "symbol STRING, high BIGINT, low BIGINT, falls BIGINT, up BIGINT, until_ms BIGINT",
        """SELECT * FROM prices MATCH_RECOGNIZE (
               PARTITION BY symbol ORDER BY ts
               MEASURES A.price AS high, LAST(B.price) AS low, COUNT(B.price) AS falls,
                   C.price AS up, C.millis AS until_ms
               ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
               PATTERN (A B+ C)
               DEFINE
                   B AS (LAST(B.price, 1) IS NULL AND B.price < A.price)
                       OR B.price < LAST(B.price, 1),
                   C AS C.price > LAST(B.price))""",
    ),
    "window": (
        "name STRING, start_time TIMESTAMP(3), total DOUBLE, records BIGINT",
        """SELECT name, window_start, SUM(amount), COUNT(*)
           FROM TABLE(TUMBLE(TABLE readings, DESCRIPTOR(ts), INTERVAL '10' SECOND))
           GROUP BY name, window_start, window_end""",
    ),
    "group": (
        "name STRING, total DOUBLE, records BIGINT",
        "SELECT name, SUM(amount), COUNT(*) FROM readings GROUP BY name",
    ),
    "udf": (
        "name STRING, `value` BIGINT",
        "SELECT name, scaled(num, amount) FROM readings",
    ),
}


def scaled_function():
    # Made here: PyFlink's workers cannot import this module, and what is local travels whole.
    def scaled(number, amount):
        return number * 3 + int(amount) if number % 2 else number

    return udf(scaled, result_type=DataTypes.BIGINT())


def environment() -> TableEnvironment:
    configuration = Configuration()
    configuration.set_string("parallelism.default", PARALLELISM)
    # headrace's default; under PyFlink's names it would show every record's changes. Flink has no
    # such option and passes it over.
    configuration.set_string("headrace.table.changes", "micro-batch")
    mode = os.environ.get("BENCH_EXECUTION_MODE")
    if mode:
        configuration.set_string("python.execution-mode", mode)
    settings = EnvironmentSettings.new_instance().in_streaming_mode()
    return TableEnvironment.create(settings.with_configuration(configuration).build())


def seconds_of(query: str, path: str, sink: str) -> float:
    """From submitting the INSERT to its end."""
    env = environment()
    columns, select = QUERIES[query]
    for table in (READINGS, PRICES):
        env.execute_sql(table.format(path=path))
    env.execute_sql(f"CREATE TABLE answers ({columns}) WITH ('connector' = '{sink}')")
    env.create_temporary_function("scaled", scaled_function())
    start = time.perf_counter()
    env.execute_sql(f"INSERT INTO answers {select}").wait()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("query", choices=QUERIES)
    parser.add_argument("--input", required=True, help="a CSV file of readings, or of prices")
    parser.add_argument("--warm-up", help="a small one, to run on twice first")
    parser.add_argument("--print", action="store_true", help="print results, do not discard them")
    args = parser.parse_args()
    start_up = 0.0
    if args.warm_up:
        seconds_of(args.query, args.warm_up, "blackhole")
        start_up = seconds_of(args.query, args.warm_up, "blackhole")
    seconds = seconds_of(args.query, args.input, "print" if args.print else "blackhole")
    figures = {"execute_seconds": seconds, "start_up_seconds": start_up}
    print(RESULT_MARK + json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
