"""An unbounded job as one Spark streaming query."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import array, col, element_at, lit
from pyspark.sql.streaming.query import StreamingQuery

from headrace.plan.physical import PhysicalPlan
from headrace.runtime.level_task import WAKE
from headrace.spark.alignment import Aligner
from headrace.spark.batch import OnResults, driver_items
from headrace.spark.control import Control
from headrace.spark.failures import from_spark
from headrace.spark.job_folder import JobFolder
from headrace.spark.processor import SlotProcessor
from headrace.spark.shipment import Shipment
from headrace.spark.slots import slot_labels
from headrace.spark.stream_inputs import stream_input
from headrace.spark.worker import SCHEMA, read_source


@dataclass(frozen=True)
class StreamSettings:
    """How a stream is run."""

    checkpoint_dir: str | None = None
    job_number: int = 1
    """Which of the program's jobs this is: each has a folder of its own."""
    interval_ms: int = 0
    """How often a micro-batch starts; 0: as soon as the one before has finished."""
    files_per_batch: int | None = None
    """How many new files a micro-batch reads at most."""


class StreamRun:
    """One streaming query, from its start to its end."""

    def __init__(
        self, spark: SparkSession, plan: PhysicalPlan, shipment: Shipment, on_results: OnResults,
        settings: StreamSettings, folder: JobFolder,
    ):  # fmt: skip
        self._spark = spark
        self._plan = plan
        self._shipment = shipment
        self._on_results = on_results
        self._settings = settings
        self._folder = folder
        self._control = Control(folder.control)
        self._aligner = Aligner(plan, folder.alignment)
        self._query: StreamingQuery | None = None
        self._started = threading.Event()
        self._stop_asked = False

    def run(self) -> None:
        """Run until stopped; a job whose sources are all bounded until they are read."""
        if self._plan.last_level > 0:
            self._spark.conf.set("spark.sql.shuffle.partitions", str(self._plan.parallelism))
        try:
            resumed = self._folder.resumes
            query = self._query = self._start()
            self._started.set()
            if resumed:
                self._control.tick()  # slots may hold timers that came due meanwhile
            if self._stop_asked:
                query.stop()
            if self._plan.bounded:
                self._run_to_end(query)
            else:
                query.awaitTermination()
        except Exception as error:
            if not self._stop_asked:
                raise from_spark(error) from None
        finally:
            self._control.close()
            self._started.set()
            if self._query is not None and self._query.isActive:
                self._query.stop()

    def _run_to_end(self, query: StreamingQuery) -> None:
        query.processAllAvailable()
        self._control.announce_end()
        query.processAllAvailable()
        query.stop()

    def stop(self) -> None:
        self._stop_asked = True
        self._started.wait(timeout=60)
        if self._query is not None:
            self._query.stop()

    def _start(self) -> StreamingQuery:
        writer = (
            self.lower().writeStream.foreachBatch(self._take)
            .outputMode("append")
            .option("checkpointLocation", str(self._folder.checkpoint))
        )  # fmt: skip
        if self._settings.interval_ms:
            writer = writer.trigger(processingTime=f"{self._settings.interval_ms} milliseconds")
        return writer.start()

    def _take(self, rows: DataFrame, batch_id: int) -> None:
        items = driver_items(row.blob for row in rows.collect())
        self._control.wake_at(min((due for _, _, kind, due in items if kind == WAKE), default=None))
        self._aligner.take_in(items)
        self._on_results(batch_id, items)

    def lower(self) -> DataFrame:
        """The streaming DataFrame whose rows are what the job sends to its driver."""
        plan, shipment = self._plan, self._shipment
        inputs = [
            stream_input(
                self._spark,
                vertex,
                shipment,
                str(self._folder.alignment),
                self._settings.files_per_batch,
            ).mapInArrow(read_source(shipment, vertex.id, final=False, keep=True), SCHEMA)
            for vertex in plan.sources
        ]
        inputs.append(self._control.frame(self._spark, plan.parallelism))
        frame = reduce(DataFrame.unionAll, inputs)
        labels = slot_labels(plan.parallelism)
        for level in range(1, plan.last_level + 1):
            frame = self._keyed_level(frame, level, labels)
        return frame

    def _keyed_level(self, frame: DataFrame, level: int, labels: list[int]) -> DataFrame:
        label = element_at(array(*map(lit, labels)), col("slot") + 1)
        # Mode "None": Spark drops nothing as late and sets no timers; time is our own.
        return (
            frame.withColumn("label", label).groupBy("label")
            .transformWithState(
                statefulProcessor=SlotProcessor(self._shipment, level, tuple(labels)),
                outputStructType=SCHEMA,
                outputMode="append",
                timeMode="None",
            )
        )  # fmt: skip
