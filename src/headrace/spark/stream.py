"""An unbounded job as one Spark streaming query."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import array, col, element_at, lit
from pyspark.sql.streaming.query import StreamingQuery

from headrace.core.crash_points import reach
from headrace.core.source import SplitSpec
from headrace.errors import HeadraceError, JobFailed
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.envelope import Envelope
from headrace.runtime.flow.coordinator import CheckpointSettings
from headrace.runtime.level_task import ENDED, WAKE
from headrace.spark.admission import Admission, target_seconds
from headrace.spark.alignment import Aligner
from headrace.spark.batch import DriverItem
from headrace.spark.commit_watch import CommitWatch
from headrace.spark.control import Control
from headrace.spark.fail_fast import ended_by_notes
from headrace.spark.failures import from_spark
from headrace.spark.job_folder import JobFolder, RunNote, job_folder
from headrace.spark.processor import SlotProcessor
from headrace.spark.savepoints.checkpoint import last_committed
from headrace.spark.savepoints.opening import Start
from headrace.spark.session import explained
from headrace.spark.shipment import Shipment, write_shipment
from headrace.spark.slots import slot_labels
from headrace.spark.stream_inputs import stream_input, unreached_socket
from headrace.spark.worker import SCHEMA, read_source

AUTO, REAL_TIME, MICRO_BATCH = "auto", "real-time", "micro-batch"


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
    target_batch_ms: int | None = None
    """How long a micro-batch should last; None: as the interval says; 0: no matter how long."""
    max_records_per_batch: int | None = None
    """How many records of each source a micro-batch reads at most."""
    mode: str = MICRO_BATCH
    """How records flow: in real time, or in micro-batches."""
    checkpoints: CheckpointSettings = field(default_factory=CheckpointSettings)
    """What real time needs to know of them; micro-batches are watched from outside."""
    buffer_timeout_ms: int | None = None
    """In real time: how long records wait for others to go with; -1: until there are many."""
    retained: int | None = None
    """How many of the latest checkpoints are kept; None: as many as Spark keeps."""


class Listener(Protocol):
    """Whoever wants to know how a stream goes on; `committed` is called by another thread."""

    def begun(self, batch_id: int) -> None: ...

    def arrived(self, batch_id: int, items: list[DriverItem]) -> None: ...

    def told(self, items: list[DriverItem]) -> None: ...

    def committed(self, batch_id: int) -> None: ...

    def idle(self) -> None: ...


class StreamRun:
    """One streaming query, from its start to its end."""

    def __init__(
        self, spark: SparkSession, plan: PhysicalPlan, shipment: Shipment, listener: Listener,
        settings: StreamSettings, folder: JobFolder, start: Start,
    ):  # fmt: skip
        self._spark = spark
        self._plan = plan
        self._shipment = shipment
        self._listener = listener
        self._settings = settings
        self._folder = folder
        self.store = folder.run
        """Where its checkpoint is; the folder may be in another run by the time it is read."""
        self._start_with = start
        self._control = Control(folder.control)
        self._aligner = Aligner(plan, folder.alignment)
        target = target_seconds(settings.target_batch_ms, settings.interval_ms, plan.bounded)
        notes = folder.notes / "admission"
        self.admission = Admission(plan, notes, target, settings.max_records_per_batch)
        self._query: StreamingQuery | None = None
        self._started = threading.Event()
        self._stop_asked = False
        self._failure: HeadraceError | None = None
        self._cause: Exception | None = None
        """What the last micro-batch failed with."""
        self._ended_in: int | None = None
        self.ended = threading.Event()
        """Set when nothing more will come of this run, not even a commit."""
        self.gate = threading.Lock()
        """Who holds it keeps the stream from going past its next micro-batch."""
        self.watch = CommitWatch(folder.run, listener, lambda error: self.fail(from_spark(error)))

    @property
    def query_started(self) -> bool:
        return self._query is not None

    def run(self) -> None:
        """Run until stopped; a job whose sources are all bounded until they are read."""
        if self._plan.last_level > 0:
            self._spark.conf.set("spark.sql.shuffle.partitions", str(self._plan.parallelism))
        if self._settings.retained is not None:
            kept = max(2, self._settings.retained)
            self._spark.conf.set("spark.sql.streaming.minBatchesToRetain", str(kept))
        try:
            wake = self._folder.resumes or self._start_with.restored is not None
            with self.watch.running(), ended_by_notes(self._spark, self._group, self.fail):
                query = self._query = self._start()
                self._started.set()
                if wake:
                    # Slots may hold timers that came due meanwhile, or restored state to take over.
                    self._control.tick()
                if self._stop_asked or self._failure is not None:
                    query.stop()
                if self._plan.bounded:
                    self._run_to_end(query)
                else:
                    query.awaitTermination()
            if self._failure is not None:
                raise self._failure
        except Exception as error:
            if self._failure is not None:
                raise self._failure from None
            if not self._stop_asked and self._ended_in is None:
                unreached = unreached_socket(self._plan, str(error))
                raise unreached or from_spark(self._cause or error) from None
        finally:
            self._control.close()
            self._started.set()
            if self._query is not None and self._query.isActive:
                self._query.stop()
            try:
                self._settle()
            finally:
                self.ended.set()

    def _group(self) -> str | None:
        """The job group of the query's tasks."""
        return None if self._query is None else str(self._query.runId)

    def _settle(self) -> None:
        """Tell of what was committed last; what fails now is as bad as before."""
        try:
            self.watch.end()
        except Exception as error:
            raise self._failure or from_spark(error) from None
        last = last_committed(self._folder.run)
        if self._ended_in is not None and (last is None or last < self._ended_in):
            raise self._failure or JobFailed(
                f"the last micro-batch, {self._ended_in}, was not committed",
                hint="Is the checkpoint folder full or out of reach? The job can be resumed.",
            )

    def _run_to_end(self, query: StreamingQuery) -> None:
        query.processAllAvailable()
        if self._stop_asked or self._failure is not None:
            return  # it was stopped before its sources had ended
        self._control.announce_end()
        query.processAllAvailable()
        query.stop()

    def stop(self) -> None:
        """End the query where it is; the micro-batch that is running comes to nothing."""
        self._stop_asked = True
        self._started.wait(timeout=60)
        if self._query is not None:
            self._query.stop()

    def fail(self, error: HeadraceError) -> None:
        """End the query as if it had failed."""
        self._failure = error
        if self._query is not None:
            with suppress(Exception):
                self._query.stop()

    def wake(self) -> None:
        """Let a micro-batch run even if no source has anything new."""
        self._started.wait(timeout=60)
        self._control.tick()

    def drain(self) -> None:
        """Tell all slots that nothing more will come, as if every source had ended here."""
        self._started.wait(timeout=60)
        self._control.announce_end()

    def _start(self) -> StreamingQuery:
        writer = (
            self.lower().writeStream.foreachBatch(self._take)
            .outputMode("append")
            .option("checkpointLocation", self._folder.checkpoint)
        )  # fmt: skip
        if self._settings.interval_ms and self._is_paced_by_spark():
            writer = writer.trigger(processingTime=f"{self._settings.interval_ms} milliseconds")
        return writer.start()

    def _is_paced_by_spark(self) -> bool:
        """Sources with splits keep the interval themselves, so that timers need not wait for it."""
        kinds = {type(vertex.source) for vertex in self._plan.sources}
        return not self._plan.bounded and kinds != {SplitSpec}

    def _take(self, rows: DataFrame, batch_id: int) -> None:
        try:
            self._take_in(rows, batch_id)
        except Exception as error:
            # Spark looks through the text of what comes out of here with a regular expression that
            # overflows its stack when the text is long, as that of a failed or cancelled job is.
            self._cause = error
            raise _BatchFailed from None

    def _take_in(self, rows: DataFrame, batch_id: int) -> None:
        envelopes = [Envelope.decode(bytes(row.blob)) for row in rows.collect()]
        reach("state-commit.after", batch_id)
        self.admission.batch_ended()
        items = [item for envelope in envelopes for item in envelope.driver]
        with self.gate:
            if self._ended_in is not None and batch_id > self._ended_in:
                raise _AfterTheEnd  # whatever came after it is not part of the job
            self._control.wake_at(
                min((due for _, _, kind, due in items if kind == WAKE), default=None)
            )
            self._aligner.take_in(items)
            self._listener.arrived(batch_id, items)
            if _has_ended(envelopes, items):
                self._ended_in = batch_id
        reach("commit-log.before", batch_id)

    @property
    def ended_in(self) -> int | None:
        """The micro-batch in which the slots learned that nothing more will come."""
        return self._ended_in

    def lower(self) -> DataFrame:
        """The streaming DataFrame whose rows are what the job sends to its driver."""
        plan, shipment = self._plan, self._shipment
        shipment_file = self._folder.notes / "shipment"
        write_shipment(shipment, shipment_file)
        inputs = [
            stream_input(
                self._spark,
                vertex,
                shipment_file,
                str(self._folder.alignment),
                self._settings.files_per_batch,
                str(self._folder.notes / "admission"),
                began_at=self._start_with.positions.get(vertex.uid),
                interval_ms=0 if self._is_paced_by_spark() else self._settings.interval_ms,
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
                initialState=self._initial_state(level),
            )
        )  # fmt: skip

    def _initial_state(self, level: int) -> Any:
        restored = self._start_with.restored
        if restored is None:
            return None
        return restored.initial_state(self._shipment, self._plan, level).groupBy("label")


def physical_plan_text(spark: SparkSession, plan: PhysicalPlan, shipment: Shipment) -> str:
    """How Spark would run a job, which is only to be looked at."""
    folder = job_folder(spark, None, 1)
    try:
        folder.begin(RunNote("", 0, {}))
        run = StreamRun(spark, plan, shipment, _Nobody(), StreamSettings(), folder, Start())
        return explained(spark, run.lower())
    finally:
        folder.leave()


class _Nobody:
    """Listens to nothing."""

    def begun(self, batch_id: int) -> None: ...

    def arrived(self, batch_id: int, items: list[DriverItem]) -> None: ...

    def told(self, items: list[DriverItem]) -> None: ...

    def committed(self, batch_id: int) -> None: ...

    def idle(self) -> None: ...


class _BatchFailed(Exception):
    """Ends a query whose micro-batch failed; the run knows why."""


class _AfterTheEnd(Exception):
    """Ends a query that goes on although the job was told to come to its end."""


def _has_ended(envelopes: list[Envelope], items: list[DriverItem]) -> bool:
    # Where nothing is shuffled, words to the slots come straight to the driver.
    return any(envelope.final for envelope in envelopes) or any(
        kind == ENDED for _, _, kind, _ in items
    )
