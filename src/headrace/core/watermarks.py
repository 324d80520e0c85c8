"""How a stream's records get their timestamps, and how far event time has come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

from headrace.core.time import Duration
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.origin import calling_origin

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "TimestampAssigner",
    "WatermarkStrategy",
]

WatermarkKind = Literal["none", "monotonous", "bounded"]


class TimestampAssigner(ABC):
    """Reads the event timestamp out of a record."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """The record's timestamp, in milliseconds since the epoch.

        `record_timestamp` is the timestamp it had so far; the smallest 64-bit number if none.
        """


@dataclass(frozen=True)
class WatermarkStrategy:
    """Where timestamps come from and how watermarks follow them; each `with_` gives a new one.

    >>> WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5)).out_of_orderness_ms
    5000
    """

    kind: WatermarkKind = "none"
    out_of_orderness_ms: int = 0
    assigner: TimestampAssigner | None = None

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

    def with_idleness(self, idle_timeout: Duration) -> NoReturn:
        """A split without records for that long would no longer hold the watermark back."""
        raise Unsupported("idle sources are not told apart yet", origin=calling_origin())

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration,
        update_interval: Duration | None = None,
    ) -> NoReturn:
        """A source that is ahead of its group would be paused."""
        raise Unsupported("watermark alignment is not there yet", origin=calling_origin())


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
