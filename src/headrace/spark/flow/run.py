"""A stream as one query of Spark's real-time mode."""

from __future__ import annotations

import queue
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from headrace.errors import HeadraceError, JobFailed
from headrace.plan.physical import WATERMARK_INTERVAL, PhysicalPlan
from headrace.runtime.flow.assignment import tasks_of
from headrace.runtime.flow.coordinator import TooManyFailures
from headrace.runtime.flow.fed import fed_source
from headrace.runtime.flow.master import Master, Surroundings
from headrace.runtime.flow.messages import (
    Assign,
    DriverItem,
    Failed,
    Hold,
    TaskId,
    Told,
    TookPiece,
)
from headrace.spark.alignment import Aligner
from headrace.spark.failures import from_spark
from headrace.spark.flow.attempt import FAREWELL, NOBODY, Attempt, Job, explain_loss
from headrace.spark.flow.channel import Clerk
from headrace.spark.flow.checkpoint_files import STATE
from headrace.spark.flow.clock import clock
from headrace.spark.flow.feeding import Around, FeedingClerk, Feeds
from headrace.spark.flow.lowering import lower_levels, source_tasks
from headrace.spark.flow.query import exchanged, start_query
from headrace.spark.flow.state_files import mounted_at
from headrace.spark.flow.worker import FlowPlan, read_sources, run_level
from headrace.spark.session import local_slots
from headrace.spark.worker import SCHEMA

_DISCOVER_EVERY = 1.0
_LOOK_EVERY = 0.5
_LAST_WORDS = 10.0
"""Seconds in which it becomes known why a task is gone."""
_USUAL_MARK_INTERVAL = 200
_FOUND = object()
"""In the inbox: there are splits that nobody reads yet."""
_NO_SLOTS = "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT"


def slots_needed(plan: PhysicalPlan) -> int:
    """How many tasks of a plan run at once, and one for each source that Spark reads."""
    return len(tasks_of(plan)) + sum(fed_source(vertex) is not None for vertex in plan.sources)


