"""The record of a job's checkpoints."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

from headrace.core.config import Configuration
from headrace.jobs.checkpoint_entry import (
    Checkpoint,
    CheckpointCounts,
    CheckpointFigures,
    CheckpointStatus,
    Restored,
)
from headrace.jobs.checkpoint_summary import Summary

HISTORY_SIZE = "web.checkpoints.history"
_DEFAULT_HISTORY_SIZE = 10

Outcome = Literal["completed", "failed", "savepoint"]


class CheckpointHistory:
    """The latest checkpoints of a job and figures of all of them; may be read while it runs.

    One that is taken again after a failure is a checkpoint of its own with the same id, and so is
    a savepoint of it.
    """

    def __init__(
        self, parallelism: Mapping[str, int] | None = None, size: int = _DEFAULT_HISTORY_SIZE,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        """`parallelism`: how many subtasks the operators have, by uid."""
        self._parallelism = dict(parallelism or {})
        self._wall_clock = wall_clock
        self._lock = threading.RLock()
        self._finished: deque[Checkpoint] = deque(maxlen=max(size, 0))
        self._pending: dict[int, Checkpoint] = {}
        self._latest: dict[Outcome, Checkpoint] = {}
        self._restored: Restored | None = None
        self._counts = CheckpointCounts()
        self._sizes, self._written, self._durations = Summary(), Summary(), Summary()
        self._in_flight = Summary()

    @classmethod
    def configured(
        cls, configuration: Configuration, parallelism: Mapping[str, int] | None = None
    ) -> CheckpointHistory:
        return cls(parallelism, configuration.get_integer(HISTORY_SIZE, _DEFAULT_HISTORY_SIZE))

    # Written by the job.

    def begin(self, number: int) -> None:
        """A checkpoint is under way."""
        with self._lock:
            self.fail(number, "it was begun anew")
            self._pending[number] = Checkpoint(number, self._now())
            self._counts = replace(self._counts, total=self._counts.total + 1)

    def complete(
        self, number: int, figures: CheckpointFigures | None = None,
        external_path: str | None = None,
    ) -> bool:  # fmt: skip
        """A checkpoint is complete; False if it had been given up before."""
        with self._lock:
            begun = self._pending.pop(number, None)
            if begun is None:
                return False
            begun = replace(begun, external_path=external_path)
            self._add_completed(begun, figures or CheckpointFigures())
        return True

    def fail(self, number: int, reason: str) -> bool:
        """A checkpoint came to nothing; False if it was over already."""
        with self._lock:
            begun = self._pending.pop(number, None)
            if begun is None:
                return False
            passed = self._since(begun.trigger_ms)
            failed = replace(
                begun, end_to_end_ms=passed, status=CheckpointStatus.FAILED, failure=reason,
            )  # fmt: skip
            self._finished.appendleft(failed)
            self._latest["failed"] = failed
            self._counts = replace(self._counts, failed=self._counts.failed + 1)
        return True

    @contextmanager
    def of_attempt(self) -> Iterator[None]:
        """Inside, an attempt runs; what it has not completed by its end has failed."""
        reason = "the job ended before"
        try:
            yield
        except BaseException as error:
            reason = "the job failed: " + str(error).partition("\n")[0]
            raise
        finally:
            for entry in self.pending():
                self.fail(entry.id, reason)

    def add_savepoint(
        self, number: int, external_path: str, trigger_ms: int,
        figures: CheckpointFigures | None = None,
    ) -> None:  # fmt: skip
        """A savepoint of a checkpoint was written."""
        with self._lock:
            self._counts = replace(self._counts, total=self._counts.total + 1)
            savepoint = Checkpoint(
                number, trigger_ms, is_savepoint=True, external_path=external_path
            )
            self._add_completed(savepoint, figures or CheckpointFigures())

    def restored(
        self, number: int, external_path: str | None = None, is_savepoint: bool = False
    ) -> None:
        """The job goes on from a checkpoint."""
        with self._lock:
            self._restored = Restored(number, self._now(), is_savepoint, external_path)
            self._counts = replace(self._counts, restored=self._counts.restored + 1)

    def _add_completed(self, begun: Checkpoint, figures: CheckpointFigures) -> None:
        passed = self._since(begun.trigger_ms)
        done = replace(
            begun,
            status=CheckpointStatus.COMPLETED,
            end_to_end_ms=passed,
            state_size=figures.state_size,
            bytes_written=figures.bytes_written,
            in_flight_bytes=figures.in_flight_bytes,
            operators=dict(figures.operators),
        )
        self._finished.appendleft(done)
        self._latest["savepoint" if done.is_savepoint else "completed"] = done
        self._counts = replace(self._counts, completed=self._counts.completed + 1)
        self._sizes.add(done.state_size)
        self._written.add(done.bytes_written)
        self._in_flight.add(done.in_flight_bytes)
        self._durations.add(done.end_to_end_ms)

    def _now(self) -> int:
        return int(self._wall_clock() * 1000)

    def _since(self, begin_ms: int) -> int:
        return max(self._now() - begin_ms, 0)  # wall clocks may go back

    # Read by anyone.

    def counts(self) -> CheckpointCounts:
        return self._counts

    def latest(self, outcome: Outcome) -> Checkpoint | None:
        return self._latest.get(outcome)

    def latest_restored(self) -> Restored | None:
        return self._restored

    def pending(self) -> list[Checkpoint]:
        with self._lock:
            return list(self._pending.values())

    def entries(self) -> list[Checkpoint]:
        """Those in progress and the latest others, newest first."""
        with self._lock:
            return [*reversed(self._pending.values()), *self._finished]

    def find(self, checkpoint_id: int) -> Checkpoint | None:
        """The newest one with that id, if it is remembered."""
        with self._lock:
            known = [*self.entries(), *self._latest.values()]
        return next((entry for entry in known if entry.id == checkpoint_id), None)

    def details(self, checkpoint_id: int) -> dict[str, Any] | None:
        """In the form of Flink's `/jobs/:jobid/checkpoints/details/:checkpointid`."""
        found = self.find(checkpoint_id)
        return None if found is None else found.to_json(self._parallelism)

    def to_json(self) -> dict[str, Any]:
        """In the form of Flink's `/jobs/:jobid/checkpoints`."""
        with self._lock:
            return {
                "counts": self._counts.to_json(),
                "summary": self._summary(),
                "latest": {
                    **{name: self._shown(self._latest.get(name))
                       for name in ("completed", "savepoint", "failed")},
                    "restored": self._restored.to_json() if self._restored else None,
                },
                "history": [self._shown(entry) for entry in self.entries()],
            }  # fmt: skip

    def _shown(self, entry: Checkpoint | None) -> dict[str, Any] | None:
        return None if entry is None else entry.to_json(self._parallelism)

    def _summary(self) -> dict[str, Any]:
        nothing = Summary()
        if self._counts.completed:
            nothing.add(0)
        return {
            "checkpointed_size": self._written.to_json(),
            "state_size": self._sizes.to_json(),
            "end_to_end_duration": self._durations.to_json(),
            "alignment_buffered": nothing.to_json(),
            "processed_data": nothing.to_json(),
            "persisted_data": self._in_flight.to_json(),
        }
