"""Windows: finite groups of records, and what assigns records to them."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from io import BytesIO
from struct import Struct
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from headrace.core.serialization import TypeSerializer
from headrace.core.time import MAX_LONG_VALUE, Duration, Time
from headrace.core.user_code import shown
from headrace.errors import HeadraceError, InvalidArgument, TypeMismatch
from headrace.origin import calling_origin

if TYPE_CHECKING:
    from headrace.core.functions import RuntimeContext
    from headrace.core.triggers import Trigger

T = TypeVar("T")
W = TypeVar("W")
W2 = TypeVar("W2")

_LONG = Struct(">q")
_TWO_LONGS = Struct(">qq")


class Window(ABC):
    """A finite group of records. Windows of one kind must be hashable and comparable by value."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """The largest timestamp that still belongs to the window."""


class TimeWindow(tuple[int, int], Window):
    """The time from `start` up to, but not including, `end`.

    A tuple, because windows are keys of dictionaries in the innermost loops.
    """

    __slots__ = ()

    def __new__(cls, start: int, end: int) -> Self:
        return tuple.__new__(cls, (start, end))

    def __getnewargs__(self) -> tuple[int, int]:
        return self[0], self[1]

    @property
    def start(self) -> int:
        return self[0]

    @property
    def end(self) -> int:
        return self[1]

    def max_timestamp(self) -> int:
        return self[1] - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Whether the windows overlap or touch."""
        return self[0] <= other[1] and self[1] >= other[0]

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that holds both."""
        return TimeWindow(min(self[0], other[0]), max(self[1], other[1]))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """The start of the window of a timestamp, where windows of `window_size` are aligned to
        the epoch and shifted by `offset`."""
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(
        windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        """Report each group of two or more windows that overlap or touch."""
        ordered = sorted(set(windows))
        if not ordered:
            return
        group, whole = [ordered[0]], ordered[0]
        for window in ordered[1:]:
            if whole.intersects(window):
                group.append(window)
                whole = whole.cover(window)
                continue
            if len(group) > 1:
                callback.merge(group, whole)
            group, whole = [window], window
        if len(group) > 1:
            callback.merge(group, whole)

    def __repr__(self) -> str:
        return f"TimeWindow(start={self[0]}, end={self[1]})"


class CountWindow(tuple[int], Window):
    """The window with a number, of windows that hold a number of records."""

    __slots__ = ()

    def __new__(cls, id: int) -> Self:
        return tuple.__new__(cls, (id,))

    def __getnewargs__(self) -> tuple[int]:
        return (self[0],)

    @property
    def id(self) -> int:
        return self[0]

    def max_timestamp(self) -> int:
        return MAX_LONG_VALUE

    def __repr__(self) -> str:
        return f"CountWindow(id={self[0]})"


class GlobalWindow(tuple[()], Window):
    """The window of all records, of which there is one."""

    __slots__ = ()

    def __new__(cls) -> Self:
        return _EVERYTHING  # type: ignore[return-value]

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        return GlobalWindow.get, ()

    @staticmethod
    def get() -> GlobalWindow:
        return _EVERYTHING

    def max_timestamp(self) -> int:
        return MAX_LONG_VALUE

    def __repr__(self) -> str:
        return "GlobalWindow"


_EVERYTHING: GlobalWindow = tuple.__new__(GlobalWindow, ())


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Start and end, eight bytes each."""

    def serialize(self, element: TimeWindow, stream: BytesIO) -> None:
        stream.write(_TWO_LONGS.pack(element.start, element.end))

    def deserialize(self, stream: BytesIO) -> TimeWindow:
        return TimeWindow(*_TWO_LONGS.unpack(stream.read(_TWO_LONGS.size)))


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """The number, in eight bytes."""

    def serialize(self, element: CountWindow, stream: BytesIO) -> None:
        stream.write(_LONG.pack(element.id))

    def deserialize(self, stream: BytesIO) -> CountWindow:
        return CountWindow(*_LONG.unpack(stream.read(_LONG.size)))


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """One byte, for there is one such window."""

    def serialize(self, element: GlobalWindow, stream: BytesIO) -> None:
        stream.write(b"\0")

    def deserialize(self, stream: BytesIO) -> GlobalWindow:
        stream.read(1)
        return GlobalWindow.get()


class _AnyWindowSerializer(TypeSerializer[Any]):
    """For the windows of custom assigners that name no serializer of their own."""

    def serialize(self, element: Any, stream: BytesIO) -> None:
        pickle.dump(element, stream, 5)

    def deserialize(self, stream: BytesIO) -> Any:
        return pickle.load(stream)


class WindowAssigner(ABC, Generic[T, W]):
    """Assigns each record to any number of windows. Must keep no state outside its context."""

    class WindowAssignerContext(ABC):
        """What an assigner may ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The wall clock, in milliseconds since the epoch."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """The context of the running task; its state is that of the record's key."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """The windows of a record."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T, W]:
        """The trigger used where the user names none."""

    def get_window_serializer(self) -> TypeSerializer[W]:
        """What writes the windows to bytes."""
        return _AnyWindowSerializer()

    @abstractmethod
    def is_event_time(self) -> bool:
        """Whether windows end by event time, so that records can be late for them."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows grow together, as sessions do."""

    class MergeCallback(ABC, Generic[W2]):
        """Told which windows become one."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """All of `to_be_merged` become `merge_result`."""

    @abstractmethod
    def merge_windows(
        self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]
    ) -> None:
        """Tell the callback each group of windows that must become one."""


class SessionWindowTimeGapExtractor(ABC):
    """Says after how long without records a session ends."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """The gap that a record asks for, in milliseconds."""


def milliseconds(amount: Any, what: str) -> int:
    """An amount of time given to an assigner, a trigger or an evictor, in milliseconds."""
    if isinstance(amount, Time):
        return amount.to_milliseconds()
    if isinstance(amount, Duration):
        return amount.to_millis()
    raise TypeMismatch(
        f"{what} is {amount!r}, which is no amount of time", origin=calling_origin(),
        hint="Use Time.seconds(5), Time.minutes(1) or Duration.of_seconds(5).",
    )  # fmt: skip


def whole_number(number: Any, what: str) -> int:
    """A number given to an assigner, a trigger or an evictor."""
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeMismatch(
            f"{what} is {number!r}, which is no whole number", origin=calling_origin(),
            hint="Amounts of time are passed to of(...) as Time; numbers are plain ints.",
        )  # fmt: skip
    return number


def missing_timestamp(element: Any) -> HeadraceError:
    """What is raised for a record without event time where its event time decides."""
    return InvalidArgument(
        f"a record without a timestamp came to an event-time window: {shown(element)}",
        hint="Did you forget assign_timestamps_and_watermarks(...) before key_by or window? "
        "If the clock shall decide, use a processing-time window.",
    )
