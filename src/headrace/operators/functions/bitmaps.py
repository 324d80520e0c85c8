"""Functions of bitmaps: sets of 32-bit integers, ordered as unsigned numbers.

Their bytes are those of the open Roaring format: numbers with equal upper halves share a container
of lower halves, a sorted list if there are few, a bit field if there are many.
"""

from __future__ import annotations

import struct
from itertools import groupby
from typing import Any

from headrace.errors import InvalidArgument

Bitmap = frozenset[int]
_COOKIE, _COOKIE_WITH_RUNS = 12346, 12347
_LIST_LIMIT = 4096
_FIELD_BYTES = 8192
_NO_OFFSETS_BELOW = 4


def build(values: tuple[int | None, ...]) -> Bitmap:
    """NULLs are left out."""
    return frozenset(value for value in values if value is not None)


def intersection(left: Bitmap, right: Bitmap) -> Bitmap:
    return left & right


def union(left: Bitmap, right: Bitmap) -> Bitmap:
    return left | right


def exclusive(left: Bitmap, right: Bitmap) -> Bitmap:
    return left ^ right


def difference(left: Bitmap, right: Bitmap) -> Bitmap:
    return left - right


def to_array(bitmap: Bitmap) -> tuple[int, ...]:
    return tuple(_signed(number) for number in unsigned(bitmap))


def to_text(bitmap: Bitmap) -> str:
    return f"{{{','.join(map(str, unsigned(bitmap)))}}}"


def unsigned(bitmap: Bitmap) -> list[int]:
    return sorted(value % 2**32 for value in bitmap)


def _signed(number: int) -> int:
    return number - 2**32 if number >= 2**31 else number


def to_bytes(bitmap: Bitmap) -> bytes:
    containers = [
        (upper, [number & 0xFFFF for number in group])
        for upper, group in groupby(unsigned(bitmap), key=lambda number: number >> 16)
    ]
    bodies = [_container(lower) for _upper, lower in containers]
    header = _header([is_runs for _body, is_runs in bodies])
    header += b"".join(struct.pack("<HH", upper, len(low) - 1) for upper, low in containers)
    if not any(is_runs for _body, is_runs in bodies) or len(bodies) >= _NO_OFFSETS_BELOW:
        offset = len(header) + 4 * len(bodies)
        for body, _is_runs in bodies:
            header += struct.pack("<I", offset)
            offset += len(body)
    return header + b"".join(body for body, _is_runs in bodies)


def _header(runs: list[bool]) -> bytes:
    if not any(runs):
        return struct.pack("<II", _COOKIE, len(runs))
    flags = sum(1 << at for at, is_runs in enumerate(runs) if is_runs)
    cookie = struct.pack("<I", _COOKIE_WITH_RUNS | (len(runs) - 1) << 16)
    return cookie + flags.to_bytes((len(runs) + 7) // 8, "little")


def _container(lower: list[int]) -> tuple[bytes, bool]:
    """Its bytes, and whether it is written as runs, because that is shortest."""
    starts = [low for at, low in enumerate(lower) if at == 0 or lower[at - 1] != low - 1]
    ends = [low for at, low in enumerate(lower) if low + 1 not in lower[at + 1 : at + 2]]
    size = min(2 * len(lower) + 2, _FIELD_BYTES)
    if 2 + 4 * len(starts) < size:
        bounds = zip(starts, ends, strict=True)
        runs = b"".join(struct.pack("<HH", start, end - start) for start, end in bounds)
        return struct.pack("<H", len(starts)) + runs, True
    if len(lower) <= _LIST_LIMIT:
        return struct.pack(f"<{len(lower)}H", *lower), False
    field = 0
    for number in lower:
        field |= 1 << number
    return field.to_bytes(_FIELD_BYTES, "little"), False


def from_bytes(data: bytes) -> Bitmap:
    try:
        return _Reader(data).bitmap()
    except struct.error:
        raise InvalidArgument(
            "BITMAP_FROM_BYTES was given bytes that are no bitmap",
            hint="It reads what BITMAP_TO_BYTES wrote, which is the portable Roaring format.",
        ) from None


class _Reader:
    def __init__(self, data: bytes):
        self._data = data
        self._at = 0

    def _take(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return found

    def bitmap(self) -> Bitmap:
        (cookie,) = self._take("<I")
        count, runs = self._shape(cookie)
        headers = [self._take("<HH") for _ in range(count)]
        if cookie == _COOKIE or count >= _NO_OFFSETS_BELOW:
            self._take(f"<{count}I")
        numbers = (
            (upper << 16) + low
            for at, (upper, less_one) in enumerate(headers)
            for low in self._lower(less_one + 1, at in runs)
        )
        return frozenset(map(_signed, numbers))

    def _shape(self, cookie: int) -> tuple[int, set[int]]:
        """The number of containers, and which of them are runs."""
        if cookie == _COOKIE:
            return self._take("<I")[0], set()
        if cookie & 0xFFFF != _COOKIE_WITH_RUNS:
            raise struct.error("unknown cookie")
        count = (cookie >> 16) + 1
        flags = self._take(f"<{(count + 7) // 8}B")
        return count, {at for at in range(count) if flags[at // 8] >> at % 8 & 1}

    def _lower(self, size: int, is_runs: bool) -> list[int]:
        if is_runs:
            (count,) = self._take("<H")
            bounds = [self._take("<HH") for _ in range(count)]
            return [low for start, more in bounds for low in range(start, start + more + 1)]
        if size <= _LIST_LIMIT:
            return list(self._take(f"<{size}H"))
        field = int.from_bytes(self._take(f"<{_FIELD_BYTES}s")[0], "little")
        return [at for at in range(2**16) if field >> at & 1]
