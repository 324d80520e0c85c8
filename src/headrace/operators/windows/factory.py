"""Choosing the operator for a window: the general one, or one that does the same cheaper."""

from __future__ import annotations

from typing import Any

from headrace.core.evictors import Evictor
from headrace.core.functions import AggregateFunction
from headrace.core.operator import Operator
from headrace.core.triggers import EventTimeTrigger, ProcessingTimeTrigger, Trigger
from headrace.core.window_assigners import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.core.windows import MergingWindowAssigner, WindowAssigner
from headrace.operators.windows.contents import Aggregating, Contents, Folding
from headrace.operators.windows.firing import firing
from headrace.operators.windows.sessions import SessionWindowOperator
from headrace.operators.windows.sliced import SlicedWindowOperator
from headrace.operators.windows.slices import SlidingGrid
from headrace.operators.windows.tumbling import TumblingWindowOperator
from headrace.operators.windows.window_operator import WindowOperator

_SLIDING = {
    SlidingEventTimeWindows: EventTimeTrigger,
    SlidingProcessingTimeWindows: ProcessingTimeTrigger,
}
_SESSIONS = (EventTimeSessionWindows, DynamicEventTimeSessionWindows)


def window_operator(
    assigner: WindowAssigner[Any, Any], *, trigger: Trigger[Any, Any] | None = None,
    evictor: Evictor[Any, Any] | None = None, lateness_ms: int = 0, late_tag: str | None = None,
    contents: Contents, function: Any = None,
) -> Operator:  # fmt: skip
    """The operator for windows; without a trigger, with the assigner's own."""
    trigger = trigger or assigner.get_default_trigger(None)
    merging = isinstance(assigner, MergingWindowAssigner)
    fires = firing(function, single=contents.fold is not None, merging=merging)
    late: dict[str, Any] = {"lateness_ms": lateness_ms, "late_tag": late_tag}
    # Exact types, for a subclass may do anything.
    if (
        isinstance(assigner, SlidingEventTimeWindows | SlidingProcessingTimeWindows)
        and type(trigger) is _SLIDING.get(type(assigner))
        and isinstance(contents, Aggregating)
        and evictor is None
        and _can_merge(contents.function)
    ):
        grid = SlidingGrid(assigner.size_ms, assigner.slide_ms, assigner.offset_ms)
        return SlicedWindowOperator(
            grid, contents.function, fires, event_time=assigner.is_event_time(), **late
        )
    parts = (assigner, trigger, contents, fires)
    if evictor is None and isinstance(contents, Folding) and type(trigger) is EventTimeTrigger:
        if type(assigner) is TumblingEventTimeWindows:
            return TumblingWindowOperator(assigner.size_ms, assigner.offset_ms, *parts, **late)
        if type(assigner) in _SESSIONS:
            return SessionWindowOperator(assigner, contents, fires, **late)
    return WindowOperator(*parts, evictor=evictor, **late)


def _can_merge(function: AggregateFunction) -> bool:
    """Whether accumulators can be merged. Flink does not ask that of sliding windows, so many a
    `merge` is empty; then no accumulator is shared."""
    try:
        one, other = function.create_accumulator(), function.create_accumulator()
        return function.merge(one, other) is not None
    except Exception:  # of the user's function; a merge that is needed and fails is told then
        return False
