"""Functions of numbers: rounding, powers and logarithms, random numbers, digits."""

from __future__ import annotations

import math
import uuid as uuids
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType
from headrace.core.numbers import WIDE, rescaled, single
from headrace.errors import InvalidArgument
from headrace.operators.functions.arithmetic import real_quotient
from headrace.operators.functions.casting import BITS
from headrace.operators.functions.numbers import decimal_of, fitted, wrapped

Operation = Callable[..., Any]
_MULTIPLIER, _MASK = 0x5DEECE66D, (1 << 48) - 1


def absolute(_types: Sequence[LogicalType], result: LogicalType) -> Operation:
    if isinstance(result, lt.INTEGERS):
        bits = BITS[result.__class__]
        return lambda value: wrapped(abs(value), bits)
    return WIDE.abs if isinstance(result, lt.DecimalType) else abs


def sign(_types: Sequence[LogicalType], result: LogicalType) -> Operation:
    if isinstance(result, lt.DecimalType):
        scale = result.scale
        return lambda value: rescaled(Decimal((value > 0) - (value < 0)), scale)
    if isinstance(result, lt.APPROXIMATE):
        return lambda value: math.nan if math.isnan(value) else float((value > 0) - (value < 0))
    return lambda value: (value > 0) - (value < 0)


def floor(_types: Sequence[LogicalType], result: LogicalType) -> Operation:
    return _whole(result, ROUND_FLOOR, math.floor)


def ceil(_types: Sequence[LogicalType], result: LogicalType) -> Operation:
    return _whole(result, ROUND_CEILING, math.ceil)


def _whole(result: LogicalType, rounding: str, real: Callable[[float], int]) -> Operation:
    if isinstance(result, lt.DecimalType):
        # Decimals have one zero only.
        return lambda value: value.to_integral_value(rounding=rounding) or Decimal(0)
    if isinstance(result, lt.APPROXIMATE):
        # A zero keeps the sign of what it was made of.
        return lambda value: (
            math.copysign(float(real(value)), value) if math.isfinite(value) else value
        )
    return int


def round_half_up(_types: Sequence[LogicalType], result: LogicalType) -> Operation:
    """To so many digits after the point, before it if negative."""
    return _to_digits(result, ROUND_HALF_UP)


def truncate(_types: Sequence[LogicalType], result: LogicalType) -> Operation:
    return _to_digits(result, ROUND_DOWN)


def _to_digits(result: LogicalType, rounding: str) -> Operation:
    def decimal(value: Decimal, digits: int = 0) -> Decimal:
        if digits >= -int(value.as_tuple().exponent):
            return value
        rounded = value.quantize(Decimal(1).scaleb(-digits), rounding=rounding, context=WIDE)
        return rounded if digits >= 0 else rounded.quantize(Decimal(1), context=WIDE)

    if isinstance(result, lt.DecimalType):
        precision, scale = result.precision, result.scale
        return lambda value, digits=0: fitted(decimal(value, digits), precision, scale)
    if isinstance(result, lt.INTEGERS):
        bits = BITS[result.__class__]
        return lambda value, digits=0: wrapped(int(decimal(Decimal(value), digits)), bits)
    narrow = single if isinstance(result, lt.FloatType) else float

    def real(value: float, digits: int = 0) -> float:
        if not math.isfinite(value):
            return value
        exact = decimal_of(value) if narrow is float else Decimal(f"{value:.9g}")
        return narrow(float(decimal(exact, digits))) + 0.0  # decimals have one zero only

    return real


def real(function: Callable[..., float]) -> Operation:
    """A function of the math module, with Java's NaN and Infinity instead of errors."""

    def total(*values: float) -> float:
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return total


def power(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:
        return math.inf
    try:
        return math.pow(base, exponent)
    except ValueError:
        return math.nan
    except OverflowError:
        odd = exponent % 2 == 1
        return -math.inf if base < 0 and odd else math.inf


def logarithm(value: float) -> float:
    """Java's: -Infinity for 0, NaN below it."""
    if value > 0:
        return math.log(value)
    return -math.inf if value == 0 else math.nan


def logarithm2(value: float) -> float:
    return logarithm(value) / math.log(2.0)


def logarithm10(value: float) -> float:
    return math.log10(value) if value > 0 else logarithm(value)


def log(*values: float) -> float:
    """LOG(x), or LOG(base, x)."""
    if len(values) == 1:
        return logarithm(values[0])
    base, value = values
    return real_quotient(logarithm(value), logarithm(base))


def cotangent(value: float) -> float:
    tangent = math.tan(value)
    return 1.0 / tangent if tangent else math.inf


class JavaRandom:
    """The numbers of java.util.Random, so that seeds give what they give in Flink."""

    def __init__(self, seed: int):
        self._state = (seed ^ _MULTIPLIER) & _MASK

    def bits(self, count: int) -> int:
        self._state = (self._state * _MULTIPLIER + 0xB) & _MASK
        return wrapped(self._state >> (48 - count), 32)

    def next_double(self) -> float:
        high, low = self.bits(26), self.bits(27)
        return float((high << 27) + low) * (2.0**-53)

    def next_below(self, bound: int) -> int:
        if bound <= 0:
            raise InvalidArgument(f"the bound of RAND_INTEGER must be positive, it is {bound}")
        if bound & (bound - 1) == 0:
            return (bound * self.bits(31)) >> 31
        while True:
            found = self.bits(31)
            value = found % bound
            if found - value + (bound - 1) < 1 << 31:
                return value


class _Seeded:
    """Goes on with the numbers of a seed while the seed stays the same."""

    def __init__(self) -> None:
        self._seed: int | None = None
        self._random = JavaRandom(uuids.uuid4().int & _MASK)

    def of(self, seed: int | None) -> JavaRandom:
        if seed is not None and seed != self._seed:
            self._seed, self._random = seed, JavaRandom(seed)
        return self._random


def rand(types: Sequence[LogicalType], _result: LogicalType) -> Operation:
    source = _Seeded()
    if types:
        return lambda seed: source.of(seed).next_double()
    return lambda: source.of(None).next_double()


def rand_integer(types: Sequence[LogicalType], _result: LogicalType) -> Operation:
    source = _Seeded()
    if len(types) == 2:
        return lambda seed, bound: source.of(seed).next_below(bound)
    return lambda bound: source.of(None).next_below(bound)


def uuid() -> str:
    return str(uuids.uuid4())


def binary(value: int) -> str:
    return f"{value & 0xFFFFFFFFFFFFFFFF:b}"


def hexadecimal(value: int | str | bytes) -> str:
    if isinstance(value, int):
        return f"{value & 0xFFFFFFFFFFFFFFFF:X}"
    return (value.encode() if isinstance(value, str) else value).hex().upper()


def from_hexadecimal(text: str) -> bytes | None:
    """NULL for what is no hexadecimal number. An odd first digit is not read but becomes a 0."""
    if any(character.isspace() for character in text):
        return None
    try:
        found = bytes.fromhex("0" + text if len(text) % 2 else text)
    except ValueError:
        return None
    return b"\0" + found[1:] if len(text) % 2 else found
