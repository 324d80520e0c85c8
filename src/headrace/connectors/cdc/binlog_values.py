"""Values in rows of the binary log, as the texts that the database shows; numbers as they are."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.connectors.cdc import binlog_types as bt
from headrace.connectors.cdc.binlog_json import json_text
from headrace.connectors.cdc.binlog_types import ColumnType

Read = Callable[[bytes, int], tuple[Any, int]]
"""A value at a place, and where it ends."""
_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")
_BINARY = 63
"""The collation of bytes."""
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_DIGITS_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
_CODECS = {
    **dict.fromkeys(("utf8", "utf8mb3", "utf8mb4"), "utf-8"),
    **dict.fromkeys(("ucs2", "utf16"), "utf-16-be"),
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "ascii": "ascii",
    "latin1": "cp1252",
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin7": "iso8859-13",
    "greek": "iso8859-7",
    "hebrew": "iso8859-8",
    "koi8r": "koi8-r",
    "koi8u": "koi8-u",
    **{name: name for name in ("cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866")},
    **{name: name for name in ("gbk", "gb2312", "gb18030", "big5", "cp932")},
    "sjis": "shift-jis",
    "ujis": "euc-jp",
    "eucjpms": "euc-jp",
    "euckr": "euc-kr",
    "tis620": "tis-620",
}
_INTEGER_SIZES = {bt.TINY: 1, bt.SHORT: 2, bt.INT24: 3, bt.LONG: 4, bt.LONGLONG: 8}


class UnreadableColumn(Exception):
    """A column whose values cannot be read; why."""


def reader_of(column: ColumnType, charsets: Mapping[int, str]) -> Read:
    """Reads values of a column. `charsets`: by collation."""
    code, (first, second) = column.code, column.meta
    if code in _INTEGER_SIZES:
        return _integers(_INTEGER_SIZES[code], signed=not column.unsigned)
    match code:
        case bt.FLOAT:
            return lambda data, at: (_FLOAT.unpack_from(data, at)[0], at + 4)
        case bt.DOUBLE:
            return lambda data, at: (_DOUBLE.unpack_from(data, at)[0], at + 8)
        case bt.NEWDECIMAL:
            size = decimal_size(first, second)
            return lambda data, at: (decimal_text(data[at : at + size], first, second), at + size)
        case bt.YEAR:
            return lambda data, at: (f"{data[at] + 1900 if data[at] else 0:04d}", at + 1)
        case bt.DATE | bt.NEWDATE:
            return _date
        case bt.TIME2 | bt.DATETIME2 | bt.TIMESTAMP2:
            return _moments(code, first)
        case bt.BIT:
            return _fixed((second * 8 + first + 7) // 8, None)
        case bt.ENUM:
            return _choices(column, charsets)
        case bt.SET:
            return _choice_sets(column, charsets)
        case bt.STRING | bt.VARCHAR | bt.VAR_STRING:
            return _characters(column, charsets)
        case bt.BLOB:
            return _sized(first, _decoder(column, charsets))
        case bt.JSON:
            return _sized(first, lambda data: json_text(data, decimal_text))
    raise UnreadableColumn(f"its type (number {code}) is not known")


def skipper_of(column: ColumnType) -> Read:
    """Passes over values of a column that nobody asks for."""
    if column.code in (*bt.WITH_LENGTH_BYTES, bt.COMPRESSED_VARCHAR):
        size = column.meta[0]
        if column.code == bt.COMPRESSED_VARCHAR:
            size = 1 if column.meta[0] < 256 else 2
        return _sized(size, None)
    if column.code in (bt.ENUM, bt.SET):
        return _fixed(column.meta[0], None)
    return reader_of(column, {})


def _integers(size: int, *, signed: bool) -> Read:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        return int.from_bytes(data[at : at + size], "little", signed=signed), at + size

    return read


def _fixed(size: int, decode: Callable[[bytes], Any] | None) -> Read:
    if decode is None:
        return lambda data, at: (data[at : at + size], at + size)
    return lambda data, at: (decode(data[at : at + size]), at + size)


def _sized(length_bytes: int, decode: Callable[[bytes], Any] | None) -> Read:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        start = at + length_bytes
        end = start + int.from_bytes(data[at:start], "little")
        found = data[start:end]
        return (found if decode is None else decode(found)), end

    return read


def _decoder(column: ColumnType, charsets: Mapping[int, str]) -> Callable[[bytes], Any] | None:
    if not charsets or column.collation in (None, _BINARY):
        return None
    charset = charsets.get(column.collation)
    codec = _CODECS.get(charset or "")
    if codec is None:
        raise UnreadableColumn(f"its character set is {charset or column.collation}")
    if charset == "latin1":  # MySQL's has a character for every byte
        return _latin1
    return lambda data: data.decode(codec)


def _latin1(data: bytes) -> str:
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        return "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in data)


def _characters(column: ColumnType, charsets: Mapping[int, str]) -> Read:
    size = column.meta[0]
    decode = _decoder(column, charsets)
    if column.code == bt.STRING and column.collation == _BINARY:
        return _sized(1 if size < 256 else 2, lambda data: data.ljust(size, b"\0"))
    return _sized(1 if size < 256 else 2, decode)


def _texts(column: ColumnType, charsets: Mapping[int, str]) -> list[Any]:
    decode = _decoder(column, charsets)
    return list(column.texts) if decode is None else [decode(text) for text in column.texts]


def _choices(column: ColumnType, charsets: Mapping[int, str]) -> Read:
    texts, size = ["", *_texts(column, charsets)], column.meta[0]
    return _fixed(size, lambda data: texts[int.from_bytes(data, "little")])


def _choice_sets(column: ColumnType, charsets: Mapping[int, str]) -> Read:
    texts, size = _texts(column, charsets), column.meta[0]

    def decode(data: bytes) -> str:
        number = int.from_bytes(data, "little")
        return ",".join(text for at, text in enumerate(texts) if number >> at & 1)

    return _fixed(size, decode)


def _date(data: bytes, at: int) -> tuple[str, int]:
    days = int.from_bytes(data[at : at + 3], "little")
    return f"{days >> 9:04d}-{days >> 5 & 15:02d}-{days & 31:02d}", at + 3


def _moments(code: int, digits: int) -> Read:
    """TIME, DATETIME and TIMESTAMP: big-endian, the fraction in as many bytes as it needs."""
    extra = (digits + 1) // 2
    decode = {bt.TIME2: _time_text, bt.DATETIME2: _datetime_text, bt.TIMESTAMP2: _timestamp_text}
    size = {bt.TIME2: 3, bt.DATETIME2: 5, bt.TIMESTAMP2: 4}[code] + extra

    def read(data: bytes, at: int) -> tuple[str, int]:
        number = int.from_bytes(data[at : at + size], "big")
        return decode[code](number, size, extra, digits), at + size

    return read


def _split(number: int, extra: int, digits: int) -> tuple[int, str]:
    whole, fraction = number >> 8 * extra, number & (1 << 8 * extra) - 1
    return whole, f".{fraction:0{2 * extra}d}"[: digits + 1] if digits else ""


def _clock(number: int) -> str:
    return f"{number >> 12 & 0x3FF:02d}:{number >> 6 & 63:02d}:{number & 63:02d}"


def _time_text(number: int, size: int, extra: int, digits: int) -> str:
    number -= 1 << 8 * size - 1
    whole, fraction = _split(abs(number), extra, digits)
    return f"{'-' if number < 0 else ''}{_clock(whole)}{fraction}"


def _datetime_text(number: int, size: int, extra: int, digits: int) -> str:
    whole, fraction = _split(number - (1 << 8 * size - 1), extra, digits)
    days = whole >> 17
    months = days >> 5
    date = f"{months // 13:04d}-{months % 13:02d}-{days & 31:02d}"
    return f"{date} {_clock(whole & 0x1FFFF)}{fraction}"


def _timestamp_text(number: int, size: int, extra: int, digits: int) -> str:
    """In UTC."""
    seconds, fraction = _split(number, extra, digits)
    if number == 0:
        return f"0000-00-00 00:00:00{fraction}"
    days, rest = divmod(seconds, 86_400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{datetime.date.fromordinal(_EPOCH_DAY + days)} {clock}{fraction}"


def decimal_size(precision: int, scale: int) -> int:
    whole = precision - scale
    return sum(4 * (part // 9) + _DIGITS_BYTES[part % 9] for part in (whole, scale))


def decimal_text(data: bytes, precision: int, scale: int) -> str:
    """Groups of nine digits in four bytes each; the first bit is the sign."""
    positive = data[0] & 0x80
    flipped = bytes([data[0] ^ 0x80, *data[1:]])
    if not positive:
        flipped = bytes(byte ^ 0xFF for byte in flipped)
    whole = precision - scale
    first = [whole % 9] if whole % 9 else []
    groups = [*first, *[9] * (whole // 9), *[9] * (scale // 9)]
    groups += [scale % 9] if scale % 9 else []
    digits, at = "", 0
    for group in groups:
        size = _DIGITS_BYTES[group]
        digits += f"{int.from_bytes(flipped[at : at + size], 'big'):0{group}d}"
        at += size
    sign = "" if positive else "-"
    text = digits[:whole].lstrip("0") or "0"
    return f"{sign}{text}.{digits[whole:]}" if scale else f"{sign}{text}"


class RowReader:
    """Reads rows of a table that was as its map says; the columns that are asked for, in order."""

    def __init__(
        self, columns: Sequence[ColumnType], places: Sequence[int], charsets: Mapping[int, str]
    ):
        self._places = places
        self._reads: list[Read] = []
        for at, column in enumerate(columns):
            try:
                wanted = at in places
                self._reads.append(reader_of(column, charsets) if wanted else skipper_of(column))
            except UnreadableColumn as why:
                raise UnreadableColumn(f"has the column {column.name!r}: {why}") from None

    def read(self, data: bytes, at: int, present: Sequence[int]) -> tuple[list[Any], int]:
        nulls_size = (len(present) + 7) // 8
        nulls = int.from_bytes(data[at : at + nulls_size], "little")
        at += nulls_size
        values: list[Any] = [None] * len(self._reads)
        for number, place in enumerate(present):
            if not nulls >> number & 1:
                values[place], at = self._reads[place](data, at)
        return [values[place] for place in self._places], at
