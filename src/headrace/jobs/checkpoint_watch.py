"""The watch over a job's checkpoints: how long they take, and how many fail in a row."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headrace.errors import JobFailed
from headrace.jobs.checkpoint_entry import CheckpointFigures
from headrace.jobs.checkpoints import CheckpointHistory

_SHORTEST_PAUSE = 0.01
_LONGEST_PAUSE = 1.0
"""Seconds between two looks at the clock."""


class CheckpointWatch:
    """Gives up checkpoints that take too long, and the attempt when too many failed in a row.

    A micro-batch that outlives its checkpoint goes on, and what it commits counts; its checkpoint
    stays failed, as in Flink, so that a job which is always too slow fails over in the end.
    """

    def __init__(
        self, history: CheckpointHistory, timeout_ms: int | None, tolerable_failures: int,
        give_up: Callable[[JobFailed], None], clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """`give_up` makes the running attempt fail; it must not wait for the attempt's end.

        Without a timeout, as for a job that asked for no checkpoints, nothing is ever overdue.
        """
        self._history = history
        self._timeout = math.inf if timeout_ms is None else timeout_ms / 1000
        self._tolerable = tolerable_failures
        self._give_up = give_up
        self._clock = clock
        self._deadlines: dict[int, float] = {}
        self._in_a_row = 0
        self._lock = threading.Lock()

    def begin(self, number: int) -> None:
        """A checkpoint is under way."""
        self._history.begin(number)
        with self._lock:
            self._deadlines[number] = self._clock() + self._timeout

    def complete(
        self, number: int, figures: CheckpointFigures | None = None,
        external_path: str | None = None,
    ) -> None:  # fmt: skip
        """A checkpoint is complete."""
        with self._lock:
            self._deadlines.pop(number, None)
            if self._history.complete(number, figures, external_path):
                self._in_a_row = 0

    def _abandon(self, reason: str) -> None:
        """The attempt is over, and with it the checkpoints it was making.

        They are not counted against the tolerable ones: a job that failed is restarted anyway.
        """
        with self._lock:
            self._deadlines.clear()
            for entry in self._history.pending():
                self._history.fail(entry.id, reason)

    def check(self) -> None:
        """Give up what is overdue."""
        now = self._clock()
        with self._lock:
            overdue = [number for number, deadline in self._deadlines.items() if now >= deadline]
            for number in overdue:
                del self._deadlines[number]
                self._history.fail(number, f"expired: not done within {self._timeout:g} s")
            self._in_a_row += len(overdue)
            in_a_row = self._in_a_row
            is_enough = bool(overdue) and in_a_row > self._tolerable
            if is_enough:
                self._in_a_row = 0
        if is_enough:
            self._give_up(self._too_many(in_a_row))

    def _too_many(self, in_a_row: int) -> JobFailed:
        what = "a checkpoint" if in_a_row == 1 else f"{in_a_row} checkpoints in a row"
        return JobFailed(
            f"{what} took longer than {self._timeout:g} s, and {self._tolerable} are tolerated",
            hint="Let a micro-batch read less, or raise execution.checkpointing.timeout or "
            "execution.checkpointing.tolerable-failed-checkpoints.",
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        """Watches an attempt; what it has not completed by its end has failed."""
        over = threading.Event()
        pause = min(max(self._timeout / 10, _SHORTEST_PAUSE), _LONGEST_PAUSE)

        def look() -> None:
            while not over.wait(pause):
                self.check()

        thread = threading.Thread(target=look, daemon=True, name="headrace-checkpoint-watch")
        thread.start()
        reason = "the job ended before"
        try:
            yield
        except BaseException as error:
            reason = "the job failed: " + str(error).partition("\n")[0]
            raise
        finally:
            over.set()
            thread.join()
            self._abandon(reason)
