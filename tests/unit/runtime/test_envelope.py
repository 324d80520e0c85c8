"""Blobs bring records, times and keys to the other side as they were."""

import enum
import pickle
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.operator import Batch
from headrace.runtime.envelope import MARK, Envelope
from headrace.runtime.plain_records import ITSELF, dumps_plain, place_of

ATOM = st.one_of(
    st.integers(), st.text(), st.floats(allow_nan=False), st.booleans(), st.none(), st.binary()
)
PLAIN = st.one_of(
    st.lists(st.text()), st.lists(st.integers()), st.lists(st.tuples(ATOM, ATOM)),
    st.lists(st.tuples(st.tuples(ATOM), ATOM)), st.lists(st.tuples()),
)  # fmt: skip
LOOSE = st.lists(st.one_of(ATOM, st.tuples(ATOM), st.tuples(ATOM, ATOM), st.lists(ATOM)))


def sent(envelope: Envelope) -> Envelope:
    return Envelope.decode(envelope.encode())


def arrives(batch: Batch) -> bool:
    mark = (MARK, 0, {7: {"split": (5, 0)}})
    (target, side, found), then = sent(Envelope([(3, 1, batch), mark])).records
    parts = [(each.values, each.timestamps, each.keys) for each in (batch, found)]
    return (target, side, then) == (3, 1, mark) and repr(parts[0]) == repr(parts[1])


@given(st.data(), st.booleans())
def test_everything_arrives(data: st.DataObject, plain: bool) -> None:
    values: list[Any] = data.draw(PLAIN if plain else LOOSE)
    size = len(values)
    stamps = data.draw(
        st.none() | st.lists(st.integers() | st.none(), min_size=size, max_size=size)
    )
    keys = data.draw(st.none() | st.lists(ATOM, min_size=size, max_size=size))
    assert arrives(Batch(values, stamps, keys, plain=plain))


@given(st.lists(st.tuples(ATOM, ATOM), min_size=1), st.integers(0, 1), st.booleans())
def test_keys_that_are_a_field_of_their_record(
    values: list[tuple[Any, Any]], place: int, plain: bool
) -> None:
    keys = [value[place] for value in values]
    assert arrives(Batch(values, None, keys, plain=plain))


def test_records_that_are_their_own_keys() -> None:
    texts = [f"text {number}" for number in range(1000)]
    batch = Batch(texts, None, list(texts), plain=True)
    assert place_of(batch.keys, batch) == ITSELF
    assert arrives(batch)
    assert len(Envelope([(0, 0, batch)]).encode()) < len(pickle.dumps(texts)) * 1.1


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        ([("a", "b"), ("c", "d")], ["a", "d"]),  # not the same field of each
        ([("a", "b"), ("c", "d")], ["x", "y"]),
        (["a", "b"], ["a", "a"]),
        ([(), ()], [None, None]),
        ([], []),
    ],
)
def test_keys_that_are_not(values: list[Any], keys: list[Any]) -> None:
    batch = Batch(values, None, keys, plain=True)
    assert place_of(batch.keys, batch) is None
    assert arrives(batch)


@pytest.mark.parametrize("stamps", [
    [1 << 40, -(1 << 63)], [None, 7], [None, None], [(1 << 63) - 1, 0], [1 << 63, 1]])  # fmt: skip
@pytest.mark.parametrize("plain", [True, False])
def test_timestamps(stamps: list[int | None], plain: bool) -> None:
    assert arrives(Batch(["a", "b"], stamps, plain=plain))


def test_timestamps_that_records_have_are_not_sent_again() -> None:
    texts = [(f"text {number}", (1 << 40) + number) for number in range(1000)]
    batch = Batch(texts, [stamp for _, stamp in texts], plain=True)
    assert arrives(batch)
    assert len(Envelope([(0, 0, batch)]).encode()) < len(pickle.dumps(texts)) * 1.1


class Untouchable:
    def __getitem__(self, place: int) -> Any:
        raise ValueError("not to be looked into")

    def __repr__(self) -> str:
        return "untouchable"


def test_records_of_unknown_kind_are_not_looked_into() -> None:
    assert arrives(Batch([("a", 1), Untouchable()], None, ["a", "a"]))


def test_watermarks_between_records_and_words_to_the_driver() -> None:
    envelope = Envelope(
        [(0, 0, Batch([1])), (MARK, 0, {1: {"a": (2, 3)}}), (0, 0, Batch([2]))],
        driver=[(1, 0, "kind", Decimal(1))],
    )
    assert sent(envelope) == envelope


def test_what_one_record_holds_twice_stays_one_object() -> None:
    shared: list[int] = []
    [(_, _, batch)] = sent(Envelope([(0, 0, Batch([(shared, shared)]))])).records
    one, other = batch.values[0]
    assert one is other


def test_plain_records_are_smaller_without_references() -> None:
    values = [(f"user {number}", number) for number in range(1000)]
    keys = [value[0] for value in values]
    blobs = [Envelope([(0, 0, Batch(values, None, keys, plain=plain))]).encode()
             for plain in (True, False)]  # fmt: skip
    assert len(blobs[0]) < len(blobs[1])


@pytest.mark.parametrize("short_ones_before", [0, 64, 32_000])
def test_a_long_text_that_records_share_is_sent_once(short_ones_before: int) -> None:
    text = "x" * 20_000
    values = [("short", number) for number in range(short_ones_before)]
    values += [(text, number) for number in range(700)]
    batch = Batch(values, plain=True)
    assert dumps_plain(values, [batch]) is None
    assert len(Envelope([(0, 0, batch)]).encode()) < 1_000_000
    assert arrives(batch)


class Color(enum.StrEnum):
    RED = "red"


def test_keys_that_are_objects_are_not_taken_for_plain() -> None:
    for key in (Decimal("1.5"), Color.RED):
        batch = Batch([1, 2], None, [key, key], plain=True)
        assert Envelope([(0, 0, batch)]).encode().count(type(key).__name__.encode()) == 1
        assert arrives(batch)
