"""When a task that flows reads on, and when it does what is due by itself."""

from __future__ import annotations

import time
from collections.abc import Iterator

from headrace.core.operator import Batch
from headrace.runtime.flow.splits import Splits
from headrace.runtime.flow.task import FlowTask
from headrace.runtime.outbox import Row
from headrace.spark.worker import wall_clock

_POLL_S = 0.002
"""How long a source task sleeps that found nothing to read, or little."""
_FEW_RECORDS = 64
"""Of a split that had fewer to read more may come meanwhile: reading them one by one costs more."""
_LONGEST_POLL_S = 0.02
_POLLS_MORE = 0.02
"""By which part of a sleep the next one is longer."""
_STEP_S = 0.2
"""How long after the last one a step is read, so that all tasks have heard of that."""
REST_S = 0.2
"""How long a task sleeps that has nothing to wait for: then it looks whether files are written."""
BLOCKED_S = 0.05
"""How long a task sleeps that waits for room at others, if nobody tells it of any."""
_LOOK_S = 0.2
"""Where watermarks go out with each record: how often a task looks whether a split is idle."""
_BUFFER_S = 0.005
_LONGEST_BUFFER_S = 0.1
_COST = 3
"""How many times as long as letting records go takes they are held, if nothing is set."""


class Waker:
    """Says when a loop has something to do by itself."""

    def __init__(self, task: FlowTask, buffer_ms: int | None, mark_ms: int):
        self._task = task
        self._buffer = buffer_ms
        self._mark = mark_ms / 1000 if mark_ms else _LOOK_S
        self._next_mark = time.monotonic() + self._mark
        self._flushed = 0.0
        self._pause = _BUFFER_S if buffer_ms is None else max(0.0, buffer_ms / 1000)
        self._flush_at: float | None = None

    def wrote(self) -> None:
        """Something waits to go out."""
        if self._flush_at is None and self._buffer != -1:
            self._flush_at = max(time.monotonic(), self._flushed + self._pause)

    @property
    def mark_waits(self) -> bool:
        """Whether time should move on, and answers are owed that come before."""
        may_wait = self._task.level.owes_answers and self._task.level.time.is_made_here
        return may_wait and time.monotonic() >= self._next_mark

    def wait(self) -> float:
        """Seconds until something is due."""
        if self._task.is_blocked:
            return BLOCKED_S
        now = time.monotonic()
        next_mark = None if self.mark_waits else self._next_mark
        due = [at - now for at in (self._flush_at, next_mark) if at is not None]
        timers = (self._task.level.next_processing_time(), self._task.overtakes_at)
        due += [(at - wall_clock()) / 1000 for at in timers if at is not None]
        return max(0.0, min((REST_S, *due)))

    def do_what_is_due(self) -> Iterator[Row]:
        """Move time on, fire timers, let go of what waits."""
        yield from self._task.overtake_if_due()
        if self._task.ended:
            return
        if self._task.is_blocked:
            self._task.tell_news()
            return
        now = time.monotonic()
        if now >= self._next_mark and not self.mark_waits:
            self._next_mark = now + self._mark
            self._task.level.time.move()
            self.wrote()
        timer = self._task.level.next_processing_time()
        if timer is not None and timer <= wall_clock():
            self._task.level.fire_processing_time()
            self.wrote()
        if self._flush_at is not None and now >= self._flush_at:
            self._flush_at = None
            yield from self._task.end_round()
            self._flushed = time.monotonic()
            if self._buffer is None:
                cost = (self._flushed - now) * _COST
                self._pause = min(max(_BUFFER_S, cost), _LONGEST_BUFFER_S)


class Turns:
    """Reads splits, and says how long to wait before the next time."""

    def __init__(self, splits: Splits):
        self._splits = splits
        self._poll = _POLL_S
        self._next_step = 0.0
        self.pause = 0.0

    def read(self) -> Batch | None:
        if time.monotonic() < self._next_step:
            self.pause = _STEP_S
            return None
        batch = self._splits.read()
        if batch is None:
            self.pause = self._poll
            self._poll = min(self._poll * (1 + _POLLS_MORE), _LONGEST_POLL_S)
        else:
            is_all = self._splits.know_what_is_there and len(batch.values) < _FEW_RECORDS
            self.pause, self._poll = _POLL_S if is_all else 0.0, _POLL_S
            self.wait_for_others()
        return batch

    def wait_for_others(self) -> None:
        if self._splits.in_steps:
            self._next_step = time.monotonic() + _STEP_S
