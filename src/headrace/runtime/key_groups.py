"""Key groups of many keys at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from headrace.core.keys import MIX, key_group

_PLAIN_BELOW = 2**61 - 1
"""Whole numbers from 0 up to here are their own hash."""


def key_groups(keys: Callable[[], list[Any]], max_parallelism: int, column: pa.Array) -> pa.Array:
    """The key group of each key; whole numbers without a loop in Python.

    `column` holds the keys as they are stored; `keys` gives them if that does not do.
    """
    hashes = _hashes(keys, column)
    if hashes is None:
        return pa.array([key_group(key, max_parallelism) for key in keys()], pa.int32())
    mixed = pc.multiply(hashes, pa.scalar(MIX, pa.uint64()))
    upper = pc.shift_right(mixed, pa.scalar(32, pa.uint64()))
    count = pa.scalar(max_parallelism, pa.uint64())
    whole = pc.multiply(pc.divide(upper, count), count)
    return pc.subtract(upper, whole).cast(pa.int32())


def _hashes(keys: Callable[[], list[Any]], column: pa.Array) -> pa.Array | None:
    """What core.keys calculates for one key before it is mixed; None: ask there."""
    if not len(column) or column.null_count:
        return None
    if column.type == pa.int64():
        ends = pc.min_max(column).as_py()
        return column.cast(pa.uint64()) if 0 <= ends["min"] <= ends["max"] < _PLAIN_BELOW else None
    if column.type == pa.string():
        texts = keys()  # not only strings are stored as text
        if set(map(type, texts)) == {str}:
            return pa.array([crc32(key.encode("utf-8", "surrogatepass")) for key in texts],
                            pa.uint64())  # fmt: skip
    return None
