# ruff: noqa: N802 - the methods are called what PyFlink calls them
"""Types of single values: numbers, text, pickled objects."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

from headrace.core.numbers import single
from headrace.core.time import Instant
from headrace.core.type_information import Coercer, TypeInformation, WrongValue, plain_scalar

__all__ = ["BasicType", "BasicTypeInfo", "InstantTypeInfo", "PickledBytesTypeInfo"]


class BasicType(Enum):
    """The single values Flink knows, by the name of their Java class."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


_BYTE = 255
INTEGER_BITS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64}


@dataclass(frozen=True, repr=False)
class BasicTypeInfo(TypeInformation):
    """The type of a number, a truth value or a text."""

    basic_type: BasicType

    def __repr__(self) -> str:
        return self.basic_type.value

    def label(self) -> str:
        return self.basic_type.name

    def bounds(self) -> tuple[int, int] | None:
        """The smallest and largest value of an integer type of fixed width."""
        bits = INTEGER_BITS.get(self.basic_type)
        return None if bits is None else (-(1 << bits - 1), (1 << bits - 1) - 1)

    def coercer(self) -> Coercer | None:
        bounds = self.bounds()
        if bounds is not None:
            return _integer_coercer(self.label(), *bounds)
        return _COERCERS[self.basic_type]

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> InstantTypeInfo:
        return InstantTypeInfo(BasicType.INSTANT)


@dataclass(frozen=True, repr=False)
class InstantTypeInfo(BasicTypeInfo):
    """The type of a point in time; its plain form counts microseconds since the epoch."""

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Instant | None) -> int | None:
        return None if obj is None else obj.to_epoch_milli() * 1000

    def from_internal_type(self, obj: int | None) -> Instant | None:
        return None if obj is None else Instant.of_epoch_milli(obj // 1000)


@dataclass(frozen=True, repr=False)
class PickledBytesTypeInfo(TypeInformation):
    """Any Python object; what a stream without a declared type carries."""

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"

    def label(self) -> str:
        return "PICKLED_BYTE_ARRAY"


def _integer_coercer(label: str, lowest: int, highest: int) -> Coercer:
    expected = f"{label} ({lowest} to {highest})"

    def integer(value: Any) -> Any:
        if type(value) is int:
            if lowest <= value <= highest:
                return value
            raise WrongValue(expected, value)
        if value is None:
            return None
        number = _whole(value)
        if number is None:
            raise WrongValue(label, value)
        return integer(number)

    return integer


def _whole(value: Any) -> int | None:
    """A number without its fraction, as PyFlink writes it; None: it is no number."""
    plain = plain_scalar(value)
    if not isinstance(plain, (int, float, Decimal)):
        return None
    try:
        return int(plain)
    except (ValueError, OverflowError):  # not a number, infinite
        return None


def _string(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    raise WrongValue("STRING", value)


def _boolean(value: Any) -> Any:
    if value is None or value is True or value is False:
        return value
    number = _whole(value)
    if number is None or not 0 <= number <= _BYTE:
        raise WrongValue("BOOLEAN", value)
    return number != 0


def _char(value: Any) -> Any:
    if value is None or (isinstance(value, str) and len(value) == 1):
        return value
    raise WrongValue("CHAR (a string of length 1)", value)


def _number(value: Any, label: str) -> float:
    plain = plain_scalar(value)
    if not isinstance(plain, (int, float, Decimal)):
        raise WrongValue(label, value)
    try:
        return float(plain)
    except OverflowError:
        raise WrongValue(label, value) from None


def _double(value: Any) -> Any:
    if type(value) is float or value is None:
        return value
    return _number(value, "DOUBLE")


def _float(value: Any) -> Any:
    if value is None:
        return None
    number = value if type(value) is float else _number(value, "FLOAT")
    return single(number)


def _big_int(value: Any) -> Any:
    if type(value) is int or value is None:
        return value
    plain = plain_scalar(value)
    if isinstance(plain, int) and not isinstance(plain, bool):
        return int(plain)
    raise WrongValue("BIG_INT", value)


def _big_dec(value: Any) -> Any:
    if value is None or isinstance(value, Decimal):
        return value
    plain = plain_scalar(value)
    if isinstance(plain, (int, float)) and not isinstance(plain, bool):
        return Decimal(str(plain))
    raise WrongValue("BIG_DEC", value)


def _instant(value: Any) -> Any:
    if value is None or isinstance(value, Instant):
        return value
    raise WrongValue("INSTANT", value)


_COERCERS: dict[BasicType, Coercer] = {
    BasicType.STRING: _string,
    BasicType.BOOLEAN: _boolean,
    BasicType.CHAR: _char,
    BasicType.FLOAT: _float,
    BasicType.DOUBLE: _double,
    BasicType.BIG_INT: _big_int,
    BasicType.BIG_DEC: _big_dec,
    BasicType.INSTANT: _instant,
}
