"""Parts of points in time, rounding and moving them, reading and writing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression, Literal
from headrace.core.logical_types import BIGINT, BOOLEAN, DATE, INT, STRING, LogicalType
from headrace.operators.functions import temporal, time_units
from headrace.sql.functions import spark_texts
from headrace.sql.functions.arithmetic import FUNCTIONS as _ARITHMETIC
from headrace.sql.functions.construction import field_of
from headrace.sql.functions.parameters import (
    DATETIME,
    INTEGER,
    NUMBER,
    ROW,
    TEXT,
    TIMEPOINT,
    Parameter,
    kind_of,
    literal,
)
from headrace.sql.functions.row import FunctionRow, example, of, signature, type_of

_CLOCK = tuple(time_units.CLOCK_UNITS)
_CALENDAR = ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "DECADE", "CENTURY", "MILLENNIUM")
_PARTS = (*_CLOCK, *_CALENDAR, "DOW", "ISODOW", "DOY", "ISOYEAR", "EPOCH")
_SHIFTS = (*_CLOCK, "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
_ALIASES = {
    f"{prefix}{unit}{suffix}": unit
    for unit in _SHIFTS
    for prefix in ("", "SQL_TSI_")
    for suffix in ("", "S")
} | {"MILLIS": "MILLISECOND", "FRAC_SECOND": "MICROSECOND"}
_COUNTED = (*_ALIASES, "ISOYEAR", "CENTURY", "MILLENNIUM")
_ADDED = (*_COUNTED, "DECADE")  # of which Flink counts as many as there are years
_FRACTIONS = {"MILLISECOND": 3, "MICROSECOND": 6, "NANOSECOND": 9}
_DAY = kind_of("DATE", lt.DateType)
_MONTHS = kind_of("<INTERVAL YEAR TO MONTH>", lt.YearMonthIntervalType)
_MILLIS = kind_of("<INTERVAL DAY TO SECOND>", lt.DayTimeIntervalType)
_TIME = kind_of("TIME", lt.TimeType)
_POINT = kind_of("DATE | <TIMESTAMP>", lt.DateType, *lt.TIMESTAMPS)
_TS = lt.TimestampType(3)
_NOON = of(1_577_966_645_678_000_000, _TS)  # 2020-01-02 12:04:05.678


def _unit(position: int, aliases: Mapping[str, str] = _ALIASES) -> Any:
    """Writes the unit at this position as the meanings know it."""

    def prepare(arguments: Sequence[Expression]) -> Sequence[Expression]:
        unit = arguments[position]
        assert isinstance(unit, Literal)
        name = str(unit.value).upper()
        fitted = list(arguments)
        fitted[position] = Literal(unit.type, aliases.get(name, name))
        return fitted

    return prepare


_shift = _unit(0, {**_ALIASES, "ISOYEAR": "YEAR"})


def _units(*names: str) -> Parameter:
    return literal(TEXT, *names)


def _moved_type(arguments: Sequence[Expression]) -> LogicalType:
    """Adding a unit of the clock to a date gives a timestamp; one has room for what is added."""
    unit, point = arguments[0], lt.materialized(arguments[2].type)
    assert isinstance(unit, Literal)
    if isinstance(point, lt.DateType) and unit.value in _CLOCK:
        return lt.TimestampType(6)
    if isinstance(point, lt.TIMESTAMPS):
        return replace(point, precision=max(point.precision, _FRACTIONS.get(unit.value, 0)))
    return point


def _instant_type(arguments: Sequence[Expression]) -> LogicalType | None:
    """TO_TIMESTAMP_LTZ has the precision it is told, but at least 3."""
    if len(arguments) < 2 or isinstance(arguments[0].type, lt.CHARACTERS):
        return lt.LocalZonedTimestampType(3)
    precision = arguments[1].value if isinstance(arguments[1], Literal) else 3
    if precision is None or not 0 <= precision <= 9:
        return None
    return lt.LocalZonedTimestampType(max(3, precision))


def _periods(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    """Ends that are given as intervals become points in time."""
    ends = []
    for start, end in (arguments[:2], arguments[2:]):
        if isinstance(end.type, lt.INTERVALS):
            end = _ARITHMETIC[0].bind((start, end))
        if type(end.type) is not type(start.type):
            return None
        ends.append(end)
    if type(arguments[0].type) is not type(arguments[2].type):
        return None
    return [arguments[0], ends[0], arguments[2], ends[1]]


def _of_rows(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    """(start, end) OVERLAPS (start, end), as SQL writes it."""
    parts = [field_of(row, at) for row in arguments for at in (0, 1) if _is_pair(row)]
    return _periods(parts) if len(parts) == 4 else None


def _is_pair(row: Expression) -> bool:
    return isinstance(row.type, lt.RowType) and len(row.type.fields) == 2


def _part_row(name: str, unit: str, doc: str, gives: int) -> FunctionRow:
    """YEAR(date) and the like: EXTRACT with the unit in the name."""

    def prepare(arguments: Sequence[Expression]) -> Sequence[Expression]:
        return [Literal(lt.CharType(len(unit), nullable=False), unit), *arguments]

    points = _POINT if unit in (*_CALENDAR, "DOY", "DOW") else DATETIME
    return FunctionRow(
        names=(name,),
        doc=doc,
        signatures=(signature(points, prepare=prepare),),
        result=BIGINT,
        meaning=time_units.extract,
        by_type=True,
        spark=_spark_extract,
        examples=(example(_NOON, gives=gives),),
    )


_SPARK_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE")


def _spark_extract(
    texts: Sequence[str], types: Sequence[LogicalType], _result: LogicalType
) -> str | None:
    unit = texts[0].strip("'")
    if isinstance(types[1], (lt.DateType, lt.TimestampType)) and unit in _SPARK_UNITS:
        return f"CAST(extract({unit} FROM {texts[1]}) AS BIGINT)"
    return None


_DATE_UNITS = ("YEAR", "QUARTER", "MONTH")
_CLOCK_PARTS = {"HOUR": 1, "MINUTE": 2, "SECOND": 3}


def _spark_floor(
    texts: Sequence[str], types: Sequence[LogicalType], _result: LogicalType
) -> str | None:
    """Through the date: date_trunc would go through the session's time zone and its gaps."""
    text, unit = texts[0], texts[1].strip("'")
    day = f"CAST({text} AS DATE)"
    if unit in _DATE_UNITS:
        day = f"trunc({day}, '{unit}')"
    elif unit != "DAY" and unit not in _CLOCK_PARTS:
        return None
    if isinstance(types[0], lt.DateType):
        return day
    if not isinstance(types[0], lt.TimestampType):
        return None
    start = f"CAST({day} AS TIMESTAMP_NTZ)"
    if unit not in _CLOCK_PARTS:
        return start
    kept = [f"hour({text})", f"minute({text})", f"second({text})"][: _CLOCK_PARTS[unit]]
    return f"({start} + make_dt_interval(0, {', '.join(kept)}))"


