"""Spark's own streaming count by key, all in the JVM: the mark that keyed Python is held to.

Reads the same CSV as the keyed job, one file a micro-batch, with Spark's state in RocksDB and
the settings that measured fastest.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

RESULT_MARK = "BENCH-RESULT "
Start = Callable[[SparkSession, str, str], StreamingQuery]
"""Starts a query over a directory, with a folder for its checkpoint."""
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
}


def session() -> SparkSession:
    """A local session of two cores."""
    builder = SparkSession.builder.master("local[2]").appName("group count")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def start(spark: SparkSession, directory: str, checkpoint: str) -> StreamingQuery:
    """Start the count; its updates are computed in full and then dropped."""
    lines = (
        spark.readStream.schema("user STRING, count LONG, amount DOUBLE")
        .option("maxFilesPerTrigger", 1)
        .csv(directory)
    )
    return (
        lines.groupBy("user")
        .count()
        .writeStream.format("noop")
        .outputMode("update")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )


def timed(spark: SparkSession, directory: str, begin_query: Start) -> float:
    """Run the query over a directory to its end; how long that took."""
    with tempfile.TemporaryDirectory(prefix="spark-peer-") as scratch:
        begin = time.perf_counter()
        query = begin_query(spark, directory, str(Path(scratch) / "checkpoint"))
        query.awaitTermination()
        seconds = time.perf_counter() - begin
        rows = sum(progress["numInputRows"] for progress in query.recentProgress)
    print(f"{rows} rows read", file=sys.stderr)
    return seconds


def main(begin_query: Start = start) -> None:
    """Time the query as the jobs are timed: twice on a small input, then on the large one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", required=True, help="a directory of CSV files")
    parser.add_argument("--warm-up", help="a small input to run on twice first")
    args = parser.parse_args()
    spark = session()
    start_up = 0.0
    if args.warm_up:
        timed(spark, args.warm_up, begin_query)
        start_up = timed(spark, args.warm_up, begin_query)
    seconds = timed(spark, args.input, begin_query)
    spark.stop()
    figures = {"execute_seconds": seconds, "start_up_seconds": start_up}
    print(RESULT_MARK + json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
