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
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

RESULT_MARK = "BENCH-RESULT "
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


def main() -> None:
    """Run the query to its end and print how long that took, session included."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", required=True, help="a directory of CSV files")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spark-group-count-") as scratch:
        begin = time.perf_counter()
        spark = session()
        query = start(spark, args.input, str(Path(scratch) / "checkpoint"))
        query.awaitTermination()
        seconds = time.perf_counter() - begin
        rows = sum(progress["numInputRows"] for progress in query.recentProgress)
        spark.stop()
    print(f"{rows} rows read", file=sys.stderr)
    print(RESULT_MARK + json.dumps({"execute_seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
