"""A task that flows, begun in this process."""

from __future__ import annotations

from collections.abc import Callable
from io import RawIOBase

from headrace.runtime.driver_items import DriverItems
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.flow.messages import Begin, TaskId
from headrace.runtime.flow.restoring import restore_level
from headrace.runtime.flow.splits import Splits
from headrace.runtime.flow.task import FlowTask, Outside


def begin_task(
    id: TaskId, level: FlowingLevel, begin: Begin, outside: Outside, items: DriverItems, *,
    read: Callable[[str], bytes], splits: Splits | None = None,
) -> FlowTask:  # fmt: skip
    """Open a task's operators and give it its state back; `read` gives the content of a file."""
    level.open()
    task = FlowTask(id, level, begin, outside, items, splits=splits)
    task.open(restore_level(level, begin, read, _open_nothing))
    return task


def _open_nothing(name: str, size: int) -> RawIOBase:
    raise FileNotFoundError(name)  # savepoints are in folders that this process sees
