"""What a sink is: writers in the workers, and a committer beside the driver.

A writer's records become visible only when the checkpoint they belong to is complete:

    write … prepare_commit      in the worker, for each subtask and checkpoint
    commit                      beside the driver, once the checkpoint is complete
    recover                     instead of commit, after a restart
    abort                       after a restart, for a checkpoint that came to nothing

What `prepare_commit` returned is journaled in between, so it must be picklable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from headrace.core.functions import RuntimeContext
from headrace.core.operator import TaskInfo
from headrace.core.types import TypeInformation
from headrace.core.user_code import apply_all

T = TypeVar("T")
C = TypeVar("C")


class SinkWriter(ABC, Generic[T]):
    """Writes the records of one subtask up to one checkpoint."""

    @abstractmethod
    def write(self, value: T, timestamp: int | None) -> None: ...

    def write_all(self, values: Sequence[T], timestamps: Sequence[int | None]) -> None:
        """Write one after the other; override it where many are quicker together."""
        apply_all(self.write, values, "write", timestamps)

    def prepare_commit(self) -> list[Any]:
        """Make everything written durable but not visible; return what the committer needs."""
        return []

    def close(self) -> None:
        """Release what the writer holds; also called after a failure."""


class Committer(ABC, Generic[C]):
    """Makes prepared output visible; one for each sink of a running job.

    Every call may come twice for the same committables, for a job may die right after it; the
    second time must change nothing. Calls come one after the other, never two at a time.
    """

    def open(self, task: TaskInfo) -> None:
        """Called first. `task.uid` names the sink, `task.output_id` the job's output and
        `task.lineage` the job; `task.parallelism` is how many tasks may write at once; see
        TaskInfo."""

    @abstractmethod
    def commit(self, committables: list[C]) -> None:
        """Make visible what all subtasks prepared for one checkpoint, which is complete."""

    def recover(self, committables: list[C]) -> None:
        """The same after a restart, when it may have been done before."""
        self.commit(committables)

    def recovered(self) -> None:
        """All that earlier attempts at the job prepared is committed or aborted, and no writer of
        the next one has begun: what else they left can be cleared away."""

    def abort(self, committables: list[C]) -> None:
        """After a restart: throw away what was prepared for a checkpoint that never was one."""

    def tick(self, now_ms: int, final: bool) -> None:
        """Called about once a second, with what is committed; `final` when nothing more comes."""

    def close(self) -> None:
        """Release what the committer holds."""


class Sink(ABC, Generic[T]):
    """A user-written sink."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called in the worker, once for each subtask, before the first writer is made."""

    def close(self) -> None:
        """Called in the worker when the subtask ends, also after a failure."""

    @abstractmethod
    def create_writer(self, task: TaskInfo) -> SinkWriter[T]:
        """Called in the worker for each subtask and checkpoint (`task.batch_id`)."""

    def with_type(self, type_info: TypeInformation | None) -> Sink[T]:
        """The sink for a stream of that type; most sinks do not care."""
        return self

    @property
    def claims(self) -> tuple[str, ...]:
        """What it uses outside that no other sink of the job may use, each in words."""
        return ()

    def create_committer(self) -> Committer[Any] | None:
        """Called beside the driver; None when writing is already visible."""
        return None
