"""Types of intervals, and the units they are made of."""

from __future__ import annotations

from enum import Enum

from headrace.core import logical_types as lt
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin
from headrace.table.data_types import AtomicType


class Resolution:
    """A unit of time with a number of digits."""

    class IntervalUnit(Enum):
        SECOND = 0
        MINUTE = 1
        HOUR = 2
        DAY = 3
        MONTH = 4
        YEAR = 5

    def __init__(self, unit: Resolution.IntervalUnit, precision: int = -1) -> None:
        self._unit = unit
        self._precision = precision

    @property
    def unit(self) -> Resolution.IntervalUnit:
        return self._unit

    @property
    def precision(self) -> int:
        return self._precision

    def __str__(self) -> str:
        return f"{self._unit}({self._precision})"


class YearMonthIntervalType(AtomicType):
    """A number of months."""

    class YearMonthResolution(Enum):
        YEAR = 1
        MONTH = 2
        YEAR_TO_MONTH = 3

    DEFAULT_PRECISION = 2

    def __init__(
        self, resolution: YearMonthResolution, precision: int = DEFAULT_PRECISION,
        nullable: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(nullable)
        self._resolution = resolution
        self._precision = precision

    @property
    def resolution(self) -> YearMonthIntervalType.YearMonthResolution:
        return self._resolution

    @property
    def precision(self) -> int:
        return self._precision

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._nullable).lower()})"

    def logical(self) -> lt.LogicalType:
        units = self._resolution.name.split("_TO_")
        sizes = {"YEAR": f"({self._precision})"}
        text = " TO ".join(unit + sizes.get(unit, "") for unit in units)
        return lt.YearMonthIntervalType(text, nullable=self._nullable)


class DayTimeIntervalType(AtomicType):
    """A number of milliseconds."""

    class DayTimeResolution(Enum):
        DAY = 1
        DAY_TO_HOUR = 2
        DAY_TO_MINUTE = 3
        DAY_TO_SECOND = 4
        HOUR = 5
        HOUR_TO_MINUTE = 6
        HOUR_TO_SECOND = 7
        MINUTE = 8
        MINUTE_TO_SECOND = 9
        SECOND = 10

    DEFAULT_DAY_PRECISION = 2
    DEFAULT_FRACTIONAL_PRECISION = 6

    def __init__(
        self, resolution: DayTimeResolution, day_precision: int = DEFAULT_DAY_PRECISION,
        fractional_precision: int = DEFAULT_FRACTIONAL_PRECISION, nullable: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(nullable)
        self._resolution = resolution
        self._day_precision = day_precision
        self._fractional_precision = fractional_precision

    @property
    def resolution(self) -> DayTimeIntervalType.DayTimeResolution:
        return self._resolution

    @property
    def day_precision(self) -> int:
        return self._day_precision

    @property
    def fractional_precision(self) -> int:
        return self._fractional_precision

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._nullable).lower()})"

    def logical(self) -> lt.LogicalType:
        units = self._resolution.name.split("_TO_")
        sizes = {"DAY": f"({self._day_precision})", "SECOND": f"({self._fractional_precision})"}
        text = " TO ".join(unit + sizes.get(unit, "") for unit in units)
        return lt.DayTimeIntervalType(text, nullable=self._nullable)


def interval_type(
    upper: Resolution, lower: Resolution | None = None
) -> YearMonthIntervalType | DayTimeIntervalType:
    """INTERVAL upper TO lower."""
    name = upper.unit.name if lower is None else f"{upper.unit.name}_TO_{lower.unit.name}"
    sizes = {each.unit.name: each.precision for each in (upper, lower) if each is not None}
    months = YearMonthIntervalType.YearMonthResolution.__members__
    if name in months:
        return YearMonthIntervalType(months[name], sizes.get("YEAR", 2))
    times = DayTimeIntervalType.DayTimeResolution.__members__
    if name not in times:
        raise InvalidArgument(
            f"there is no INTERVAL {name.replace('_', ' ')}", origin=calling_origin(),
            hint=f"It is one of {', '.join([*months, *times])}.",
        )  # fmt: skip
    return DayTimeIntervalType(times[name], sizes.get("DAY", 2), sizes.get("SECOND", 6))
