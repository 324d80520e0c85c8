"""An unbounded job as one query of Spark's real-time mode."""

from __future__ import annotations

import queue
import threading
import time
from contextlib import suppress
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.errors import HeadraceError, JobFailed
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.flow.assignment import tasks_of
from headrace.runtime.flow.coordinator import CheckpointSettings, TooManyFailures
from headrace.runtime.flow.master import Master
from headrace.runtime.flow.messages import Failed, TaskId
from headrace.spark.failures import from_spark
from headrace.spark.flow.channel import HUNG_UP, Server
from headrace.spark.flow.checkpoint_files import STATE, CheckpointFiles, begin_attempt
from headrace.spark.flow.clock import clock
from headrace.spark.flow.worker import FlowPlan, read_sources, run_level
from headrace.spark.job_folder import JobFolder
from headrace.spark.savepoints.opening import Start
from headrace.spark.shipment import Shipment
from headrace.spark.stream import Listener, StreamSettings
from headrace.spark.worker import SCHEMA

_NEVER_ENDS = "3650 days"
"""How long a query of Spark's lasts; checkpoints are our own."""
_DISCOVER_EVERY = 1.0
_LOOK_EVERY = 0.5
_LAST_WORDS = 10.0
"""Seconds in which it becomes known why a task is gone."""
_NOBODY = TaskId(-1, 0)

SETTINGS = {
    # Real-time mode is meant for queries without Python; these are needed to run others.
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    "spark.sql.streaming.realTimeMode.minBatchDuration": "200",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.sql.execution.pandas.udf.buffer.size": "8",
}


def slots_needed(plan: PhysicalPlan) -> int:
    """How many tasks of a plan run at once."""
    return len(tasks_of(plan))


