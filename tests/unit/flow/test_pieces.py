"""Records are worked off in pieces that take a moment."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.operator import Batch
from headrace.errors import CorruptState
from headrace.runtime.envelope import Envelope
from headrace.runtime.flow.parcels import RECORDS, Parcel, pack_kept, unpack_kept
from headrace.runtime.flow.pieces import Opened, Pace
from headrace.runtime.outbox import Outbox


def records(*counts: int) -> list[Any]:
    return [(7, 0, Batch(list(range(n)), list(range(n)), list(range(n)))) for n in counts]


@given(st.lists(st.integers(0, 30), max_size=5), st.integers(1, 10), st.integers(0, 8))
def test_a_parcel_in_pieces_is_the_parcel(counts, most, worked):
    parcel = Parcel(RECORDS, 3, 0, content=Envelope(records(*counts)).encode())
    opened = Opened(parcel)
    found = [opened.next_piece(most)[2] for _ in range(worked) if not opened.is_done]
    assert all(len(piece) <= most for piece in found)
    [rest] = unpack_kept(pack_kept([opened.rest()]))
    assert (rest.sender, rest.was_kept) == (3, True)
    again = Opened(rest)
    while not again.is_done:
        found.append(again.next_piece(most)[2])
    wanted = [value for n in counts for value in range(n)]
    for column in ("values", "timestamps", "keys"):
        assert [value for piece in found for value in getattr(piece, column)] == wanted


def test_a_file_of_kept_parcels_says_its_form():
    blob = pack_kept([Parcel(RECORDS, 3, 0, content=b"abc"), Parcel(RECORDS, 4, 0, content=b"")])
    assert blob.startswith(b"headrace records in flight 2\n")
    found = [(parcel.sender, parcel.content) for parcel in unpack_kept(blob)]
    assert found == [(3, b"abc"), (4, b"")]
    with pytest.raises(CorruptState, match="does not know: it begins with b'headrace records in"):
        list(unpack_kept(blob.replace(b"flight 2", b"flight 3")))


def test_files_of_kept_parcels_without_a_form_are_read():
    blob = bytes.fromhex(
        "00000000000000180000000003ffffffffffffffff0000000000000000616263"
        "00000000000000150000000004ffffffffffffffff0000000000000000"
    )  # fmt: skip
    found = list(unpack_kept(blob))
    assert [(parcel.sender, parcel.content) for parcel in found] == [(3, b"abc"), (4, b"")]
    assert all(parcel.was_kept for parcel in found)
    assert list(unpack_kept(b"")) == []


def test_the_pace_follows_what_records_cost():
    pace = Pace()
    for _ in range(20):
        pace.took(pace.records, pace.records * 1e-6)
    assert pace.records == 20_000
    for _ in range(20):
        pace.took(pace.records, pace.records * 1.0)
    assert pace.records == 1


def test_blobs_stay_below_a_size():
    outbox = Outbox(1, 0, is_last=False, tell=None)
    outbox.keep_below(64 * 100)
    outbox.pass_on(0, 7, 0, Batch(list(range(250))))
    blobs = [Envelope.decode(blob) for _, blob in outbox.take_waiting()]
    sizes = [sum(len(batch) for _, _, batch in blob.records) for blob in blobs]
    assert sizes == [100, 100, 50]
    values = [value for blob in blobs for _, _, batch in blob.records for value in batch.values]
    assert values == list(range(250))
