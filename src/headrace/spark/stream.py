"""An unbounded job as one Spark streaming query."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import array, col, element_at, lit
from pyspark.sql.streaming.query import StreamingQuery

from headrace.errors import Unsupported
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.level_task import WAKE
from headrace.spark.batch import OnResults, driver_items
from headrace.spark.control import Control
from headrace.spark.failures import from_spark
from headrace.spark.processor import SlotProcessor
from headrace.spark.shipment import Shipment
from headrace.spark.slots import slot_labels
from headrace.spark.stream_inputs import stream_input
from headrace.spark.worker import SCHEMA, read_source


@dataclass(frozen=True)
class StreamSettings:
    """How a stream is run."""

    checkpoint_dir: str | None = None
    interval_ms: int = 0
    """How often a micro-batch starts; 0: as soon as the one before has finished."""
    files_per_batch: int | None = None
    """How many new files a micro-batch reads at most."""


def output_identity(settings: StreamSettings, fresh: str) -> str:
    """The name of a job's output: `fresh`, unless the job is resumed and has one already."""
    if settings.checkpoint_dir is None:
        return fresh
    known = _local(settings.checkpoint_dir) / "output-id"
    if not known.exists():
        known.parent.mkdir(parents=True, exist_ok=True)
        known.write_text(fresh, encoding="utf-8")
    return known.read_text(encoding="utf-8")


def journal_folder(settings: StreamSettings) -> Path | None:
    """Where a job that can be resumed notes what it is about to commit."""
    return None if settings.checkpoint_dir is None else _local(settings.checkpoint_dir) / "journal"


def _local(folder: str) -> Path:
    if "://" in folder and not folder.startswith("file://"):
        raise Unsupported(
            f"checkpoints go to a local folder so far, not to {folder}",
            hint="Give a path that every machine of the cluster can reach, for instance on NFS.",
        )
    return Path(folder.removeprefix("file://")).resolve()


class StreamRun:
    """One streaming query, from its start to its end."""

    def __init__(
        self, spark: SparkSession, plan: PhysicalPlan, shipment: Shipment, on_results: OnResults,
        settings: StreamSettings,
    ):  # fmt: skip
        self._spark = spark
        self._plan = plan
        self._shipment = shipment
        self._on_results = on_results
        self._settings = settings
        base = settings.checkpoint_dir
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-")) if base is None else _local(base)
        self._control = Control(self._folder / "control")
        self._query: StreamingQuery | None = None
        self._started = threading.Event()
        self._stop_asked = False

    def run(self) -> None:
        """Run until stopped; a job whose sources are all bounded until they are read."""
        if self._plan.last_level > 0:
            self._spark.conf.set("spark.sql.shuffle.partitions", str(self._plan.parallelism))
        try:
            resumed = (self._folder / "checkpoint" / "commits").exists()
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
            .option("checkpointLocation", str(self._folder / "checkpoint"))
        )  # fmt: skip
        if self._settings.interval_ms:
            writer = writer.trigger(processingTime=f"{self._settings.interval_ms} milliseconds")
        return writer.start()

    def _take(self, rows: DataFrame, batch_id: int) -> None:
        items = driver_items(row.blob for row in rows.collect())
        self._control.wake_at(min((due for _, _, kind, due in items if kind == WAKE), default=None))
        self._on_results(batch_id, items)

    def lower(self) -> DataFrame:
        """The streaming DataFrame whose rows are what the job sends to its driver."""
        plan, shipment = self._plan, self._shipment
        inputs = [
            stream_input(self._spark, vertex, self._settings.files_per_batch).mapInArrow(
                read_source(shipment, vertex.id, final=False, keep=True), SCHEMA
            )
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
