"""Java's patterns of dates and times, such as `yyyy-MM-dd HH:mm:ss.SSS`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple

from headrace.errors import InvalidArgument
from headrace.operators.functions.dates import (
    DAY_NANOS,
    SECOND_NANOS,
    civil,
    days_of,
    month_days,
)
from headrace.operators.functions.session import instant_of

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_LETTERS = frozenset("GyuYMLdDEecQqwWHhkKmsSnNAazZXxVO")
_NUMERIC = frozenset("yuYdDQqwWHhkKmsSnNAe")


class Moment(NamedTuple):
    """A time on the clock on the wall, taken apart."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    nano: int
    days: int
    zone: tzinfo
    offset: int

    @classmethod
    def of(cls, wall: int, zone: tzinfo = UTC) -> Moment:
        days, rest = divmod(wall, DAY_NANOS)
        seconds, nano = divmod(rest, SECOND_NANOS)
        minutes, second = divmod(seconds, 60)
        offset = (wall - instant_of(wall, zone)) // SECOND_NANOS
        return cls(*civil(days), *divmod(minutes, 60), second, nano, days, zone, offset)

    @property
    def weekday(self) -> int:
        """0 for Sunday."""
        return (self.days + 4) % 7

    @property
    def day_of_year(self) -> int:
        return self.days - days_of(self.year, 1, 1) + 1


@dataclass(frozen=True)
class Token:
    letter: str
    """Empty for plain text."""
    count: int = 0
    text: str = ""


@lru_cache(maxsize=512)
def tokens_of(pattern: str) -> tuple[Token, ...]:
    found: list[Token] = []
    position = 0
    while position < len(pattern):
        letter = pattern[position]
        if letter == "'":
            text, position = _quoted(pattern, position)
            found.append(Token("", text=text))
        elif letter in "[]":
            found.append(Token(letter))
            position += 1
        elif letter.isascii() and letter.isalpha():
            if letter not in _LETTERS:
                raise InvalidArgument(f"the pattern '{pattern}' has an unknown letter '{letter}'")
            end = position
            while end < len(pattern) and pattern[end] == letter:
                end += 1
            found.append(Token(letter, end - position))
            position = end
        else:
            found.append(Token("", text=letter))
            position += 1
    return tuple(found)


def _quoted(pattern: str, start: int) -> tuple[str, int]:
    """Text between quotes, where two quotes are one."""
    if pattern[start : start + 2] == "''":
        return "'", start + 2
    end = start + 1
    while True:
        end = pattern.find("'", end)
        if end < 0:
            raise InvalidArgument(f"the pattern '{pattern}' has a quote that does not end")
        if pattern[end : end + 2] != "''":
            return pattern[start + 1 : end].replace("''", "'"), end + 1
        end += 2


def formatted(moment: Moment, pattern: str) -> str:
    return "".join(
        token.text if not token.letter else _written(token, moment)
        for token in tokens_of(pattern)
        if token.letter not in ("[", "]")
    )


def _written(token: Token, moment: Moment) -> str:
    letter, count = token.letter, token.count
    number = _NUMBERS.get(letter)
    if number is not None:
        return str(number(moment)).zfill(count)
    if letter in "yu":
        return f"{moment.year % 100:02d}" if count == 2 else str(moment.year).zfill(count)
    if letter in "ML":
        return _name(MONTHS[moment.month - 1], moment.month, count)
    if letter in "Eec":
        named = letter == "E" or count > 2
        return _name(DAYS[moment.weekday], moment.weekday + 1, max(count, 3) if named else count)
    if letter == "S":
        return f"{moment.nano:09d}"[:count].ljust(count, "0")
    if letter in "Qq":
        quarter = (moment.month + 2) // 3
        return str(quarter).zfill(count) if count < 3 else f"Q{quarter}"
    return _zone_written(token, moment)


def _name(name: str, number: int, count: int) -> str:
    if count < 3:
        return str(number).zfill(count)
    return {3: name[:3], 5: name[0]}.get(count, name)


def _zone_written(token: Token, moment: Moment) -> str:
    letter, count = token.letter, token.count
    if letter == "a":
        return "AM" if moment.hour < 12 else "PM"
    if letter == "G":
        return "AD" if moment.year > 0 else "BC"
    if letter == "V":
        return str(moment.zone)
    if letter == "z":
        wall = moment.offset
        named = moment.zone.tzname(None) if moment.zone is UTC else None
        return named or _offset_text(wall, ":", "GMT")
    if letter == "O":
        return "GMT" if moment.offset == 0 else _offset_text(moment.offset, ":", "GMT")
    if letter == "X" and moment.offset == 0:
        return "Z"
    separator = ":" if letter in "Xx" and count in (3, 5) else ""
    text = _offset_text(moment.offset, separator, "")
    return text[:3] if letter in "Xx" and count == 1 and text.endswith("00") else text


def _offset_text(seconds: int, separator: str, prefix: str) -> str:
    minutes = abs(seconds) // 60
    sign = "-" if seconds < 0 else "+"
    return f"{prefix}{sign}{minutes // 60:02d}{separator}{minutes % 60:02d}"


def _week_of_year(moment: Moment) -> int:
    """Weeks start on Sunday; the first one has 1 January."""
    first = (days_of(moment.year, 1, 1) + 4) % 7
    week = (moment.day_of_year - 1 + first) // 7 + 1
    following = (days_of(moment.year + 1, 1, 1) + 4) % 7
    left = days_of(moment.year + 1, 1, 1) - moment.days
    return 1 if following and left <= following else week


