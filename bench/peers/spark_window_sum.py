"""Spark's own streaming sum and count by window and user, all in the JVM.

Reads the same CSV as the window job, one file a micro-batch, with the same bound on
out-of-orderness, and emits each window once, when it is over.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from spark_group_count import RESULT_MARK, session

SCHEMA = "user STRING, count LONG, amount DOUBLE, time LONG"


def start(spark: SparkSession, directory: str, checkpoint: str) -> StreamingQuery:
    """Start the query; its results are computed in full and then dropped."""
    records = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).csv(directory)
    return (
        records.select("user", "amount", f.timestamp_millis("time").alias("at"))
        .withWatermark("at", "2 seconds")
        .groupBy(f.window("at", "10 seconds"), "user")
        .agg(f.sum("amount"), f.count("*"))
        .writeStream.format("noop")
        .outputMode("append")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )


def timed(spark: SparkSession, directory: str) -> float:
    """Run the query over a directory to its end; how long that took."""
    with tempfile.TemporaryDirectory(prefix="spark-window-sum-") as scratch:
        begin = time.perf_counter()
        query = start(spark, directory, str(Path(scratch) / "checkpoint"))
        query.awaitTermination()
        seconds = time.perf_counter() - begin
        rows = sum(progress["numInputRows"] for progress in query.recentProgress)
    print(f"{rows} rows read", file=sys.stderr)
    return seconds


def main() -> None:
    """Time the query as the jobs are timed: twice on a small input, then on the large one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", required=True, help="a directory of CSV files")
    parser.add_argument("--warm-up", required=True, help="a small input to run on twice first")
    args = parser.parse_args()
    spark = session()
    timed(spark, args.warm_up)
    figures = {
        "start_up_seconds": timed(spark, args.warm_up),
        "execute_seconds": timed(spark, args.input),
    }
    spark.stop()
    print(RESULT_MARK + json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
