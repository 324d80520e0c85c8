"""Running a job again after it failed, and the record of why it failed."""

from __future__ import annotations

import ast
import logging
import re
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.core.config import Configuration
from headrace.core.job_status import JobStatus
from headrace.errors import (
    CorruptState,
    HeadraceError,
    IncompatibleState,
    InvalidArgument,
    InvalidGraph,
    JobCancelled,
    MissingJava,
    NotSerializable,
    TypeMismatch,
    Unsupported,
)
from headrace.jobs.restart import RestartStrategy
from headrace.origin import Origin
from headrace.runtime.flow.master import Superseded

HISTORY_SIZE = "web.exception-history-size"
_DEFAULT_HISTORY_SIZE = 16

# How `headrace.core.user_code.report` names the operator whose function failed; what comes from a
# worker has only its text.
_QUOTED = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_OPERATOR = re.compile(rf"^  in .* of operator {_QUOTED} \(uid {_QUOTED}\)$", re.MULTILINE)

NEVER_HEALS = (
    CorruptState,
    IncompatibleState,
    InvalidGraph,
    JobCancelled,
    MissingJava,
    NotSerializable,
    Superseded,
    Unsupported,
)
"""What says the same however often the job is tried."""

HEALS_WHILE_RUNNING = (InvalidArgument, TypeMismatch)
"""Before the job runs these are the program's fault; from a task they are about one record."""


def retryable(error: Exception, started: bool = True) -> bool:
    """Whether a job that failed so may fare better when it is tried again."""
    if isinstance(error, NEVER_HEALS):
        return False
    return started or not isinstance(error, HEALS_WHILE_RUNNING)


@dataclass(frozen=True)
class FailureEntry:
    """One failure of a job."""

    time_ms: int
    attempt: int
    """Which attempt failed: 1 is the job's first start."""
    kind: str
    """The class of the error."""
    message: str
    stack: str
    origin: Origin | None = None
    operator: str | None = None
    uid: str | None = None

    def to_json(self) -> dict[str, Any]:
        """In the form Flink's REST API gives to an entry of `/jobs/:jobid/exceptions`."""
        labels = {"attempt": str(self.attempt)}
        if self.uid is not None:
            labels["operator.uid"] = self.uid
        if self.origin is not None:
            labels["origin"] = str(self.origin)
        return {
            "exceptionName": self.kind,
            "stacktrace": self.stack,
            "timestamp": self.time_ms,
            "taskName": self.operator,
            "endpoint": None,
            "taskManagerId": None,
            "failureLabels": labels,
            "concurrentExceptions": [],
        }


class ExceptionHistory:
    """The latest failures of a job, newest first; may be read while the job runs."""

    def __init__(
        self, size: int = _DEFAULT_HISTORY_SIZE, wall_clock: Callable[[], float] = time.time
    ) -> None:
        self._entries: deque[FailureEntry] = deque(maxlen=max(size, 0))
        self._wall_clock = wall_clock
        self._lock = threading.Lock()
        self.recorded = 0
        """How many failures there were, kept or not."""

    @classmethod
    def configured(cls, configuration: Configuration) -> ExceptionHistory:
        return cls(configuration.get_integer(HISTORY_SIZE, _DEFAULT_HISTORY_SIZE))

    def record(self, attempt: int, error: BaseException) -> FailureEntry:
        entry = _entry(int(self._wall_clock() * 1000), attempt, error)
        with self._lock:
            self._entries.appendleft(entry)
            self.recorded += 1
        return entry

    def entries(self) -> list[FailureEntry]:
        with self._lock:
            return list(self._entries)

    def to_json(self, limit: int | None = None) -> dict[str, Any]:
        """In the form of Flink's `/jobs/:jobid/exceptions`."""
        entries = self.entries()
        shown = entries if limit is None else entries[:limit]
        return {
            "exceptionHistory": {
                "entries": [entry.to_json() for entry in shown],
                "truncated": len(shown) < self.recorded,
            }
        }


def run_with_restarts(
    attempt: Callable[[int], None], strategy: RestartStrategy, history: ExceptionHistory,
    stopped: threading.Event, log: logging.Logger | None = None, *,
    started: Callable[[], bool] = lambda: True,
    on_status: Callable[[JobStatus], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> None:  # fmt: skip
    """Run `attempt(1)`, and after failures `attempt(2)` and so on, as the strategy allows.

    Returns when an attempt does, or when `stopped` is set during a wait; raises the last error
    when there is no further attempt. `started` tells whether the attempt that failed had come so
    far as to process records.
    """
    log = log or logging.getLogger("headrace")
    number = 0
    while True:
        number += 1
        on_status(JobStatus.RUNNING)
        try:
            attempt(number)
        except Exception as error:
            if stopped.is_set():
                raise  # what a job raises while it is being stopped is no failure of its own
            history.record(number, error)
            delay = strategy.on_failure(clock()) if retryable(error, started()) else None
            if delay is None:
                _mention(error, number - 1, strategy)
                raise
            log.warning(
                "attempt %d failed, the next begins in %.3g s (%s): %s",
                number, delay, strategy, _headline(error),
            )  # fmt: skip
        else:
            return
        on_status(JobStatus.RESTARTING)
        if stopped.wait(delay):
            return


def _entry(time_ms: int, attempt: int, error: BaseException) -> FailureEntry:
    kind = type(error)
    origin = error.origin if isinstance(error, HeadraceError) else None
    operator, uid = _operator(error)
    return FailureEntry(
        time_ms, attempt, f"{kind.__module__}.{kind.__qualname__}",
        error.message if isinstance(error, HeadraceError) else str(error),
        "".join(traceback.format_exception(error)),
        origin if isinstance(origin, Origin) else None,
        operator, uid,
    )  # fmt: skip


def _operator(error: BaseException) -> tuple[str | None, str | None]:
    """Name and uid of the operator an error speaks of."""
    found = _OPERATOR.search(error.message) if isinstance(error, HeadraceError) else None
    if found is None:
        return None, None
    try:
        return ast.literal_eval(found[1]), ast.literal_eval(found[2])
    except (SyntaxError, ValueError):  # the user's own words only looked like ours
        return None, None


def _headline(error: Exception) -> str:
    text = error.message if isinstance(error, HeadraceError) else f"{type(error).__name__}: {error}"
    return text.partition("\n")[0]


def _mention(error: Exception, restarts: int, strategy: RestartStrategy) -> None:
    """Let the error say what was tried; it stays the same object, with class and traceback."""
    if not restarts:
        return
    times = "1 restart" if restarts == 1 else f"{restarts} restarts"
    note = f"  after {times} ({strategy})"
    if isinstance(error, HeadraceError):
        error.message += f"\n{note}"
    else:
        error.add_note(note)
