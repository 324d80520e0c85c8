"""A stream as one query of Spark's real-time mode."""

from __future__ import annotations

import queue
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from headrace.errors import HeadraceError, JobFailed
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.driver_items import DriverItem
from headrace.runtime.flow.assignment import tasks_of
from headrace.runtime.flow.fed import fed_source
from headrace.runtime.flow.master import Master, Surroundings
from headrace.runtime.flow.messages import Assign, Failed, Hold, Pause, TaskId, Told, TookPiece
from headrace.spark.failures import from_spark
from headrace.spark.flow.attempt import FAREWELL, NOBODY, Attempt, explain_loss
from headrace.spark.flow.channel import Clerk
from headrace.spark.flow.feeding import Around, FeedingClerk, Feeds
from headrace.spark.flow.lowering import lower_levels
from headrace.spark.flow.query import clock, exchanged, start_query
from headrace.spark.flow.worker import read_sources, run_level
from headrace.spark.session import local_slots
from headrace.spark.worker import SCHEMA

_DISCOVER_EVERY = 1.0
_LOOK_EVERY = 0.5
_LAST_WORDS = 10.0
"""Seconds in which it becomes known why a task is gone."""
_FOUND = object()
"""In the inbox: there are splits that nobody reads yet."""
_NO_SLOTS = "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT"


def slots_needed(plan: PhysicalPlan) -> int:
    """How many tasks of a plan run at once, and one for each source that Spark reads."""
    return len(tasks_of(plan)) + sum(fed_source(vertex) is not None for vertex in plan.sources)


class FlowRun(Attempt):
    """One query, from its start to its end."""

    ledger: Master

    def _prepare(self) -> None:
        self._query: StreamingQuery | None = None
        self._ahead: dict[int, list[str]] = {}
        self._paused = False
        job = self.job
        self._feeds = Feeds(
            job.spark,
            job.plan,
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

    def _run(self) -> None:
        self._query = self._start()
        self.query_started = True
        self._watch()

    def _leave(self) -> None:
        with ExitStack() as last:
            last.callback(self._stop_query)
            last.callback(self.ledger.close)
            # The tasks before it: they close their functions, and have nobody to complain to.
            last.callback(self.server.dismiss, FAREWELL)
            self._feeds.close()

    def _stop_query(self) -> None:
        if self._query is not None:
            with suppress(Exception):
                self._query.stop()

    def _start(self) -> StreamingQuery:
        needed, has = slots_needed(self.job.plan), local_slots(self.job.spark)
        if has is not None and has < needed:
            raise _too_few_slots(f"it needs {needed} slots at once, and Spark has {has}")
        self.store.delete("spark")  # what Spark noted of earlier attempts
        notes = f"{self.store.uri}/spark/{self.number}"
        return start_query(self.job.spark, self.lower(), notes)

    def lower(self) -> DataFrame:
        """The streaming DataFrame of all levels; it has no rows to show for itself."""
        flow = self._flow
        read = clock(self.job.spark, len(flow.sources)).mapInArrow(read_sources(flow), SCHEMA)
        return lower_levels(read, self.job.plan, exchanged, lambda level: run_level(flow, level))

    # What happens while it runs.

    def _watch(self) -> None:
        discover_at = 0.0
        while self._goes_on:
            now = time.monotonic()
            if now >= discover_at:
                self.ledger.discover()
                discover_at = now + _DISCOVER_EVERY
            self._begin_wanted(now)
            self._wait_for_program()
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
            for number, (vertex, _) in enumerate(self._flow.sources):
                waiting = frozenset(ahead.get(vertex, ()))
                self.server.send(TaskId(0, number), Hold(waiting))

    def _wait_for_program(self) -> None:
        """Let sources pause while the program has not taken what it collects."""
        waits = self.job.listener.waits_for_program
        if waits != self._paused and self.ledger.coordinator.running:
            self._paused = waits
            for number in range(len(self._flow.sources)):
                self.server.send(TaskId(0, number), Pause(waits))

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
