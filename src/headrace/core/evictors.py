"""Evictors: taking records out of a window before or after it is evaluated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.core.content_triggers import check_delta
from headrace.core.metrics import MetricGroup
from headrace.core.windows import milliseconds, whole_number
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin

if TYPE_CHECKING:
    from headrace.core.time import Time

T = TypeVar("T")
W = TypeVar("W")


@dataclass(slots=True)
class TimestampedValue(Generic[T]):
    """A record of a window with its timestamp, if it has one."""

    value: T
    timestamp: int | None = None

    def get_value(self) -> T:
        return self.value

    def has_timestamp(self) -> bool:
        return self.timestamp is not None

    def get_timestamp(self) -> int:
        if self.timestamp is None:
            raise InvalidArgument(
                "the record has no timestamp", origin=calling_origin(),
                hint="Ask has_timestamp() first, or assign timestamps to the stream.",
            )  # fmt: skip
        return self.timestamp


class Evictor(ABC, Generic[T, W]):
    """Takes records out of a window when its trigger fires.

    `elements` is the list of the window's records in order of arrival; what an evictor removes
    from it (`del elements[0]`, `elements[:] = ...`) is gone from the window for good.
    """

    class EvictorContext(ABC):
        """What an evictor may ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The wall clock, in milliseconds since the epoch."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """The operator's metrics."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """How far event time has come."""

    @abstractmethod
    def evict_before(
        self, elements: list[TimestampedValue[T]], size: int, window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:  # fmt: skip
        """Remove records before the window function sees them."""

    @abstractmethod
    def evict_after(
        self, elements: list[TimestampedValue[T]], size: int, window: W,
        evictor_context: Evictor.EvictorContext,
    ) -> None:  # fmt: skip
        """Remove records after the window function has seen them."""


class _OneSidedEvictor(Evictor[Any, Any]):
    """Evicts either before or after the window function."""

    def __init__(self, do_evict_after: bool):
        if not isinstance(do_evict_after, bool):
            raise TypeMismatch(
                f"do_evict_after is {do_evict_after!r}, not True or False",
                origin=calling_origin(),
                hint="True evicts after the window function, False before it.",
            )
        self._after = do_evict_after

    def evict_before(
        self, elements: list[TimestampedValue[Any]], size: int, window: Any,
        evictor_context: Evictor.EvictorContext,
    ) -> None:  # fmt: skip
        if not self._after:
            self._evict(elements)

    def evict_after(
        self, elements: list[TimestampedValue[Any]], size: int, window: Any,
        evictor_context: Evictor.EvictorContext,
    ) -> None:  # fmt: skip
        if self._after:
            self._evict(elements)

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue[Any]]) -> None: ...


class CountEvictor(_OneSidedEvictor):
    """Keeps the last so many records."""

    def __init__(self, max_count: int, do_evict_after: bool = False):
        super().__init__(do_evict_after)
        self._max_count = whole_number(max_count, "the count of a CountEvictor")
        if max_count < 0:
            raise InvalidArgument(
                f"a CountEvictor cannot keep {max_count} records", origin=calling_origin(),
                hint="The count must be at least 0.",
            )  # fmt: skip

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[Any]]) -> None:
        surplus = len(elements) - self._max_count
        if surplus > 0:
            del elements[:surplus]

    def __repr__(self) -> str:
        return f"CountEvictor({self._max_count})"


class TimeEvictor(_OneSidedEvictor):
    """Keeps the records that are not older than the newest one by more than `window_size`.

    Without timestamps (in processing time, unless they were assigned) it keeps everything.
    """

    def __init__(self, window_size: int, do_evict_after: bool = False):
        super().__init__(do_evict_after)
        self._size = whole_number(window_size, "the size of a TimeEvictor")
        if window_size < 0:
            raise InvalidArgument(
                f"a TimeEvictor cannot keep {window_size} ms", origin=calling_origin(),
                hint="The time must be at least 0.",
            )  # fmt: skip

    @staticmethod
    def of(window_size: Time, do_evict_after: bool = False) -> TimeEvictor:
        size = milliseconds(window_size, "the size of a TimeEvictor")
        return TimeEvictor(size, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[Any]]) -> None:
        if not elements or not elements[0].has_timestamp():
            return
        cutoff = max(element.get_timestamp() for element in elements) - self._size
        elements[:] = [element for element in elements if element.get_timestamp() > cutoff]

    def __repr__(self) -> str:
        return f"TimeEvictor({self._size})"


class DeltaEvictor(_OneSidedEvictor):
    """Removes the records whose distance to the last one is `threshold` or more."""

    def __init__(
        self, threshold: float, delta_function: Callable[[Any, Any], float],
        do_evict_after: bool = False,
    ):  # fmt: skip
        super().__init__(do_evict_after)
        check_delta(threshold, delta_function, "DeltaEvictor")
        self._threshold = threshold
        self._delta = delta_function

    @staticmethod
    def of(
        threshold: float, delta_function: Callable[[Any, Any], float],
        do_evict_after: bool = False,
    ) -> DeltaEvictor:  # fmt: skip
        """`delta_function(record, last)` gives the distance of two records."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[Any]]) -> None:
        if not elements:
            return
        last, delta, threshold = elements[-1].value, self._delta, self._threshold
        elements[:] = [item for item in elements if delta(item.value, last) < threshold]

    def __repr__(self) -> str:
        return f"DeltaEvictor({self._threshold})"