class FlowRun(Attempt):
    """One query, from its start to its end."""

    ledger: Master

    def __init__(self, job: Job, before: Attempt | None = None):
        super().__init__(job, before)
        plan = job.plan
        self._query: StreamingQuery | None = None
        self._aligner = Aligner(plan)
        self._ahead: dict[str, list[str]] = {}
        self._source_tasks = source_tasks(plan)
        self._feeds = Feeds(
            job.spark,
            plan,
            Around(self.server.address, self.server.send, self._found_splits, self.fail),
        )
        self.ledger = Master(self.beginning(), self.surroundings(), job.settings.checkpoints)

    def surroundings(self) -> Surroundings:
        enumerators = self._feeds.enumerators
        return replace(super().surroundings(), send=self._say, enumerators=enumerators)

    def _say(self, task: TaskId, message: Any) -> None:
        self.server.send(task, message)
        if isinstance(message, Assign):
            self._feeds.assigned(task, message)

    def clerk(self) -> Clerk:
        return FeedingClerk(super().clerk(), self._feeds.answer)

    def _found_splits(self) -> None:
        self._inbox.put((NOBODY, _FOUND))

    def run(self) -> None:
        try:
            self._query = self._start()
            self.query_started = True
            self._watch()
        except TooManyFailures as error:
            raise JobFailed(
                str(error),
                hint="Raise execution.checkpointing.timeout or "
                "execution.checkpointing.tolerable-failed-checkpoints; where records wait for a "
                "slow function, execution.checkpointing.unaligned.enabled lets barriers overtake "
                "them.",
            ) from None
        except Exception as error:
            raise self._failure or from_spark(error) from None
        finally:
            self._feeds.close()
            # The tasks first: they close their functions, and have nobody to complain to.
            self.server.dismiss(FAREWELL)
            self.ledger.close()
            if self._query is not None:
                with suppress(Exception):
                    self._query.stop()
            self.ended.set()
        if self._failure is not None:
            raise self._failure

    def _start(self) -> StreamingQuery:
        needed, has = slots_needed(self.job.plan), local_slots(self.job.spark)
        if has is not None and has < needed:
            raise _too_few_slots(f"it needs {needed} slots at once, and Spark has {has}")
        self.store.delete("spark")  # what Spark noted of earlier attempts
        notes = f"{self.store.uri}/spark/{self.number}"
        return start_query(self.job.spark, self.lower(), notes)

    def lower(self) -> DataFrame:
        """The streaming DataFrame of all levels; it has no rows to show for itself."""
        sources, plan, settings = self._source_tasks, self.job.plan, self.job.settings
        flow = FlowPlan(
            self.job.shipment,
            self.server.address,
            mounted_at(self.store.child(STATE)),
            sources,
            buffer_ms=settings.buffer_timeout_ms,
            mark_ms=int(plan.settings.get(WATERMARK_INTERVAL, _USUAL_MARK_INTERVAL)),
            checkpoints=settings.checkpoints.interval is not None,
        )
        read = clock(self.job.spark, len(sources)).mapInArrow(read_sources(flow), SCHEMA)
        return lower_levels(read, plan, exchanged, lambda level: run_level(flow, level))

    # What happens while it runs.

    def _watch(self) -> None:
        discover_at = 0.0
        while self._goes_on:
            now = time.monotonic()
            if now >= discover_at:
                self.ledger.discover()
                discover_at = now + _DISCOVER_EVERY
            self._begin_wanted(now)
            self.ledger.look_at_clock(now)
            self._wait(now)

    def _wait(self, now: float) -> None:
        due = self.ledger.coordinator.next_due(now)
        until = now + _LOOK_EVERY if due is None else min(due, now + _LOOK_EVERY)
        try:
            task, message = self._inbox.get(timeout=max(0.0, until - now))
        except queue.Empty:
            self._look_at_query()
            return
        if message is _FOUND:
            self.ledger.discover()
            return
        if isinstance(message, TookPiece):
            self._feeds.took_piece(task)
        elif isinstance(message, Told):
            self._align(message.items)
        self._take_in(task, message)

    def _look_at_query(self) -> None:
        self.job.listener.idle()
        if self._query is not None and not self._query.isActive:
            error = self._query.exception()
            self._failure = _from_spark(error) if error else JobFailed("Spark has ended the query")

    def _align(self, items: tuple[DriverItem, ...]) -> None:
        """Let splits wait that are ahead of others in their group."""
        self._aligner.take_in(items)
        ahead = self._aligner.ahead()
        if ahead != self._ahead:
            self._ahead = ahead
            for number, (vertex, _) in enumerate(self._source_tasks):
                waiting = frozenset(ahead.get(str(vertex), ()))
                self.server.send(TaskId(0, number), Hold(waiting))

    def _begin_wanted(self, now: float) -> None:
        """Take a checkpoint for somebody, once tasks have begun and none is under way."""
        if self._wanted and self.ledger.coordinator.may_trigger:
            wanted = self._wanted.popleft()
            # Whoever asks wants to go on from it with another program or parallelism.
            if wanted.stays:
                self.files.want(self.ledger.coordinator.next_number)
            wanted.number = self.ledger.trigger(now, stops=wanted.stops, is_exact=True)
            wanted.begun.set()

    def _why_lost(self, lost: TaskId) -> HeadraceError:
        """Another task, or Spark, may know why."""
        assert self._query is not None
        deadline = time.monotonic() + _LAST_WORDS
        while self._query.isActive and time.monotonic() < deadline:
            with suppress(queue.Empty):
                _, message = self._inbox.get(timeout=0.05)
                if isinstance(message, Failed):
                    return from_spark(Exception(message.text))
        error = self._query.exception()
        return _from_spark(error) if error else explain_loss(None, lost)

    def drain(self) -> None:
        self._feeds.close()
        self.ledger.drain()


def _from_spark(error: BaseException) -> HeadraceError:
    if _NO_SLOTS in str(error):
        return _too_few_slots("Spark has too few free slots for all its tasks at once")
    return explain_loss(error)


def _too_few_slots(what: str) -> JobFailed:
    return JobFailed(
        f"the job cannot run in real time: {what}",
        hint="Lower the parallelism, give Spark more cores, or set headrace.stream.mode to "
        "micro-batch.",
    )
