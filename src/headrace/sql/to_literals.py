"""Literals of a parsed query as typed values in internal form."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal

from sqlglot import exp

from headrace.core import logical_types as lt
from headrace.errors import InvalidQuery
from headrace.sql import unresolved as un
from headrace.sql.nodes import position_of

_INT_LIMIT, _BIGINT_LIMIT = 2**31, 2**63
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_DAY_NANOS = 86_400 * 10**9
_MILLIS = {
    "WEEK": 7 * 86_400_000, "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000,
}  # fmt: skip
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_TIME = r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d+))?"
_DATE = r"(\d{4,})-(\d{1,2})-(\d{1,2})"
_PATTERNS = {
    "DATE": (re.compile(_DATE), "2024-12-31"),
    "TIME": (re.compile(_TIME), "23:59:59"),
    "TIMESTAMP": (re.compile(f"{_DATE} {_TIME}"), "2024-12-31 23:59:59.123"),
}
# What stands between the numbers of an interval with two units.
_SPANS = {
    ("YEAR", "MONTH"): r"(\d+)-(\d+)",
    ("DAY", "HOUR"): r"(\d+) +(\d+)",
    ("DAY", "MINUTE"): r"(\d+) +(\d+):(\d+)",
    ("DAY", "SECOND"): r"(\d+) +(\d+):(\d+):(\d+(?:\.\d+)?)",
    ("HOUR", "MINUTE"): r"(\d+):(\d+)",
    ("HOUR", "SECOND"): r"(\d+):(\d+):(\d+(?:\.\d+)?)",
    ("MINUTE", "SECOND"): r"(\d+):(\d+(?:\.\d+)?)",
}
_DESCENDING = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


def number(node: exp.Expr) -> un.Value:
    """INT or BIGINT, beyond them and with a point DECIMAL, with an exponent DOUBLE."""
    text = str(node.this)
    at = position_of(node)
    if "e" in text.lower():
        approximate = _finite(text)
        if approximate is None:
            raise InvalidQuery(f"{text} is not a number that a DOUBLE can be", origin=at)
        return un.Value(approximate, lt.DOUBLE.not_null(), at=at)
    text = text.removesuffix(".")
    if "." not in text:
        whole = int(text)
        if -_INT_LIMIT <= whole < _INT_LIMIT:
            return un.Value(whole, lt.INT.not_null(), at=at)
        if -_BIGINT_LIMIT <= whole < _BIGINT_LIMIT:
            return un.Value(whole, lt.BIGINT.not_null(), at=at)
    value = Decimal(text)
    scale = len(text.partition(".")[2])
    precision = sum(map(str.isdigit, text))  # as it is written: 0.5 has two digits, .5 has one
    if precision > 38:
        raise InvalidQuery(
            f"{text} has more than the 38 digits of a DECIMAL", origin=at,
            hint="write it with an exponent, such as 1e40, to have a DOUBLE",
        )  # fmt: skip
    type = lt.DecimalType(max(precision, 1), scale, nullable=False)
    return un.Value(value, type, at=at)


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:  # an exponent without digits
        return None
    return value if math.isfinite(value) else None


def text_value(node: exp.Expr) -> un.Value:
    text = str(node.this)
    return un.Value(text, lt.CharType(len(text), nullable=False), at=position_of(node))


def binary(node: exp.Expr) -> un.Value:
    data = bytes.fromhex(str(node.this))
    return un.Value(data, lt.BinaryType(len(data), nullable=False), at=position_of(node))


def time_value(node: exp.Expr) -> un.Value:
    """DATE, TIME and TIMESTAMP; the precision is the number of digits written."""
    kind, text = str(node.args["kind"]), str(node.this)
    pattern, example = _PATTERNS[kind]
    match = pattern.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError("not of this form")
        value, type = _TIME_VALUES[kind](match.groups())
    except ValueError as error:
        raise InvalidQuery(
            f"'{text}' is not a {kind}", origin=position_of(node), hint=f"write {kind} '{example}'"
        ) from error
    return un.Value(value, type.not_null(), at=position_of(node))


Groups = tuple[str | None, ...]


def _days(groups: Groups) -> int:
    year, month, day = (int(part or 0) for part in groups)
    return dt.date(year, month, day).toordinal() - _EPOCH_DAY


def _nanos(groups: Groups) -> tuple[int, int]:
    """Nanoseconds of the day, and the digits written of the second."""
    hour, minute, second = (int(part or 0) for part in groups[:3])
    dt.time(hour, minute, second)
    digits = (groups[3] or "")[:9]
    fraction = int(digits.ljust(9, "0"))
    return (hour * 3600 + minute * 60 + second) * 10**9 + fraction, len(digits)


def _date(groups: Groups) -> tuple[int, lt.LogicalType]:
    return _days(groups), lt.DATE


def _time(groups: Groups) -> tuple[int, lt.LogicalType]:
    nanos, digits = _nanos(groups)
    return nanos // 10**6, lt.TimeType(min(digits, 3))


def _timestamp(groups: Groups) -> tuple[int, lt.LogicalType]:
    nanos, digits = _nanos(groups[3:])
    return _days(groups[:3]) * _DAY_NANOS + nanos, lt.TimestampType(digits)


_TIME_VALUES = {"DATE": _date, "TIME": _time, "TIMESTAMP": _timestamp}


def interval(node: exp.Expr) -> un.Value:
    """Months, or milliseconds."""
    unit, to = str(node.args["unit"]), node.args.get("to")
    text = str(node.this).strip()
    sign = -1 if text.startswith("-") else 1
    body = text.lstrip("+-").strip()
    parts = _single(unit, body) if to is None else _span(unit, str(to), body)
    if parts is None:
        raise InvalidQuery(
            f"'{node.this}' is not an interval of {unit}{f' TO {to}' if to else ''}",
            origin=position_of(node),
            hint="write INTERVAL '5' MINUTE or INTERVAL '1 12' DAY TO HOUR",
        )  # fmt: skip
    if unit in _MONTHS:
        months = sum(int(amount) * _MONTHS[part] for part, amount in parts)
        type: lt.LogicalType = lt.YearMonthIntervalType("MONTH", nullable=False)
        return un.Value(sign * months, type, at=position_of(node))
    millis = sum(int(amount * _MILLIS[part]) for part, amount in parts)
    type = lt.DayTimeIntervalType("SECOND(3)", nullable=False)
    return un.Value(sign * millis, type, at=position_of(node))


def _single(unit: str, text: str) -> list[tuple[str, Decimal]] | None:
    pattern = r"\d+(\.\d+)?" if unit == "SECOND" else r"\d+"
    return [(unit, Decimal(text))] if re.fullmatch(pattern, text) else None


def _span(unit: str, to: str, text: str) -> list[tuple[str, Decimal]] | None:
    pattern = _SPANS.get((unit, to))
    match = pattern and re.fullmatch(pattern, text)
    if not match:
        return None
    first = _DESCENDING.index(unit)
    units = _DESCENDING[first : _DESCENDING.index(to) + 1]
    return [(part, Decimal(amount)) for part, amount in zip(units, match.groups(), strict=True)]
