"""What keeps the tasks of a real-time query going: a source that never has anything.

Real-time mode reads few kinds of sources, none of them in Python. So the query reads from a stream
of Spark's own that stays empty, one partition for each source task, and the tasks read for
themselves.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

_STREAM = "org.apache.spark.sql.execution.streaming.sources.LowLatencyMemoryStream"


def clock(spark: SparkSession, tasks: int) -> DataFrame:
    """A stream without rows, in as many partitions."""
    jvm: Any = spark._jvm
    encoder = getattr(jvm, "org.apache.spark.sql.Encoders").STRING()
    stream = getattr(jvm, _STREAM).apply(spark._jsparkSession, tasks, encoder)
    return DataFrame(stream.toDF(), spark)
