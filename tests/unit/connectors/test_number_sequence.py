"""Number sequences: every number once, in parallel ranges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Types
from headrace.connectors.number_sequence import READ_IN_ONE_BATCH
from headrace.core.source import Boundedness, Source
from headrace.datastream.connectors import NumberSequenceSource
from headrace.errors import InvalidArgument, TypeMismatch


def ranges(source: Source) -> list[tuple[int, int]]:
    enumerator = source.create_enumerator()
    found = []
    for split in enumerator.splits():
        start = enumerator.initial_position(split)
        while (end := enumerator.latest_position(split, start)) != start:
            found.append((start, end))
            start = end
    return found


@given(st.integers(-(10**18), 10**18), st.integers(0, 10_000))
def test_every_number_once_and_in_order(start, more):
    source = NumberSequenceSource(start, start + more)
    reader = source.create_reader()
    numbers = [n for first, end in ranges(source) for n in reader.read(None, first, end)]
    assert numbers == list(range(start, start + more + 1))


def test_long_sequences_come_in_bounded_pieces():
    pieces = ranges(NumberSequenceSource(0, 20 * READ_IN_ONE_BATCH))
    assert len(pieces) >= 20
    assert max(end - start for start, end in pieces) <= READ_IN_ONE_BATCH


def test_all_longs_are_still_few_pieces():
    enumerator = NumberSequenceSource(-(2**63), 2**63 - 1).create_enumerator()
    [first, *_] = enumerator.splits()
    assert enumerator.latest_position(first, -(2**63)) - -(2**63) > 2**50


def test_it_is_a_bounded_source_of_longs():
    source = NumberSequenceSource(1, 1)
    assert source.boundedness() is Boundedness.BOUNDED
    assert source.produced_type() == Types.LONG()


def test_start_after_end():
    with pytest.raises(InvalidArgument, match="cannot start at 2 and end at 1"):
        NumberSequenceSource(2, 1)


@pytest.mark.parametrize("bound", ["1", 1.0, True, None])
def test_what_is_no_number(bound):
    with pytest.raises(TypeMismatch, match="must be a whole number"):
        NumberSequenceSource(bound, 5)
