"""What a hybrid source refuses, and how its sources follow one another."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Types
from headrace.connectors.hybrid_source import HybridSource
from headrace.core.source import Boundedness, SplitEnumerator
from headrace.datastream.connectors import DataGeneratorSource, NumberSequenceSource
from headrace.errors import HeadraceError, InvalidArgument, TypeMismatch

NUMBERS = NumberSequenceSource(0, 99)


def refused(call: Any) -> HeadraceError:
    with pytest.raises(HeadraceError) as failure:
        call()
    return failure.value


class TestErrors:
    def test_only_the_last_may_be_endless(self):
        endless = DataGeneratorSource(lambda number: number)
        builder = HybridSource.builder(NUMBERS).add_source(endless)
        error = refused(lambda: builder.add_source(NUMBERS))
        assert isinstance(error, InvalidArgument)
        assert "source 2 of a hybrid source never ends (DataGeneratorSource)" in str(error)
        assert "test_hybrid_source.py" in str(error)
        assert "set_bounded" in str(error)

    @pytest.mark.parametrize(
        "call", [HybridSource.builder, HybridSource.builder(NUMBERS).add_source]
    )
    def test_what_is_no_source(self, call):
        error = refused(lambda: call(["a", "b"]))
        assert isinstance(error, TypeMismatch)
        assert "needs a source, not ['a', 'b']" in str(error)

    def test_sources_of_different_types(self):
        texts = DataGeneratorSource(str, count=3, type_info=Types.STRING())
        error = refused(lambda: HybridSource.builder(NUMBERS).add_source(texts))
        assert isinstance(error, TypeMismatch)
        assert "must give records of one type, but there are Long and String" in str(error)

    def test_a_checkpoint_of_more_sources(self):
        both = HybridSource.builder(NUMBERS).add_source(NUMBERS).build().create_enumerator()
        saved = read_all(both)[-1:]
        one = HybridSource.builder(NUMBERS).build().create_enumerator()
        error = refused(lambda: one.restore(saved))
        assert "goes on with source 2 of a hybrid source that has only 1" in str(error)


def read_all(enumerator: SplitEnumerator) -> list[Any]:
    """The splits, in the order in which they are named by who reads each to its end."""
    found: list[Any] = []
    while splits := enumerator.splits():
        found += splits
        for split in splits:
            enumerator.split_ended(split.id)
    return found


def test_it_has_the_type_and_the_end_of_its_sources():
    source = HybridSource.builder(NUMBERS).add_source(NUMBERS).build()
    assert source.produced_type() == Types.LONG()
    assert source.boundedness() is Boundedness.BOUNDED


def test_the_next_source_is_named_when_all_splits_before_it_have_ended():
    enumerator = HybridSource.builder(NUMBERS).add_source(NUMBERS).build().create_enumerator()
    first = enumerator.splits()
    assert {split.info["source"] for split in first} == {0}
    for split in first[:-1]:
        enumerator.split_ended(split.id)
    assert [split.id for split in enumerator.splits()] == [first[-1].id]
    assert not enumerator.has_named_all
    enumerator.split_ended(first[-1].id)
    assert {split.info["source"] for split in enumerator.splits()} == {1}
    assert enumerator.has_named_all


def test_it_goes_on_with_the_source_it_was_at():
    source = HybridSource.builder(NUMBERS).add_source(NUMBERS).build()
    saved = read_all(source.create_enumerator())
    again = source.create_enumerator()
    again.restore(saved)
    assert {split.info["source"] for split in again.splits()} == {1}
