"""A task that flows, begun in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.flow.messages import Begin, TaskId
from headrace.runtime.flow.parcels import Parcel
from headrace.runtime.flow.snapshots import read_in_flight, restore
from headrace.runtime.flow.splits import Splits
from headrace.runtime.flow.task import DriverItems, FlowTask, Outside


def begin_task(
    id: TaskId, level: FlowingLevel, begin: Begin, outside: Outside, items: DriverItems, *,
    read: Callable[[str], bytes], tasks_of: Mapping[int, int], splits: Splits | None = None,
) -> FlowTask:  # fmt: skip
    """Open a task's operators and give it its state back.

    `read` gives the content of a file; `tasks_of`: by source, how many tasks read it.
    """
    level.open()
    task = FlowTask(id, level, begin, outside, items, splits=splits)
    in_flight: list[Parcel] = []
    if begin.state is not None:
        restore(level.state, begin.state, read)
        in_flight = read_in_flight(begin.state, read)
        level.restore_clock()
    if id.level:
        level.expect_senders(tasks_of)
    task.open(in_flight)
    return task
