"""What a sink is: writers in the workers, and a committer beside the driver.

A writer's records become visible only when the micro-batch they belong to is committed; a batch
that is run again after a failure is committed once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from headrace.core.operator import TaskInfo
from headrace.core.types import TypeInformation

T = TypeVar("T")
C = TypeVar("C")


class SinkWriter(ABC, Generic[T]):
    """Writes the records of one subtask and one micro-batch."""

    @abstractmethod
    def write(self, value: T, timestamp: int | None) -> None: ...

    def prepare_commit(self) -> list[Any]:
        """Make everything written durable but not visible; return what the committer needs."""
        return []

    def close(self) -> None:
        """Release what the writer holds; also called after a failure."""


class Committer(ABC, Generic[C]):
    """Makes prepared output visible; must bear being called twice for the same committable."""

    @abstractmethod
    def commit(self, committables: list[C]) -> None: ...

    def close(self) -> None:
        """Release what the committer holds."""


class Sink(ABC, Generic[T]):
    """A user-written sink."""

    @abstractmethod
    def create_writer(self, task: TaskInfo) -> SinkWriter[T]:
        """Called in the worker for each subtask and micro-batch (`task.batch_id`)."""

    def with_type(self, type_info: TypeInformation | None) -> Sink[T]:
        """The sink for a stream of that type; most sinks do not care."""
        return self

    def create_committer(self) -> Committer[Any] | None:
        """Called beside the driver; None when writing is already visible."""
        return None
