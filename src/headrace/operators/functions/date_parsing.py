"""Dates and times read from text by Java's patterns."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import lru_cache

from headrace.operators.functions.date_patterns import DAYS, MONTHS, Token, tokens_of
from headrace.operators.functions.dates import SECOND_NANOS, days_of, month_days

_NUMERIC = frozenset("yuYdDQqwWHhkKmsSnNAe")


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