class FlowRun:
    """One query, from its start to its end, and all its checkpoints."""

    def __init__(
        self, spark: SparkSession, plan: PhysicalPlan, shipment: Shipment, listener: Listener,
        settings: StreamSettings, folder: JobFolder, start: Start,
    ):  # fmt: skip
        self._spark = spark
        self._plan = plan
        self._shipment = shipment
        self._listener = listener
        self.store = folder.run
        self._inbox: queue.Queue[tuple[TaskId, Any]] = queue.Queue()
        self._query: StreamingQuery | None = None
        self._stop_asked = False
        self._failure: HeadraceError | None = None
        self._progressed = threading.Condition()
        self.ended = threading.Event()
        self.gate = threading.Lock()
        self._attempt, restored = begin_attempt(self.store)
        self._server = Server("127.0.0.1", lambda task, said: self._inbox.put((task, said)))
        files = CheckpointFiles(self.store, self._attempt, max(1, settings.retained or 1))
        self._master = Master(
            plan, self._attempt, restored, CheckpointSettings(settings.interval_ms or None),
            files, listener, self._server.send,
        )  # fmt: skip

    @property
    def watch(self) -> FlowRun:
        return self

    @property
    def last(self) -> int | None:
        """The last checkpoint that is complete."""
        return self._master.last

    @property
    def ended_in(self) -> int | None:
        """The checkpoint in which the job came to its end."""
        return self._master.last if self._master.ended else None

    @property
    def query_started(self) -> bool:
        return self._query is not None

    def run(self) -> None:
        """Run until stopped, failed, or all sources have come to their end."""
        try:
            for key, value in SETTINGS.items():
                self._spark.conf.set(key, value)
            self._query = self._start()
            self._watch()
        except TooManyFailures as error:
            raise JobFailed(str(error)) from None
        except Exception as error:
            raise self._failure or from_spark(error) from None
        finally:
            # The tasks first: they leave at once, and have nobody to complain to.
            self._server.close()
            self._master.close()
            if self._query is not None:
                with suppress(Exception):
                    self._query.stop()
            self.ended.set()
        if self._failure is not None:
            raise self._failure

    def _start(self) -> StreamingQuery:
        writer = self.lower().writeStream.format("noop").outputMode("update")
        writer = writer.option("checkpointLocation", f"{self.store.uri}/spark/{self._attempt}")
        query: StreamingQuery = writer.trigger(realTime=_NEVER_ENDS).start()  # type: ignore[call-overload]
        return query

    def lower(self) -> DataFrame:
        """The streaming DataFrame of all levels; it has no rows to show for itself."""
        sources = [(vertex.id, number) for vertex in self._plan.sources
                   for number in range(vertex.parallelism)]  # fmt: skip
        flow = FlowPlan(
            self._shipment, self._server.address, f"{self.store.uri}/{STATE}", tuple(sources),
            flush_ms=5, mark_ms=200,
        )  # fmt: skip
        frame = clock(self._spark, len(sources)).mapInArrow(read_sources(flow), SCHEMA)
        for level in range(1, self._plan.last_level + 1):
            frame = frame.repartitionById(self._plan.parallelism, "slot")
            # What writes rows to Python asks for the next one before it lets one go.
            frame = frame.selectExpr("slot", "explode(array(blob, cast(null as binary))) as blob")
            frame = frame.mapInArrow(run_level(flow, level), SCHEMA)
        return frame

    # What happens while it runs.

    def _watch(self) -> None:
        discover_at = 0.0
        while not self._stop_asked and self._failure is None and not self._master.ended:
            now = time.monotonic()
            if now >= discover_at:
                self._master.discover()
                discover_at = now + _DISCOVER_EVERY
            self._master.look_at_clock(now)
            self._take_in(self._wait(now))

    def _wait(self, now: float) -> tuple[TaskId, Any] | None:
        due = self._master.coordinator.next_due(now)
        until = now + _LOOK_EVERY if due is None else min(due, now + _LOOK_EVERY)
        try:
            return self._inbox.get(timeout=max(0.0, until - now))
        except queue.Empty:
            self._look_at_query()
            return None

    def _look_at_query(self) -> None:
        self._listener.idle()
        if self._query is not None and not self._query.isActive:
            error = self._query.exception()
            self._failure = from_spark(error) if error else JobFailed("Spark has ended the query")

    def _take_in(self, said: tuple[TaskId, Any] | None) -> None:
        if said is None:
            return
        task, message = said
        if isinstance(message, Failed):
            self._failure = from_spark(Exception(message.text))
        elif message is HUNG_UP:
            self._failure = self._why_lost(task)
        else:
            before = self._master.last
            self._master.take_in(task, message, time.monotonic())
            if self._master.last != before:
                with self._progressed:
                    self._progressed.notify_all()

    def _why_lost(self, lost: TaskId) -> HeadraceError:
        """A task has gone without a word: another one, or Spark, may know why."""
        assert self._query is not None
        deadline = time.monotonic() + _LAST_WORDS
        while self._query.isActive and time.monotonic() < deadline:
            with suppress(queue.Empty):
                _, message = self._inbox.get(timeout=0.05)
                if isinstance(message, Failed):
                    return from_spark(Exception(message.text))
        error = self._query.exception()
        return from_spark(error) if error else JobFailed(f"the worker of task {lost} is gone")

    # What others ask for.

    def stop(self) -> None:
        """End it where it is."""
        self._stop_asked = True
        self._inbox.put((_NOBODY, None))

    def fail(self, error: HeadraceError) -> None:
        """End it as if it had failed."""
        self._failure = error
        self._inbox.put((_NOBODY, None))

    def drain(self) -> None:
        """Let all sources end here."""
        self._master.drain()

    def wake(self) -> None:
        """Nothing has to be waited for that would not come by itself."""

    def wait_for(self, number: int, timeout: float) -> bool:
        """Wait until a checkpoint is complete."""
        with self._progressed:
            return self._progressed.wait_for(lambda: (self.last or -1) >= number, timeout)

    def settle(self) -> None:
        """Output is committed as soon as its checkpoint is complete."""
