"""The assigners of time windows, of the global window and of windows by count."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from headrace.core.content_triggers import CountTrigger, PurgingTrigger
from headrace.core.serialization import TypeSerializer
from headrace.core.state import ValueStateDescriptor
from headrace.core.time import MIN_LONG_VALUE, Duration, Time
from headrace.core.triggers import EventTimeTrigger, NeverTrigger, ProcessingTimeTrigger, Trigger
from headrace.core.types import Types
from headrace.core.user_code import shown
from headrace.core.windows import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    MergingWindowAssigner,
    SessionWindowTimeGapExtractor,
    TimeWindow,
    TimeWindowSerializer,
    WindowAssigner,
    milliseconds,
    whole_number,
)
from headrace.core.windows import (
    missing_timestamp as missing_timestamp,
)
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin

Context = WindowAssigner.WindowAssignerContext
Amount = Time | Duration


class _TimeAssigner(WindowAssigner[Any, TimeWindow]):
    """What assigners of time windows share: which clock decides, and how they are shown."""

    _event_time = True

    def _time(self, element: Any, timestamp: int | None, context: Context) -> int:
        """The time that decides where a record belongs."""
        if not self._event_time:
            return context.get_current_processing_time()
        if timestamp is None or timestamp == MIN_LONG_VALUE:
            raise missing_timestamp(element)
        return timestamp

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        return EventTimeTrigger() if self._event_time else ProcessingTimeTrigger()

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return self._event_time

    def _shown(self, *parts: Any) -> str:
        return f"{type(self).__name__}({', '.join(map(str, parts))})"


class _Tumbling(_TimeAssigner):
    """Windows of one size, one after the other."""

    def __init__(self, size: int, offset: int = 0):
        self.size_ms = _positive(size, "the size of a window")
        self.offset_ms = _offset(offset, size, "size")

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        time = self._time(element, timestamp, context)
        start = time - (time - self.offset_ms) % self.size_ms
        return (TimeWindow(start, start + self.size_ms),)

    def __repr__(self) -> str:
        return self._shown(self.size_ms, self.offset_ms)


class TumblingEventTimeWindows(_Tumbling):
    """Windows of one size, one after the other, by the timestamps of records."""

    @staticmethod
    def of(size: Amount, offset: Amount | None = None) -> TumblingEventTimeWindows:
        """`offset` shifts the windows, which otherwise are aligned to the epoch."""
        return TumblingEventTimeWindows(*_size_and_offset(size, offset))


class TumblingProcessingTimeWindows(_Tumbling):
    """Windows of one size, one after the other, by the clock."""

    _event_time = False

    @staticmethod
    def of(size: Amount, offset: Amount | None = None) -> TumblingProcessingTimeWindows:
        """`offset` shifts the windows, which otherwise are aligned to the epoch."""
        return TumblingProcessingTimeWindows(*_size_and_offset(size, offset))


class _Sliding(_TimeAssigner):
    """Windows of one size, one starting every `slide`."""

    def __init__(self, size: int, slide: int, offset: int = 0):
        self.size_ms = _positive(size, "the size of a window")
        self.slide_ms = _positive(slide, "the slide of a window")
        self.offset_ms = _offset(offset, slide, "slide")

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        time, size, slide = self._time(element, timestamp, context), self.size_ms, self.slide_ms
        newest = time - (time - self.offset_ms) % slide
        return [TimeWindow(start, start + size) for start in range(newest, time - size, -slide)]

    def __repr__(self) -> str:
        return self._shown(self.size_ms, self.slide_ms, self.offset_ms)


class SlidingEventTimeWindows(_Sliding):
    """Windows of one size that start every `slide`, by the timestamps of records."""

    @staticmethod
    def of(size: Amount, slide: Amount, offset: Amount | None = None) -> SlidingEventTimeWindows:
        """With a slide longer than the size, some records belong to no window."""
        step = milliseconds(slide, "the slide of a window")
        length, shift = _size_and_offset(size, offset)
        return SlidingEventTimeWindows(length, step, shift)


class SlidingProcessingTimeWindows(_Sliding):
    """Windows of one size that start every `slide`, by the clock."""

    _event_time = False

    @staticmethod
    def of(
        size: Amount, slide: Amount, offset: Amount | None = None
    ) -> SlidingProcessingTimeWindows:
        """With a slide longer than the size, some records belong to no window."""
        step = milliseconds(slide, "the slide of a window")
        length, shift = _size_and_offset(size, offset)
        return SlidingProcessingTimeWindows(length, step, shift)


class _Session(_TimeAssigner, MergingWindowAssigner[Any, TimeWindow]):
    """Windows that last while records come with less than a gap between them."""

    def merge_windows(
        self,
        windows: Iterable[TimeWindow],
        callback: MergingWindowAssigner.MergeCallback[TimeWindow],
    ) -> None:
        TimeWindow.merge_windows(windows, callback)


class _FixedSession(_Session):
    def __init__(self, session_gap: int):
        self._session_gap = _positive(session_gap, "the gap of a session")

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        time = self._time(element, timestamp, context)
        return (TimeWindow(time, time + self._session_gap),)

    def __repr__(self) -> str:
        return self._shown(self._session_gap)


class _DynamicSession(_Session):
    def __init__(
        self,
        session_window_time_gap_extractor: SessionWindowTimeGapExtractor | Callable[[Any], int],
    ):
        self._extract = _gap_function(session_window_time_gap_extractor)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[TimeWindow]:
        time = self._time(element, timestamp, context)
        gap = self._extract(element)
        if gap.__class__ is not int or gap <= 0:
            raise InvalidArgument(
                f"the session gap of {shown(element)} is {gap!r}",
                hint="A gap is a whole number of milliseconds above 0.",
            )
        return (TimeWindow(time, time + gap),)

    def __repr__(self) -> str:
        return self._shown()


class DynamicEventTimeSessionWindows(_DynamicSession):
    """Sessions by the timestamps of records, each of which says how long the gap may be."""

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicEventTimeSessionWindows:
        return DynamicEventTimeSessionWindows(extractor)


class DynamicProcessingTimeSessionWindows(_DynamicSession):
    """Sessions by the clock, where each record says how long the gap may be."""

    _event_time = False

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicProcessingTimeSessionWindows:
        return DynamicProcessingTimeSessionWindows(extractor)


class EventTimeSessionWindows(_FixedSession):
    """Sessions by the timestamps of records: over when none has come for the gap."""

    @staticmethod
    def with_gap(size: Amount) -> EventTimeSessionWindows:
        return EventTimeSessionWindows(milliseconds(size, "the gap of a session"))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicEventTimeSessionWindows:
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_FixedSession):
    """Sessions by the clock: over when no record has come for the gap."""

    _event_time = False

    @staticmethod
    def with_gap(size: Amount) -> ProcessingTimeSessionWindows:
        return ProcessingTimeSessionWindows(milliseconds(size, "the gap of a session"))

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor,
    ) -> DynamicProcessingTimeSessionWindows:
        return DynamicProcessingTimeSessionWindows(extractor)


class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """One window for everything; it needs a trigger to ever emit something."""

    @staticmethod
    def create() -> GlobalWindows:
        return GlobalWindows()

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[GlobalWindow]:
        return (GlobalWindow.get(),)

    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        return NeverTrigger()

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"


class _CountAssigner(WindowAssigner[Any, CountWindow]):
    """Numbers the records of a key; windows hold a number of records."""

    _seen: ValueStateDescriptor
    _window_size: int

    def _number(self, context: Context) -> int:
        """How many records of the key came before this one."""
        state = context.get_runtime_context().get_state(self._seen)
        number: int = state.value() or 0
        state.update(number + 1)
        return number

    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        # A window that is full gets no more records, so what it holds need not be kept.
        return PurgingTrigger.of(CountTrigger.of(self._window_size))

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        return False


class CountTumblingWindowAssigner(_CountAssigner):
    """Windows of so many records, one after the other."""

    _seen = ValueStateDescriptor("tumble-count-assigner", Types.LONG())

    def __init__(self, window_size: int):
        self._window_size = _positive(window_size, "the size of a count window", "")

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[CountWindow]:
        return (CountWindow(self._number(context) // self._window_size),)

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self._window_size})"


class CountSlidingWindowAssigner(_CountAssigner):
    """Windows of so many records, one starting every so many records."""

    _seen = ValueStateDescriptor("slide-count-assigner", Types.LONG())

    def __init__(self, window_size: int, window_slide: int):
        self._window_size = _positive(window_size, "the size of a count window", "")
        self._window_slide = _positive(window_slide, "the slide of a count window", "")

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: Any, timestamp: int, context: Context
    ) -> Collection[CountWindow]:
        number, slide = self._number(context), self._window_slide
        oldest = max(0, (number - self._window_size) // slide + 1)
        return [CountWindow(id) for id in range(number // slide, oldest - 1, -1)]

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self._window_size}, {self._window_slide})"


def _size_and_offset(size: Any, offset: Any) -> tuple[int, int]:
    shift = 0 if offset is None else milliseconds(offset, "the offset of a window")
    return milliseconds(size, "the size of a window"), shift


def _positive(number: Any, what: str, unit: str = " ms") -> int:
    if whole_number(number, what) <= 0:
        raise InvalidArgument(
            f"{what} is {number}{unit}", origin=calling_origin(), hint="It must be more than 0."
        )
    return int(number)


def _offset(offset: Any, limit: int, name: str) -> int:
    if abs(whole_number(offset, "the offset of a window")) >= limit:
        raise InvalidArgument(
            f"the offset of a window is {offset} ms, its {name} {limit} ms",
            origin=calling_origin(),
            hint=f"An offset must be shorter than the {name}, forwards or backwards.",
        )
    return int(offset)


def _gap_function(extractor: Any) -> Callable[[Any], int]:
    if isinstance(extractor, SessionWindowTimeGapExtractor):
        return extractor.extract
    if callable(extractor) and not isinstance(extractor, type):
        return extractor  # type: ignore[no-any-return]
    raise TypeMismatch(
        f"{extractor!r} cannot say how long the gap of a session is", origin=calling_origin(),
        hint="Pass a SessionWindowTimeGapExtractor, or a function from a record to milliseconds.",
    )  # fmt: skip