FUNCTIONS = (
    FunctionRow(
        names=("EXTRACT",),
        doc="A part of a point in time or of an interval.",
        signatures=(
            signature(_units(*_PARTS[2:]), _DAY, prepare=_unit(0)),
            signature(_units(*_CLOCK), _TIME, prepare=_unit(0)),
            signature(_units(*_PARTS), TIMEPOINT, prepare=_unit(0)),
            signature(_units(*_CALENDAR[2:]), _MONTHS, prepare=_unit(0)),
            signature(_units(*_CLOCK, "DAY", "EPOCH"), _MILLIS, prepare=_unit(0)),
        ),
        result=BIGINT,
        meaning=time_units.extract,
        by_type=True,
        spark=_spark_extract,
        examples=(
            example("MONTH", _NOON, gives=1),
            example("millisecond", _NOON, gives=678),
            example("DAY", of(97_506_000, lt.DayTimeIntervalType()), gives=1),
        ),
    ),
    FunctionRow(
        names=("FLOOR_TO",),
        doc="A point in time rounded down to a unit; weeks start on Sunday.",
        signatures=(
            signature(_TIME, _units(*_CLOCK), result=type_of(0), prepare=_unit(1)),
            signature(_POINT, _units(*_CLOCK, *_CALENDAR), result=type_of(0), prepare=_unit(1)),
        ),
        meaning=time_units.floor_to,
        by_type=True,
        spark=_spark_floor,
        examples=(example(of(7602, DATE), "MONTH", gives=7578),),
    ),
    FunctionRow(
        names=("CEIL_TO",),
        doc="A point in time rounded up to a unit; weeks start on Sunday.",
        signatures=(
            signature(_TIME, _units(*_CLOCK), result=type_of(0), prepare=_unit(1)),
            signature(_POINT, _units(*_CLOCK, *_CALENDAR), result=type_of(0), prepare=_unit(1)),
        ),
        meaning=time_units.ceil_to,
        by_type=True,
        examples=(example(of(7591, DATE), "MONTH", gives=7609),),
    ),
    FunctionRow(
        names=("TIMESTAMPADD",),
        doc="A point in time so many units later.",
        signatures=(
            signature(_units(*_ADDED), INTEGER, DATETIME, result=_moved_type, prepare=_shift),
        ),
        meaning=time_units.timestamp_add,
        by_type=True,
        examples=(example("MONTH", 1, of(18292, DATE), gives=18321),),
    ),
    FunctionRow(
        names=("TIMESTAMPDIFF",),
        doc="Whole units from the first point in time to the second.",
        signatures=(signature(_units(*_COUNTED), DATETIME, DATETIME, prepare=_shift),),
        result=INT,
        meaning=time_units.timestamp_diff,
        by_type=True,
        examples=(example("MONTH", of(18292, DATE), of(18321, DATE), gives=1),),
    ),
    FunctionRow(
        names=("OVERLAPS",),
        doc="Whether two periods, each a start and an end or a length, have a moment in common.",
        signatures=(
            signature(
                DATETIME,
                kind_of("<DATETIME> | <INTERVAL>", *lt.DATETIMES, *lt.INTERVALS),
                DATETIME,
                kind_of("<DATETIME> | <INTERVAL>", *lt.DATETIMES, *lt.INTERVALS),
                prepare=_periods,
            ),
            signature(ROW, ROW, prepare=_of_rows),
        ),
        result=BOOLEAN,
        meaning=temporal.overlaps,
        examples=(
            example(of(1, DATE), of(5, DATE), of(5, DATE), of(9, DATE), gives=True),
            example(of(1, DATE), of(4, DATE), of(5, DATE), of(9, DATE), gives=False),
        ),
    ),
    _part_row("YEAR", "YEAR", "The year.", 2020),
    _part_row("QUARTER", "QUARTER", "The quarter of the year, 1 to 4.", 1),
    _part_row("MONTH", "MONTH", "The month of the year, 1 to 12.", 1),
    _part_row("WEEK", "WEEK", "The week of the ISO year, 1 to 53.", 1),
    _part_row("DAYOFYEAR", "DOY", "The day of the year, 1 to 366.", 2),
    _part_row("DAYOFMONTH", "DAY", "The day of the month, 1 to 31.", 2),
    _part_row("DAYOFWEEK", "DOW", "The day of the week, 1 for Sunday.", 5),
    _part_row("HOUR", "HOUR", "The hour, 0 to 23.", 12),
    _part_row("MINUTE", "MINUTE", "The minute, 0 to 59.", 4),
    _part_row("SECOND", "SECOND", "The second, 0 to 59.", 5),
    FunctionRow(
        names=("DATE_FORMAT",),
        doc="A timestamp, or a text that is one, in a Java pattern.",
        signatures=(signature(TIMEPOINT, TEXT), signature(TEXT, TEXT)),
        result=STRING,
        meaning=temporal.date_format,
        by_type=True,
        spark=spark_texts.date_format,
        nullable=True,
        examples=(
            example(_NOON, "yyyy-MM-dd HH:mm:ss.SSS", gives="2020-01-02 12:04:05.678"),
            example(_NOON, "EEE, d MMM yyyy hh:mm a", gives="Thu, 2 Jan 2020 12:04 PM"),
        ),
    ),
    FunctionRow(
        names=("TO_TIMESTAMP",),
        doc="A TIMESTAMP from text, by default as 2020-12-31 23:59:59; NULL if it is none.",
        signatures=(signature(TEXT, optional=(TEXT,)),),
        result=_TS,
        nullable=True,
        meaning=temporal.to_timestamp,
        examples=(
            example("1970-01-01 00:00:01.5", gives=1_500_000_000),
            example("1970/01/02", "yyyy/MM/dd", gives=86_400_000_000_000),
            example("foo", gives=None),
        ),
    ),
    FunctionRow(
        names=("TO_TIMESTAMP_LTZ",),
        doc="A TIMESTAMP_LTZ from a number of seconds (precision 0), milliseconds (3) and so on "
        "since 1970, or from text with a pattern and a time zone (UTC).",
        signatures=(
            signature(NUMBER, optional=(INT,), result=_instant_type),
            signature(TEXT, optional=(TEXT, TEXT), result=_instant_type),
        ),
        nullable=True,
        meaning=temporal.to_timestamp_ltz,
        by_type=True,
        spark=spark_texts.instant_of_number,
        examples=(
            example(1000, gives=1_000_000_000),
            example(1000, 0, gives=1_000_000_000_000),
            example(-1500, 3, gives=-1_500_000_000),
            example("1970-01-01 09:00:00", "yyyy-MM-dd HH:mm:ss", "Asia/Tokyo", gives=0),
        ),
    ),
    FunctionRow(
        names=("TO_DATE",),
        doc="A DATE from text, by default as 2020-12-31; NULL if it is none.",
        signatures=(signature(TEXT, optional=(TEXT,)),),
        result=DATE,
        nullable=True,
        meaning=temporal.to_date,
        examples=(
            example("1970-01-02", gives=1),
            example("02/01/1970", "dd/MM/yyyy", gives=1),
            example("foo", gives=None),
        ),
    ),
    FunctionRow(
        names=("FROM_UNIXTIME",),
        doc="Seconds since 1970 as text in the session's time zone.",
        signatures=(signature(BIGINT, optional=(TEXT,)),),
        result=STRING,
        nullable=True,
        meaning=temporal.from_unixtime,
        by_type=True,
        examples=(example(44, gives="1970-01-01 00:00:44"), example(44, "yyyy", gives="1970")),
    ),
    FunctionRow(
        names=("CONVERT_TZ",),
        doc="The time of one time zone in another, both as text.",
        signatures=(signature(TEXT, TEXT, TEXT),),
        result=STRING,
        nullable=True,
        meaning=temporal.convert_tz,
        examples=(
            example(
                "1970-01-01 00:00:00", "UTC", "America/Los_Angeles", gives="1969-12-31 16:00:00"
            ),
        ),
    ),
)
