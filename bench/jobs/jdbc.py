"""Upserts with JdbcSink, and a lookup join; prints how many seconds each took."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.table import EnvironmentSettings, TableEnvironment

ROW = Types.ROW([Types.INT(), Types.STRING(), Types.DOUBLE()])
WARM_UP = 1000


def upsert(args: argparse.Namespace, rows: int) -> float:
    options = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(args.url)
        .with_user_name(args.user)
        .with_password(args.password)
        .build()
    )
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_source(
        NumberSequenceSource(0, rows - 1), WatermarkStrategy.no_watermarks(), "numbers"
    )
    numbers.map(lambda n: Row(n, f"name {n}", n / 7), ROW).add_sink(
        JdbcSink.sink(
            "INSERT INTO sunk (id, name, price) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
            "name = EXCLUDED.name, price = EXCLUDED.price",
            ROW,
            options,
            JdbcExecutionOptions.builder().with_batch_size(args.batch).build(),
        )
    )
    begun = time.perf_counter()
    env.execute("upserts")
    return time.perf_counter() - begun


def look_up(args: argparse.Namespace, rows: int) -> float:
    numbers = Path(args.folder) / f"{rows}.csv"
    numbers.write_text("".join(f"{n}\n" for n in range(rows)))
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.execute_sql(
        "CREATE TABLE asked (n BIGINT, at_ AS PROCTIME()) WITH ('connector' = 'filesystem', "
        f"'path' = '{numbers}', 'format' = 'csv')"
    )
    tables.execute_sql(
        "CREATE TABLE people (id INT, name STRING) WITH ('connector' = 'jdbc', "
        f"'url' = '{args.url}', 'username' = '{args.user}', 'password' = '{args.password}', "
        "'table-name' = 'people', 'lookup.cache' = 'PARTIAL', "
        "'lookup.partial-cache.max-rows' = '10000')"
    )
    tables.execute_sql("CREATE TABLE out_ (n BIGINT, name STRING) WITH ('connector' = 'blackhole')")
    begun = time.perf_counter()
    tables.execute_sql(
        "INSERT INTO out_ SELECT a.n, p.name FROM asked AS a LEFT JOIN people "
        "FOR SYSTEM_TIME AS OF a.at_ AS p ON CAST(a.n / 10 AS INT) = p.id"
    ).wait()
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    for name in ("url", "user", "password"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("rows", "batch", "lookups"):
        parser.add_argument(f"--{name}", type=int, required=True)
    args = parser.parse_args()
    upsert(args, WARM_UP)
    sink = upsert(args, args.rows)
    look_up(args, WARM_UP)
    print(json.dumps({"sink": sink, "lookup": look_up(args, args.lookups)}))


if __name__ == "__main__":
    main()
