"""Dates and times in internal form: parts of them, and how they are read and written."""

from __future__ import annotations

import re
from datetime import date

DAY_MILLIS = 86_400_000
SECOND_NANOS = 1_000_000_000
MILLI_NANOS = 1_000_000
DAY_NANOS = 86_400 * SECOND_NANOS
_EPOCH_ORDINAL = 719_163
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4,})-(\d{1,2})-(\d{1,2})(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{0,9}))?)?", re.ASCII
)
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar, for any year."""
    if 1 <= year <= 9999:
        return date(year, month, day).toordinal() - _EPOCH_ORDINAL
    cycles = (year - 1) // 400
    inside = date(year - 400 * cycles, month, day).toordinal()
    return inside + cycles * 146_097 - _EPOCH_ORDINAL


def civil(days: int) -> tuple[int, int, int]:
    """Year, month and day."""
    ordinal = days + _EPOCH_ORDINAL
    if 1 <= ordinal <= 3_652_059:
        found = date.fromordinal(ordinal)
        return found.year, found.month, found.day
    cycles, inside = divmod(ordinal - 1, 146_097)
    found = date.fromordinal(inside + 1)
    return found.year + 400 * cycles, found.month, found.day


def month_days(year: int, month: int) -> int:
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if leap else _MONTH_DAYS[month - 1]


def plus_months(days: int, months: int) -> int:
    """The same day so many months later, or the month's last day."""
    year, month, day = civil(days)
    year, month = divmod(year * 12 + month - 1 + months, 12)
    return days_of(year, month + 1, min(day, month_days(year, month + 1)))


def checked_days(year: int, month: int, day: int, text: str) -> int:
    if not (0 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= month_days(year, month)):
        raise ValueError(f"'{text}' is no date")
    return days_of(year, month, day)


def read_date(text: str) -> int:
    """yyyy, yyyy-m or yyyy-m-d; what follows a blank is not looked at."""
    parts = text.strip().split(" ", 1)[0].split("-")
    if len(parts) > 3 or not all(part.isascii() and part.isdigit() for part in parts):
        raise ValueError(f"'{text}' is no date")
    year, month, day = (*map(int, parts), 1, 1)[:3]
    return checked_days(year, month, day, text)


def read_time(text: str) -> int:
    """h, h:m or h:m:s with a fraction, in milliseconds."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' is no time")
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"'{text}' is no time")
    millis = int((match.group(4) or "").ljust(3, "0")[:3])
    return ((hour * 60 + minute) * 60 + second) * 1000 + millis


def read_timestamp(text: str) -> int:
    """yyyy-m-d or yyyy-m-d h:m:s with a fraction, in nanoseconds.

    As Java reads them: of a day up to 31 that the month has not, its last day is meant, and a day
    ends at 24:00:00.
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text}' is no timestamp")
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    nanos = int((match.group(7) or "").ljust(9, "0"))
    midnight = hour == 24 and not (minute or second or nanos)
    if (hour > 23 and not midnight) or minute > 59 or second > 59 or month > 12 or day > 31:
        raise ValueError(f"'{text}' is no timestamp")
    days = checked_days(year, month, min(day, month_days(year, month)), text)
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * SECOND_NANOS + nanos


def cut(nanos: int, precision: int) -> int:
    """Without the digits after the precision."""
    if precision >= 9:
        return nanos
    step: int = 10 ** (9 - precision)
    return nanos - nanos % step


def cut_time(millis: int, precision: int) -> int:
    if precision >= 3:
        return millis
    step: int = 10 ** (3 - precision)
    return millis - millis % step


def date_text(days: int) -> str:
    year, month, day = civil(days)
    return f"{year:04d}-{month:02d}-{day:02d}"


def time_text(millis: int, precision: int) -> str:
    """A time of day, with as many digits of the second as there are, and one at least."""
    digits = f"{millis % 1000:03d}"[:precision].rstrip("0") or "0"
    return clock_text(millis) if precision == 0 else f"{clock_text(millis)}.{digits}"


def clock_text(millis: int) -> str:
    minutes, second = divmod(millis // 1000, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02d}:{minute:02d}:{second:02d}"


def timestamp_text(nanos: int, precision: int) -> str:
    days, rest = divmod(nanos, DAY_NANOS)
    seconds, fraction = divmod(rest, SECOND_NANOS)
    text = f"{date_text(days)} {clock_text(seconds * 1000)}"
    return text if precision == 0 else f"{text}.{f'{fraction:09d}'[:precision]}"


def months_text(months: int) -> str:
    years, rest = divmod(abs(months), 12)
    return f"{'-' if months < 0 else '+'}{years}-{rest:02d}"


def millis_text(millis: int) -> str:
    days, rest = divmod(abs(millis), DAY_MILLIS)
    return f"{'-' if millis < 0 else '+'}{days} {clock_text(rest)}.{rest % 1000:03d}"
