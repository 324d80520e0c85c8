"""Making what a window case describes out of headrace's parts, by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from headrace.common import Time
from headrace.datastream import DataStream, ProcessWindowFunction
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    GlobalWindows,
    NeverTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    TimeWindow,
    Trigger,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from tests.windows.cases import Case
from tests.windows.scripted_jobs import LATE


def windowing(config: Case, records: DataStream) -> DataStream:
    """The windowed stream a case describes, over pairs whose first field is the key."""
    stream = records.key_by(lambda pair: pair[0]).window(assigner_of(config["assigner"]))
    if "trigger" in config:
        stream = stream.trigger(trigger_of(config["trigger"]))
    if "evictor" in config:
        stream = stream.evictor(evictor_of(config["evictor"]))
    if config.get("lateness_ms"):
        stream = stream.allowed_lateness(config["lateness_ms"])
    if config.get("late_output"):
        stream = stream.side_output_late_data(LATE)
    function = config["function"]
    if function.startswith("reduce"):
        return stream.reduce(add_second_fields)
    if function.endswith("(reduce)"):
        return stream.reduce(add_second_fields, window_function=SumOfWindow())
    assert "window.start" in function, f"a function of a kind not known yet: {function}"
    return stream.process(SumOfWindow())


def add_second_fields(one: tuple[str, int], other: tuple[str, int]) -> tuple[str, int]:
    return one[0], one[1] + other[1]


class SumOfWindow(ProcessWindowFunction[Any, Any, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Any]
    ) -> Iterable[Any]:
        window = context.window()
        return [(f"{key}-{sum(number for _, number in elements)}", window.start, window.end)]


def assigner_of(part: Case) -> WindowAssigner:
    offset = Time.milliseconds(part.get("offset_ms", 0))
    match part["type"]:
        case "tumbling_event_time":
            return TumblingEventTimeWindows.of(_size(part), offset)
        case "tumbling_processing_time":
            return TumblingProcessingTimeWindows.of(_size(part), offset)
        case "sliding_event_time":
            return SlidingEventTimeWindows.of(_size(part), _millis(part, "slide_ms"), offset)
        case "sliding_processing_time":
            return SlidingProcessingTimeWindows.of(_size(part), _millis(part, "slide_ms"), offset)
        case "session_event_time":
            return EventTimeSessionWindows.with_gap(_millis(part, "gap_ms"))
        case "session_processing_time":
            return ProcessingTimeSessionWindows.with_gap(_millis(part, "gap_ms"))
        case "session_event_time_dynamic":
            return EventTimeSessionWindows.with_dynamic_gap(GapRule(part["gap_rule"]))
        case "session_processing_time_dynamic":
            return ProcessingTimeSessionWindows.with_dynamic_gap(GapRule(part["gap_rule"]))
        case "custom_point_session":
            return PointSessions(part["gap_ms"], part["rule"])
        case "global":
            return GlobalWindows.create()
        case other:
            raise AssertionError(f"an assigner of a type not known yet: {other}")


def _size(part: Case) -> Time:
    return _millis(part, "size_ms")


def _millis(part: Case, name: str) -> Time:
    return Time.milliseconds(part[name])


class GapRule(SessionWindowTimeGapExtractor):
    """Gaps as a case words them: `key1 -> 3000 ms; key2 with second field 10 -> 1000 ms; ...`."""

    _CLAUSE = re.compile(r"(?:other )?(\w+)(?: with second field (-?\d+))? -> (\d+) ms")

    def __init__(self, rule: str):
        self._clauses = []
        for clause in rule.split("; "):
            found = self._CLAUSE.fullmatch(clause)
            assert found, f"a gap rule not understood: {clause}"
            key, number, gap = found.groups()
            self._clauses.append((key, None if number is None else int(number), int(gap)))

    def extract(self, element: tuple[str, int]) -> int:
        return next(gap for key, number, gap in self._clauses
                    if key == element[0] and number in (None, element[1]))  # fmt: skip


class PointSessions(EventTimeSessionWindows):
    """Sessions in which one number makes a window without length."""

    def __init__(self, gap: int, rule: str):
        super().__init__(gap)
        found = re.match(r"second field == (\d+) -> window \[ts, ts\]", rule)
        assert found, f"a rule not understood: {rule}"
        self._point = int(found[1])

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Any:
        if element[1] == self._point:
            return [TimeWindow(timestamp, timestamp)]
        return super().assign_windows(element, timestamp, context)


def trigger_of(part: Case) -> Trigger:
    match part["type"]:
        case "event_time":
            return EventTimeTrigger.create()
        case "processing_time":
            return ProcessingTimeTrigger.create()
        case "count":
            return CountTrigger.of(part["n"])
        case "purging":
            return PurgingTrigger.of(trigger_of(part["inner"]))
        case "continuous_event_time":
            return ContinuousEventTimeTrigger.of(_millis(part, "interval_ms"))
        case "continuous_processing_time":
            return ContinuousProcessingTimeTrigger.of(_millis(part, "interval_ms"))
        case "never":
            return NeverTrigger()
        case other:
            raise AssertionError(f"a trigger of a type not known yet: {other}")


def evictor_of(part: Case) -> Evictor:
    after = part.get("evict_after", False)
    match part["type"]:
        case "count":
            return CountEvictor.of(part["n"], after)
        case "time":
            return TimeEvictor.of(_size(part), after)
        case other:
            raise AssertionError(f"an evictor of a type not known yet: {other}")
