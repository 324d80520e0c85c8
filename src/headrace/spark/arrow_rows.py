"""Rows of one blob as Arrow batches.

`pyarrow.array` would do it, but looks whether it is given something of pandas and imports pandas
for that, which takes a new worker as long as all its other imports. A blob is a buffer already.
"""

from __future__ import annotations

import struct

import pyarrow as pa

_SLOT_AND_BLOB = pa.schema([("slot", pa.int32()), ("blob", pa.binary())])
_LARGEST = 2**31 - 1


def slot_and_blob(slot: int, blob: bytes) -> pa.RecordBatch:
    """A row for a slot."""
    return pa.RecordBatch.from_arrays([_number(slot), _binary(blob)], schema=_SLOT_AND_BLOB)


def _number(number: int) -> pa.Array:
    buffer = pa.py_buffer(struct.pack("=i", number))
    return pa.Array.from_buffers(pa.int32(), 1, [None, buffer])


def _binary(blob: bytes) -> pa.Array:
    if len(blob) > _LARGEST:
        return pa.array([blob], pa.binary())  # says what is wrong with it
    offsets = pa.py_buffer(struct.pack("=ii", 0, len(blob)))
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, pa.py_buffer(blob)])
