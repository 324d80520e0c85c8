"""MySQL's binary form of JSON, as the text that the server shows."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable

from headrace.connectors.cdc.binlog_types import DATE, DATETIME2, NEWDECIMAL, TIME2
from headrace.connectors.cdc.binlog_types import TIMESTAMP2 as TIMESTAMP

_SMALL_OBJECT, _LARGE_OBJECT, _SMALL_ARRAY, _LARGE_ARRAY, _LITERAL = 0, 1, 2, 3, 4
_LITERALS = {0: "null", 1: "true", 2: "false"}
_NUMBERS = {
    5: struct.Struct("<h"),
    6: struct.Struct("<H"),
    7: struct.Struct("<i"),
    8: struct.Struct("<I"),
    9: struct.Struct("<q"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<d"),
}
_INLINE = (_LITERAL, 5, 6)
_INLINE_IF_LARGE = (7, 8)
_OLD_TIME, _OLD_DATETIME, _OLD_TIMESTAMP = 11, 12, 7


def json_text(data: bytes, read_decimal: Callable[[bytes, int, int], str]) -> str:
    return _Json(data, read_decimal).text() if data else "null"


class _Json:
    def __init__(self, data: bytes, read_decimal: Callable[[bytes, int, int], str]):
        self._data = data
        self._read_decimal = read_decimal

    def text(self) -> str:
        return self._value(self._data[0], 1)

    def _value(self, kind: int, at: int) -> str:
        match kind:
            case 0 | 1 | 2 | 3:
                return self._container(kind, at)
            case 4:
                return _LITERALS[self._data[at]]
            case 12:
                size, at = self._length(at)
                return json.dumps(self._data[at : at + size].decode(), ensure_ascii=False)
            case 15:
                size, start = self._length(at + 1)
                return self._opaque(self._data[at], self._data[start : start + size])
        (number,) = _NUMBERS[kind].unpack_from(self._data, at)
        return _double_text(number) if isinstance(number, float) else str(number)

    def _container(self, kind: int, base: int) -> str:
        large = kind in (_LARGE_OBJECT, _LARGE_ARRAY)
        size = 4 if large else 2
        count = self._number(base, size)
        at = base + 2 * size
        keys = []
        if kind in (_SMALL_OBJECT, _LARGE_OBJECT):
            for _ in range(count):
                start = base + self._number(at, size)
                name = self._data[start : start + self._number(at + size, 2)].decode()
                keys.append(json.dumps(name, ensure_ascii=False))
                at += size + 2
        values = []
        for _ in range(count):
            inner = self._data[at]
            inline = inner in _INLINE or (large and inner in _INLINE_IF_LARGE)
            place = at + 1 if inline else base + self._number(at + 1, size)
            values.append(self._value(inner, place))
            at += 1 + size
        if kind in (_SMALL_OBJECT, _LARGE_OBJECT):
            pairs = (f"{key}: {value}" for key, value in zip(keys, values, strict=True))
            return "{" + ", ".join(pairs) + "}"
        return "[" + ", ".join(values) + "]"

    def _number(self, at: int, size: int) -> int:
        return int.from_bytes(self._data[at : at + size], "little")

    def _length(self, at: int) -> tuple[int, int]:
        size = shift = 0
        while True:
            byte = self._data[at]
            size |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return size, at

    def _opaque(self, kind: int, data: bytes) -> str:
        """What has a type of SQL's within JSON."""
        match kind:
            case _ if kind == NEWDECIMAL:
                return self._read_decimal(data[2:], data[0], data[1])
            case _ if kind in (DATE, _OLD_DATETIME, _OLD_TIMESTAMP, DATETIME2, TIMESTAMP):
                return f'"{_moment_text(data, date_only=kind == DATE)}"'
            case _ if kind in (_OLD_TIME, TIME2):
                return f'"{_time_text(data)}"'
        return f'"base64:type{kind}:{base64.b64encode(data).decode()}"'


def _double_text(number: float) -> str:
    """As the server shows it: with a point, and exponents without plus and zeros."""
    text = repr(number)
    if "e" in text:
        digits, _, exponent = text.partition("e")
        return f"{digits}e{int(exponent)}"
    return text


def _moment_text(data: bytes, *, date_only: bool) -> str:
    (number,) = struct.unpack("<q", data)
    whole, micros = number >> 24, number & 0xFFFFFF
    days, seconds = whole >> 17, whole & 0x1FFFF
    months, day = days >> 5, days & 31
    date = f"{months // 13:04d}-{months % 13:02d}-{day:02d}"
    return date if date_only else f"{date} {_clock(seconds)}.{micros:06d}"


def _time_text(data: bytes) -> str:
    (number,) = struct.unpack("<q", data)
    sign, number = ("-" if number < 0 else ""), abs(number)
    return f"{sign}{_clock(number >> 24)}.{number & 0xFFFFFF:06d}"


def _clock(number: int) -> str:
    return f"{number >> 12 & 0x3FF:02d}:{number >> 6 & 63:02d}:{number & 63:02d}"
