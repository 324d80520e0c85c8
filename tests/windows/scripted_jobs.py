"""Jobs whose records and watermarks follow a script, many scripts in one job.

The same job runs in process and on Spark. Its source gives one micro-batch after the other; a
script moves event time with records of its own, which never reach the operator under test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any

from headrace.common import Duration, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    DataStream,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.testing import ScriptedSource

LATE = OutputTag("late")
PANE = "pane"
_FAR_BEHIND = 2**40
"""How far the watermark trails the records' times, so that only the script moves it."""


@dataclass(frozen=True)
class Send:
    """A record arrives."""

    value: Any
    time: int


@dataclass(frozen=True)
class Advance:
    """Event time comes to a watermark."""

    watermark: int


Step = Send | Advance
Windowing = Callable[[DataStream], DataStream]
"""From the records of a script to the results of its windows; what is late goes to LATE."""
Result = tuple[int, str, Any, int]
"""(number of the script, PANE or "late", value, timestamp)."""


@dataclass(frozen=True)
class Script:
    """What happens in each micro-batch, and what is done with the records."""

    micro_batches: Sequence[Sequence[Step]]
    windowing: Windowing


def scripted_job(env: StreamExecutionEnvironment, scripts: Sequence[Script]) -> DataStream:
    """A stream of the results of all scripts."""
    parts = [[[_addressed(number, step) for step in batch] for batch in script.micro_batches]
             for number, script in enumerate(scripts)]  # fmt: skip
    batches = [[record for part in together for record in part]
               for together in zip_longest(*parts, fillvalue=[])]  # fmt: skip
    source = env.from_source(ScriptedSource(batches), WatermarkStrategy.no_watermarks(), "Script")
    results = [labelled(script.windowing(_input(source, number)), number)
               for number, script in enumerate(scripts)]  # fmt: skip
    return results[0].union(*results[1:])


def labelled(windows: DataStream, number: int = 0) -> DataStream:
    """Results and late records in one stream, each with where it is from and its timestamp."""
    panes = windows.process(_Label(number, PANE))
    return panes.union(windows.get_side_output(LATE).process(_Label(number, LATE.tag_id)))


def of_kind(results: Iterable[Result], kind: str) -> list[tuple[int, Any, int]]:
    """The panes or the late records, without saying so."""
    return [(number, value, time) for number, found, value, time in results if found == kind]


class _Label(ProcessFunction):
    def __init__(self, number: int, kind: str):
        self._number, self._kind = number, kind

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield self._number, self._kind, value, ctx.timestamp()


_Addressed = tuple[int, Any, int, bool]
"""(number of the script, value, time, whether it only moves the watermark)."""


def _addressed(number: int, step: Step) -> _Addressed:
    if isinstance(step, Send):
        return number, step.value, step.time, False
    return number, None, step.watermark, True


def _input(source: DataStream, number: int) -> DataStream:
    behind = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(_FAR_BEHIND))
    own = source.filter(partial(_is_for, number))
    timed = own.assign_timestamps_and_watermarks(behind.with_timestamp_assigner(_ScriptTime()))
    return timed.filter(_carries_a_value).map(_value)


class _ScriptTime(TimestampAssigner):
    """A watermark's record is so far ahead that the watermark reaches just it."""

    def extract_timestamp(self, value: _Addressed, record_timestamp: int) -> int:
        _, _, time, moves_time = value
        return time + _FAR_BEHIND + 1 if moves_time else time


def _is_for(number: int, record: _Addressed) -> bool:
    return record[0] == number


def _carries_a_value(record: _Addressed) -> bool:
    return not record[3]


def _value(record: _Addressed) -> Any:
    return record[1]