def _week_year(moment: Moment) -> int:
    return moment.year + (1 if _week_of_year(moment) == 1 and moment.month == 12 else 0)


_NUMBERS: dict[str, Callable[[Moment], int]] = {
    "d": lambda moment: moment.day,
    "D": lambda moment: moment.day_of_year,
    "H": lambda moment: moment.hour,
    "k": lambda moment: moment.hour or 24,
    "K": lambda moment: moment.hour % 12,
    "h": lambda moment: moment.hour % 12 or 12,
    "m": lambda moment: moment.minute,
    "s": lambda moment: moment.second,
    "n": lambda moment: moment.nano,
    "A": lambda moment: (
        (moment.hour * 3600 + moment.minute * 60 + moment.second) * 1000 + moment.nano // 1_000_000
    ),
    "N": lambda moment: (
        (moment.hour * 3600 + moment.minute * 60 + moment.second) * SECOND_NANOS + moment.nano
    ),
    "w": _week_of_year,
    "W": lambda moment: (moment.day - 1 + (moment.days - moment.day + 5) % 7) // 7 + 1,
    "Y": _week_year,
}


def parsed(text: str, pattern: str, *, lenient: bool = False) -> tuple[int, timedelta | None]:
    """Nanoseconds on the wall, and the offset if the text has one; ValueError if it does not fit.

    Lenient is how SimpleDateFormat reads: any number of digits, and text after the end.
    """
    expression, letters = _reader(pattern, lenient)
    match = expression.match(text) if lenient else expression.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text}' is not written as {pattern}")
    pairs = zip(letters, match.groups(), strict=True)
    fields = {letter: value for letter, value in pairs if value is not None}
    return _assembled(fields, text, lenient)


@lru_cache(maxsize=512)
def _reader(pattern: str, lenient: bool) -> tuple[re.Pattern[str], tuple[str, ...]]:
    parts: list[str] = []
    letters: list[str] = []
    tokens = tokens_of(pattern)
    for position, token in enumerate(tokens):
        if token.letter in ("[", "]"):
            parts.append("(?:" if token.letter == "[" else ")?")
        elif not token.letter:
            parts.append(re.escape(token.text))
        else:
            follower = tokens[position + 1] if position + 1 < len(tokens) else Token("")
            adjacent = follower.letter in _NUMERIC or follower.letter == "M"
            parts.append(f"({_readable(token, lenient and not adjacent)})")
            letters.append(token.letter)
    return re.compile("".join(parts), re.ASCII | re.IGNORECASE), tuple(letters)


def _readable(token: Token, lenient: bool) -> str:
    letter, count = token.letter, token.count
    if letter in "ML" and count >= 3:
        return "|".join(month[: 3 if count == 3 else None] for month in MONTHS)
    if letter == "E" or (letter in "ec" and count > 2):
        return "|".join(day[: 3 if count <= 3 else None] for day in DAYS)
    if letter == "a":
        return "AM|PM"
    if letter == "G":
        return "AD|BC"
    if letter in "ZXx":
        return r"Z|[+-]\d{2}:?(?:\d{2})?"
    if letter in "zVO":
        return r"[A-Za-z][\w/+:-]*|[+-]\d{2}:?\d{2}"
    if lenient:
        return r"[+-]?\d+"
    if letter in "yuY":
        return r"\d{2}" if count == 2 else rf"\d{{{count}}}" if count > 1 else r"\d+"
    return rf"\d{{{count}}}" if count > 1 or letter == "S" else r"\d{1,2}"


def _assembled(fields: dict[str, str], text: str, lenient: bool) -> tuple[int, timedelta | None]:
    year_text = fields.get("y") or fields.get("u") or fields.get("Y")
    year = 1970 if year_text is None else int(year_text)
    if year_text is not None and len(year_text) == 2:
        year += 2000
    month = _month_number(fields.get("M") or fields.get("L") or "1")
    day = int(fields.get("d", 1))
    clock = _clock(fields)
    if lenient:
        days = days_of(year + (month - 1) // 12, (month - 1) % 12 + 1, 1) + day - 1
    elif not (1 <= month <= 12 and 1 <= day <= 31 and clock[0] < 24 and max(clock[1:]) < 60):
        raise ValueError(f"'{text}' has a part out of range")
    else:
        days = days_of(year, month, min(day, month_days(year, month)))
    if "D" in fields and "d" not in fields:
        days = days_of(year, 1, 1) + int(fields["D"]) - 1
    hour, minute, second = clock
    fraction = fields.get("S", "")
    nanos = int(fraction) * 1_000_000 if lenient and fraction else int(fraction.ljust(9, "0")[:9])
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    return seconds * SECOND_NANOS + nanos, _offset(fields)


def _month_number(text: str) -> int:
    if text.isdigit():
        return int(text)
    names = [month[:3].lower() for month in MONTHS]
    return names.index(text[:3].lower()) + 1


def _clock(fields: dict[str, str]) -> tuple[int, int, int]:
    hour = int(fields.get("H", fields.get("K", 0)))
    if "k" in fields:
        hour = int(fields["k"]) % 24
    if "h" in fields:
        hour = int(fields["h"]) % 12
    if fields.get("a", "").upper() == "PM" and "H" not in fields:
        hour += 12
    return hour, int(fields.get("m", 0)), int(fields.get("s", 0))


def _offset(fields: dict[str, str]) -> timedelta | None:
    text = fields.get("X") or fields.get("x") or fields.get("Z")
    if text is None:
        return None
    if text.upper() == "Z":
        return timedelta()
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]))
    return -offset if text[0] == "-" else offset
