"""Columns as the binary log describes them (binlog_row_metadata = FULL)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

TINY, SHORT, LONG, FLOAT, DOUBLE = 1, 2, 3, 4, 5
LONGLONG, INT24, DATE, YEAR, NEWDATE = 8, 9, 10, 13, 14
VARCHAR, BIT, TIMESTAMP2, DATETIME2, TIME2 = 15, 16, 17, 18, 19
VECTOR, JSON, NEWDECIMAL, ENUM, SET, BLOB = 242, 245, 246, 247, 248, 252
VAR_STRING, STRING, GEOMETRY = 253, 254, 255
COMPRESSED_BLOB, COMPRESSED_VARCHAR = 140, 141
WITH_LENGTH_BYTES = (BLOB, JSON, GEOMETRY, VECTOR, COMPRESSED_BLOB)
_METADATA_SIZES = {
    **dict.fromkeys((FLOAT, DOUBLE, TIMESTAMP2, DATETIME2, TIME2, *WITH_LENGTH_BYTES), 1),
    **dict.fromkeys((VARCHAR, VAR_STRING, STRING, BIT, NEWDECIMAL, COMPRESSED_VARCHAR), 2),
}
_NUMBERS = (TINY, SHORT, INT24, LONG, LONGLONG, FLOAT, DOUBLE, NEWDECIMAL)
_CHARACTERS = (VARCHAR, VAR_STRING, STRING, BLOB, COMPRESSED_BLOB, COMPRESSED_VARCHAR)
_SIGNEDNESS, _DEFAULT_CHARSET, _COLUMN_CHARSET, _NAMES, _SET_TEXTS, _ENUM_TEXTS = 1, 2, 3, 4, 5, 6
_ENUM_DEFAULT_CHARSET, _ENUM_COLUMN_CHARSET = 10, 11


@dataclass(frozen=True)
class ColumnType:
    code: int
    meta: tuple[int, int] = (0, 0)
    """What the log says of the type: sizes, or digits."""
    name: str = ""
    """Empty: the log does not say it."""
    unsigned: bool = False
    collation: int | None = None
    texts: tuple[bytes, ...] = ()
    """Of an ENUM or a SET."""


def take_length(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    first = data[at]
    if first < 251:
        return first, at + 1
    size = {252: 2, 253: 3, 254: 8}[first]
    return int.from_bytes(data[at + 1 : at + 1 + size], "little"), at + 1 + size


def _take_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = take_length(data, at)
    return data[at : at + size], at + size


def read_columns(body: bytes, at: int, *, of_mariadb: bool) -> tuple[ColumnType, ...]:
    count, at = take_length(body, at)
    codes = body[at : at + count]
    meta, at = _take_bytes(body, at + count)
    columns, used = [], 0
    for code in codes:
        size = _METADATA_SIZES.get(code, 0)
        columns.append(_column(code, meta[used : used + size]))
        used += size
    at += (count + 7) // 8
    more: dict[int, bytes] = {}
    while at < len(body):
        kind = body[at]
        more[kind], at = _take_bytes(body, at + 1)
    return tuple(_with_more(columns, more, of_mariadb=of_mariadb))


def _column(code: int, meta: bytes) -> ColumnType:
    if code == STRING:
        first, second = meta
        if first & 0x30 != 0x30:  # two bits of the length are there
            return ColumnType(first | 0x30, (second | ((first & 0x30) ^ 0x30) << 4, 0))
        return ColumnType(first, (second, 0))
    if code in (VARCHAR, VAR_STRING, COMPRESSED_VARCHAR):
        return ColumnType(code, (int.from_bytes(meta, "little"), 0))
    first, second = (*meta, 0, 0)[:2]
    return ColumnType(code, (first, second))


def _with_more(
    columns: list[ColumnType], more: dict[int, bytes], *, of_mariadb: bool
) -> list[ColumnType]:
    found = list(columns)
    numbers = (*_NUMBERS, YEAR) if of_mariadb else _NUMBERS
    for number, at in enumerate(_places(found, numbers)):
        flags = more.get(_SIGNEDNESS, b"")
        if number // 8 < len(flags):
            found[at] = replace(found[at], unsigned=bool(flags[number // 8] >> 7 - number % 8 & 1))
    characters = (*_CHARACTERS, GEOMETRY) if of_mariadb else _CHARACTERS
    _set_collations(found, _places(found, characters), more, _DEFAULT_CHARSET, _COLUMN_CHARSET)
    of_texts = _places(found, (ENUM, SET))
    _set_collations(found, of_texts, more, _ENUM_DEFAULT_CHARSET, _ENUM_COLUMN_CHARSET)
    for kind, code in ((_SET_TEXTS, SET), (_ENUM_TEXTS, ENUM)):
        lists = _text_lists(more.get(kind, b""))
        for at, texts in zip(_places(found, (code,)), lists, strict=False):
            found[at] = replace(found[at], texts=texts)
    names = list(_texts(more.get(_NAMES, b"")))
    return [replace(each, name=name.decode()) for each, name in zip(found, names, strict=False)] + (
        found[len(names) :]
    )


def _places(columns: list[ColumnType], codes: tuple[int, ...]) -> list[int]:
    return [at for at, column in enumerate(columns) if column.code in codes]


def _set_collations(
    columns: list[ColumnType],
    places: list[int],
    more: dict[int, bytes],
    by_default: int,
    by_column: int,
) -> None:
    """Either one for all with exceptions, or one for each."""
    if by_default in more:
        default, *pairs = _lengths(more[by_default])
        others = dict(zip(pairs[::2], pairs[1::2], strict=True))
        chosen = [others.get(number, default) for number in range(len(places))]
    else:
        chosen = list(_lengths(more.get(by_column, b"")))
    for at, collation in zip(places, chosen, strict=False):
        columns[at] = replace(columns[at], collation=collation)


def _lengths(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        found, at = take_length(data, at)
        yield found


def _texts(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        found, at = _take_bytes(data, at)
        yield found


def _text_lists(data: bytes) -> Iterator[tuple[bytes, ...]]:
    at = 0
    while at < len(data):
        count, at = take_length(data, at)
        texts = []
        for _ in range(count):
            text, at = _take_bytes(data, at)
            texts.append(text)
        yield tuple(texts)
