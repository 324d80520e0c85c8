"""Numbers as Java has them: fixed widths, 32-bit floats, how they are printed and read."""

from __future__ import annotations

import math
import re
from decimal import ROUND_DOWN, Decimal, InvalidOperation

from headrace.core.numbers import rescaled, shortest_digits

_INTEGER = re.compile(r"(?:([+-]?\d+)(?:\.\d*)?|\.\d+)", re.ASCII)
_REAL = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?)", re.ASCII)


def wrapped(value: int, bits: int) -> int:
    """The integer of that width that has the same lowest bits."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def narrowed(value: float, bits: int) -> int:
    """A float as an integer: towards zero, kept within int or long, then cut to the width."""
    if math.isnan(value):
        return 0
    limit = 63 if bits == 64 else 31
    bound = 1 << limit
    if value >= bound:
        whole = bound - 1
    elif value <= -bound:
        whole = -bound
    else:
        whole = int(value)
    return wrapped(whole, bits)


def fitted(value: Decimal, precision: int, scale: int) -> Decimal | None:
    """Rounded half up to the scale; None if it has more digits than the precision."""
    try:
        rounded = rescaled(value, scale)
    except InvalidOperation:
        return None
    if not rounded:
        return rounded.copy_abs()  # decimals have one zero only
    return rounded if rounded.adjusted() < precision - scale else None


def truncated(value: Decimal) -> int:
    return int(value.to_integral_value(rounding=ROUND_DOWN))


def read_integer(text: str, bits: int) -> int:
    """Digits after a point are cut off, blanks around are not looked at."""
    match = _INTEGER.fullmatch(text.strip())
    digits = (match.group(1) or "0") if match else ""
    if not digits or digits in "+-":
        raise ValueError(f"'{text}' is no integer")
    value = int(digits)
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(f"'{text}' is out of range")
    return value


def read_real(text: str) -> float:
    trimmed = text.strip()
    if not _REAL.fullmatch(trimmed):
        raise ValueError(f"'{text}' is no number")
    if not trimmed.lower().endswith(("nan", "infinity")):
        trimmed = trimmed.rstrip("fFdD")
    return float(trimmed)


def read_decimal(text: str) -> Decimal:
    trimmed = text.strip()
    if not _REAL.fullmatch(trimmed) or trimmed[-1:] in "NyfFdD":
        raise ValueError(f"'{text}' is no decimal number")
    return Decimal(trimmed)


def decimal_of(value: float) -> Decimal:
    if not math.isfinite(value):
        raise ValueError(f"{value} is no decimal number")
    return Decimal(repr(value))


def double_text(value: float) -> str:
    """As Java prints a double: 1.0, 1.0E10, 1.0E-5."""
    if 1e-3 <= value < 1e7 or -1e7 < value <= -1e-3:
        return repr(value)
    return _java_text(value, _whole_digits(value, 53) or repr(value))


def float_text(value: float) -> str:
    """As Java prints a float: the fewest digits that tell it from its neighbours."""
    whole = _whole_digits(value, 24)
    if whole is not None:
        return _java_text(value, whole)
    return _java_text(value, shortest_digits(value))


def _whole_digits(value: float, bits: int) -> str | None:
    """Java up to version 18 writes whole numbers beyond the mantissa with more digits."""
    exponent = math.frexp(value)[1] - 1 if math.isfinite(value) else 0
    if not bits < exponent <= 62:
        return None
    dropped = int((exponent - bits - 1) * 0.30103)
    kept = (abs(int(value)) + (10**dropped >> 1)) // 10**dropped
    return f"{'-' if value < 0 else ''}{kept * 10**dropped}"


def _java_text(value: float, shortest: str) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(shortest).as_tuple()
    assert isinstance(exponent, int)
    written = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + exponent if any(digits) else 1
    minus = "-" if sign else ""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        if point <= 0:
            return f"{minus}0.{'0' * -point}{written}"
        padded = written.ljust(point, "0")
        return f"{minus}{padded[:point]}.{padded[point:] or '0'}"
    return f"{minus}{written[0]}.{written[1:] or '0'}E{point - 1}"
