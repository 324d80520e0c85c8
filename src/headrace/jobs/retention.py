"""What becomes of a job's checkpoints when it ends."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from headrace.spark.job_folder import JobFolder


class Client(Protocol):
    @property
    def cancelled(self) -> bool: ...

    @property
    def saved(self) -> bool: ...


class Retention(Enum):
    """A job that failed always keeps them, and so does one that was stopped with a savepoint."""

    KEEP = "keep"
    DROP_WHEN_CANCELLED = "drop when cancelled"
    DROP = "drop when cancelled or finished"

    def applied(self, run: Callable[[], None], client: Client, folder: JobFolder) -> None:
        """Run a job and then do with its folder what is due."""
        try:
            run()
            drop = self is Retention.DROP or (
                self is Retention.DROP_WHEN_CANCELLED and client.cancelled
            )
            if drop and not client.saved:
                folder.delete()
        finally:
            folder.leave()
