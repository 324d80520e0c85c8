"""Queries of Spark's real-time mode, whose tasks run on until somebody stops them.

Real-time mode reads few kinds of sources, none of them in Python. So a query reads from a stream of
Spark's own that stays empty, one partition for each source task, and the tasks read for themselves.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.spark.flow.lowering import at_slots

_STREAM = "org.apache.spark.sql.execution.streaming.sources.LowLatencyMemoryStream"
_NEVER_ENDS = "3650 days"
"""How long a query of Spark's lasts; checkpoints are our own."""
_SETTINGS = {
    # Real-time mode is meant for queries without Python; these are needed to run others.
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    "spark.sql.streaming.realTimeMode.minBatchDuration": "200",
}
_ROW_BY_ROW = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.sql.execution.pandas.udf.buffer.size": "8",
}


def clock(spark: SparkSession, tasks: int) -> DataFrame:
    """A stream without rows, in as many partitions: it keeps the tasks going."""
    jvm: Any = spark._jvm
    encoder = getattr(jvm, "org.apache.spark.sql.Encoders").STRING()
    stream = getattr(jvm, _STREAM).apply(spark._jsparkSession, tasks, encoder)
    return DataFrame(stream.toDF(), spark)


def start_query(spark: SparkSession, frame: DataFrame, folder: str) -> StreamingQuery:
    """Run a streaming DataFrame that has no rows to show; Spark keeps its notes in the folder."""
    before = {key: spark.conf.get(key) for key in _ROW_BY_ROW}
    for key, value in {**_SETTINGS, **_ROW_BY_ROW}.items():
        spark.conf.set(key, value)
    writer = frame.writeStream.format("noop").outputMode("update")
    writer = writer.option("checkpointLocation", folder)
    try:
        query: StreamingQuery = writer.trigger(realTime=_NEVER_ENDS).start()  # type: ignore[call-overload]
    finally:
        # The query has its own copy of them by now; other queries beside it are no real time.
        for key, former in before.items():
            spark.conf.set(key, str(former))
    return query


def exchanged(frame: DataFrame, slots: int) -> DataFrame:
    """Rows of (slot, blob) at their slots, each at once."""
    frame = at_slots(frame, slots)
    # What writes rows to Python asks for the next one before it lets one go.
    return frame.selectExpr("slot", "explode(array(blob, cast(null as binary))) as blob")
