"""Blobs bring records, times and keys to the other side as they were."""

import pickle
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.operator import Batch
from headrace.core.types import TypeInformation, Types
from headrace.runtime.envelope import MARK, Envelope
from headrace.runtime.plain_records import is_plain, place_of_keys

ATOM = st.one_of(
    st.integers(), st.text(), st.floats(allow_nan=False), st.booleans(), st.none(), st.binary()
)
RECORD = st.one_of(ATOM, st.tuples(ATOM), st.tuples(ATOM, ATOM), st.lists(ATOM, max_size=2))


def sent(envelope: Envelope, *, plain: bool) -> Envelope:
    return Envelope.decode(envelope.encode(plain=plain))


@given(st.lists(st.tuples(RECORD, st.integers() | st.none(), ATOM)), st.booleans())
def test_everything_arrives(rows: list[tuple[Any, Any, Any]], plain: bool) -> None:
    values, stamps, keys = ([row[place] for row in rows] for place in range(3))
    envelope = Envelope([(3, 1, Batch(values, stamps, keys))], {7: {"split": (5, 0)}}, final=True)
    assert sent(envelope, plain=plain) == envelope


@given(st.lists(st.tuples(ATOM, ATOM), min_size=1), st.integers(0, 1), st.booleans())
def test_keys_that_are_a_field_of_their_record(
    values: list[tuple[Any, Any]], place: int, plain: bool
) -> None:
    keys = [value[place] for value in values]
    [(_, _, batch)] = sent(Envelope([(0, 0, Batch(values, None, keys))]), plain=plain).records
    assert batch.values == values
    assert list(map(repr, batch.keys)) == list(map(repr, keys))


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        ([("a", "b"), ("c", "d")], ["a", "d"]),  # not the same field of each
        ([("a",), "a"], ["a", "a"]),
        ([("a",), 5], ["a", "a"]),
        ([("b", "a"), ("a",)], ["a", "a"]),
        ([(), ("a",)], ["a", "a"]),
        (["a"], ["a"]),
        ([], []),
    ],
)
def test_keys_that_are_not(values: list[Any], keys: list[Any]) -> None:
    assert place_of_keys(values, keys) is None
    envelope = Envelope([(0, 0, Batch(values, None, keys))])
    assert sent(envelope, plain=True) == envelope


def test_watermarks_between_records_and_words_to_the_driver() -> None:
    envelope = Envelope(
        [(0, 0, Batch([1])), (MARK, 0, {1: {"a": (2, 3)}}), (0, 0, Batch([2]))],
        driver=[(1, 0, "kind", Decimal(1))],
    )
    assert sent(envelope, plain=True) == envelope
    assert sent(envelope, plain=False) == envelope


def test_plain_records_are_smaller_without_references() -> None:
    values = [(f"user {number}", number) for number in range(1000)]
    keys = [value[0] for value in values]
    envelope = Envelope([(0, 0, Batch(values, None, keys))])
    assert len(envelope.encode(plain=True)) < len(envelope.encode(plain=False))


def test_a_long_text_that_records_share_is_sent_once() -> None:
    text = "x" * 10_000
    envelope = Envelope([(0, 0, Batch([(text, number) for number in range(1000)]))])
    assert len(envelope.encode(plain=True)) < 100_000
    assert sent(envelope, plain=True) == envelope


def test_keys_that_are_objects_are_not_taken_for_plain() -> None:
    key = Decimal("1.5")
    envelope = Envelope([(0, 0, Batch([1, 2], None, [key, key]))])
    blob = envelope.encode(plain=True)
    assert blob.count(b"Decimal") == 1
    assert pickle.loads(blob)[0][0][4] == [key, key]


@pytest.mark.parametrize(
    ("kind", "plain"),
    [
        (Types.STRING(), True),
        (Types.FLOAT(), True),
        (Types.TUPLE([Types.STRING(), Types.LONG()]), True),
        (Types.TUPLE([Types.STRING(), Types.TUPLE([Types.LONG()])]), False),
        (Types.TUPLE([Types.STRING(), Types.LIST(Types.LONG())]), False),
        (Types.BIG_DEC(), False),
        (Types.INSTANT(), False),
        (Types.ROW([Types.STRING()]), False),
        (Types.PICKLED_BYTE_ARRAY(), False),
        (None, False),
    ],
)
def test_types_of_plain_records(kind: TypeInformation | None, plain: bool) -> None:
    assert is_plain(kind) is plain
