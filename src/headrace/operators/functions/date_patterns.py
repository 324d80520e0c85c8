"""Java's patterns of dates and times, such as `yyyy-MM-dd HH:mm:ss.SSS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, tzinfo
from functools import lru_cache
from typing import NamedTuple

from headrace.errors import InvalidArgument
from headrace.operators.functions.dates import (
    DAY_NANOS,
    SECOND_NANOS,
    civil,
    days_of,
)
from headrace.operators.functions.session import instant_of

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_LETTERS = frozenset("GyuYMLdDEecQqwWHhkKmsSnNAazZXxVO")


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


_SIMPLE = {
    "yyyy": "{0:04d}", "MM": "{1:02d}", "dd": "{2:02d}", "HH": "{3:02d}", "mm": "{4:02d}",
    "ss": "{5:02d}", "SSS": "{6:03d}",
}  # fmt: skip


@lru_cache(maxsize=512)
def _simple_form(pattern: str) -> str | None:
    """Patterns of the usual parts as a text to format, which is quicker."""
    parts = []
    for token in tokens_of(pattern):
        known = _SIMPLE.get(token.letter * token.count)
        if token.letter and known is None:
            return None
        parts.append(known or token.text.replace("{", "{{").replace("}", "}}"))
    return "".join(parts)


def written(wall: int, zone: tzinfo, pattern: str) -> str:
    """A time on the wall in a Java pattern."""
    simple = _simple_form(pattern)
    if simple is None:
        return formatted(Moment.of(wall, zone), pattern)
    days, rest = divmod(wall, DAY_NANOS)
    seconds, nano = divmod(rest, SECOND_NANOS)
    minutes, second = divmod(seconds, 60)
    return simple.format(*civil(days), *divmod(minutes, 60), second, nano // 1_000_000)


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
