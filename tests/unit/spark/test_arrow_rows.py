"""Blobs as rows: the same as Arrow would make them, without pandas."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from headrace.spark.arrow_rows import slot_and_blob

BLOBS = [b"", b"\x00", b"some bytes", bytes(range(256)) * 100]


@pytest.mark.parametrize("blob", BLOBS, ids=len)
@pytest.mark.parametrize("slot", [-1, 0, 1, 2**31 - 1])
def test_a_row_for_a_slot(slot: int, blob: bytes) -> None:
    rows = slot_and_blob(slot, blob)
    rows.validate(full=True)
    assert rows.equals(
        pa.RecordBatch.from_arrays(
            [pa.array([slot], pa.int32()), pa.array([blob], pa.binary())], names=["slot", "blob"]
        )
    )


def test_pandas_is_left_alone() -> None:
    program = (
        "import sys; from headrace.spark.arrow_rows import slot_and_blob; slot_and_blob(0, b'a'); "
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
