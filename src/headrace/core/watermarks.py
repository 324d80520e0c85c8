"""How a stream's records get their timestamps, and how far event time has come."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from headrace.core.time import Duration
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.origin import calling_origin

__all__ = [
    "Alignment",
    "AssignerWithPeriodicWatermarksWrapper",
    "IngestionTimeAssigner",
    "TimestampAssigner",
    "Watermark",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]

WatermarkKind = Literal["none", "monotonous", "bounded", "generated"]


class TimestampAssigner(ABC):
    """Reads the event timestamp out of a record."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The record's timestamp, in milliseconds since the epoch.

        `record_timestamp` is the timestamp it had so far; the smallest 64-bit number if none.
        """


class IngestionTimeAssigner(TimestampAssigner):
    """The time by the clock when a record comes in; never before the one before it."""

    def __init__(self) -> None:
        self._latest = 0

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        self._latest = max(self._latest, time.time_ns() // 1_000_000)
        return self._latest


@dataclass(frozen=True, slots=True)
class Watermark:
    """Says that no record with this timestamp or an earlier one is expected any more."""

    timestamp: int

    def get_timestamp(self) -> int:
        return self.timestamp


class WatermarkOutput(ABC):
    """Where a generator puts its watermarks."""

    @abstractmethod
    def emit_watermark(self, watermark: Watermark) -> None:
        """Event time has come that far; an earlier watermark than before has no effect."""

    @abstractmethod
    def mark_idle(self) -> None:
        """Until the next record or watermark, the split holds nobody's time back."""

    @abstractmethod
    def mark_active(self) -> None:
        """The split is not idle any more."""


class WatermarkGenerator(ABC):
    """Makes watermarks out of the records of one split.

    A generator may be made anew at any micro-batch, as after a failure: it should follow from the
    records it sees.
    """

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """A record came; a generator of punctuated watermarks emits here."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called with each micro-batch; a generator of periodic watermarks emits here."""


@dataclass(frozen=True)
class Alignment:
    """A group of sources, none of which shall run far ahead of the others."""

    group: str
    max_drift_ms: int
    update_interval_ms: int = 1000


@dataclass(frozen=True)
class WatermarkStrategy:
    """Where timestamps come from and how watermarks follow them; each `with_` gives a new one.

    >>> WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5)).out_of_orderness_ms
    5000
    """

    kind: WatermarkKind = "none"
    out_of_orderness_ms: int = 0
    assigner: TimestampAssigner | None = None
    generator: Callable[[], WatermarkGenerator] | None = None
    idle_after_ms: int | None = None
    alignment: Alignment | None = None

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Timestamps never go back within a split."""
        return WatermarkStrategy("monotonous")

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration) -> WatermarkStrategy:
        """After a timestamp T none older than T minus the bound will come."""
        bound = _millis(max_out_of_orderness, "the bound of out-of-orderness")
        return WatermarkStrategy("bounded", out_of_orderness_ms=bound)

    @staticmethod
    def for_generator(generator: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """Watermarks by a generator of the user's; `generator` makes one for each split."""
        if isinstance(generator, WatermarkGenerator) or not callable(generator):
            raise TypeMismatch(
                f"for_generator() needs what makes a WatermarkGenerator, not {generator!r}",
                origin=calling_origin(), hint="Pass its class, or a lambda that makes one.",
            )  # fmt: skip
        return WatermarkStrategy("generated", generator=generator)

    @staticmethod
    def for_ingestion_time() -> WatermarkStrategy:
        """A record's time is when it comes in, so none is ever late."""
        return WatermarkStrategy("monotonous", assigner=IngestionTimeAssigner())

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Event time does not advance before the end of the input."""
        return WatermarkStrategy("none")

    def with_timestamp_assigner(self, timestamp_assigner: TimestampAssigner) -> WatermarkStrategy:
        if not callable(getattr(timestamp_assigner, "extract_timestamp", None)):
            raise TypeMismatch(
                f"{timestamp_assigner!r} is no timestamp assigner: it has no extract_timestamp()",
                origin=calling_origin(),
                hint="Subclass TimestampAssigner and pass an instance of your class.",
            )
        if isinstance(timestamp_assigner, type):
            raise TypeMismatch(
                f"{timestamp_assigner.__name__} is a class, not an assigner",
                origin=calling_origin(),
                hint=f"Pass an instance: {timestamp_assigner.__name__}().",
            )
        return replace(self, assigner=timestamp_assigner)

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy:
        """A split without records for that long does not hold the watermark back."""
        timeout = _millis(idle_timeout, "the idle timeout")
        if timeout == 0:
            raise InvalidArgument(
                f"the idle timeout must be above 0, but is {idle_timeout}", origin=calling_origin()
            )
        return replace(self, idle_after_ms=timeout)

    def with_watermark_alignment(
        self, watermark_group: str, max_allowed_watermark_drift: Duration,
        update_interval: Duration | None = None,
    ) -> WatermarkStrategy:  # fmt: skip
        """A split that is ahead of its group by more than the drift waits for the others."""
        if not isinstance(watermark_group, str) or not watermark_group:
            raise TypeMismatch(
                f"a watermark group is a name, not {watermark_group!r}", origin=calling_origin()
            )
        drift = _millis(max_allowed_watermark_drift, "the allowed watermark drift")
        update = 1000 if update_interval is None else _millis(update_interval, "the interval")
        return replace(self, alignment=Alignment(watermark_group, drift, update))


def _millis(duration: Duration, what: str) -> int:
    if not isinstance(duration, Duration):
        raise TypeMismatch(
            f"{what} is {duration!r}, which is not a Duration",
            origin=calling_origin(),
            hint="Write it as Duration.of_seconds(5), for example.",
        )
    if duration.nanos < 0:
        raise InvalidArgument(
            f"{what} cannot be negative, but is {duration}", origin=calling_origin()
        )
    return duration.to_millis()


class AssignerWithPeriodicWatermarksWrapper:
    """An assigner written in Java; kept so that a program that names it fails with a reason."""

    def __init__(self, j_assigner_with_periodic_watermarks: object) -> None:
        raise Unsupported(
            "AssignerWithPeriodicWatermarksWrapper wraps a Java object, and headrace runs none",
            origin=calling_origin(),
            hint="Use WatermarkStrategy with a TimestampAssigner.",
        )
