"""Spark's own streaming sum and count by window and user, all in the JVM.

Reads the same CSV as the window job, one file a micro-batch, with the same bound on
out-of-orderness, and emits each window once, when it is over.
"""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from spark_group_count import main

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


if __name__ == "__main__":
    main(start)
