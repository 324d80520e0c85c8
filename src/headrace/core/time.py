"""Amounts of time and points in time."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import TypeMismatch

__all__ = ["MAX_LONG_VALUE", "MIN_LONG_VALUE", "Duration", "Instant", "Time"]

# The bounds of timestamps and watermarks.
MAX_LONG_VALUE = 2**63 - 1
MIN_LONG_VALUE = -(2**63)

_NANOS_PER_MILLI = 1_000_000
_NANOS_PER_SECOND = 1_000_000_000


def _whole(amount: int, unit: str) -> int:
    if isinstance(amount, bool) or not isinstance(amount, int):
        raise TypeMismatch(
            f"{amount!r} {unit} is not a whole number (got {type(amount).__name__})",
            hint="Use a smaller unit for fractions, such as milliseconds.",
        )
    return amount


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """An amount of time, exact to the nanosecond."""

    nanos: int

    @staticmethod
    def of_days(days: int) -> Duration:
        return Duration(_whole(days, "days") * 86_400 * _NANOS_PER_SECOND)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        return Duration(_whole(hours, "hours") * 3_600 * _NANOS_PER_SECOND)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        return Duration(_whole(minutes, "minutes") * 60 * _NANOS_PER_SECOND)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        return Duration(_whole(seconds, "seconds") * _NANOS_PER_SECOND)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        return Duration(_whole(millis, "milliseconds") * _NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        return Duration(_whole(nanos, "nanoseconds"))

    def to_millis(self) -> int:
        """Whole milliseconds, rounded down."""
        return self.nanos // _NANOS_PER_MILLI

    def __str__(self) -> str:
        if self.nanos % _NANOS_PER_MILLI:
            return f"{self.nanos} ns"
        return f"{self.to_millis()} ms"


@dataclass(frozen=True, slots=True, order=True, repr=False)
class Instant:
    """A point on the time line: seconds since the epoch, and nanoseconds into that second."""

    seconds: int
    nanos: int

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        seconds, millis = divmod(_whole(epoch_milli, "milliseconds"), 1000)
        return Instant(seconds, millis * _NANOS_PER_MILLI)

    def to_epoch_milli(self) -> int:
        return self.seconds * 1000 + self.nanos // _NANOS_PER_MILLI

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


@dataclass(frozen=True, slots=True, order=True, repr=False)
class Time:
    """An amount of time in milliseconds."""

    _milliseconds: int

    def to_milliseconds(self) -> int:
        return self._milliseconds

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        return Time(_whole(milliseconds, "milliseconds"))

    @staticmethod
    def seconds(seconds: int) -> Time:
        return Time(_whole(seconds, "seconds") * 1000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        return Time(_whole(minutes, "minutes") * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        return Time(_whole(hours, "hours") * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        return Time(_whole(days, "days") * 86_400_000)

    def __repr__(self) -> str:
        return f"{self._milliseconds} ms"
