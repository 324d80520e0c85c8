"""VARIANT values, and the bytes of bitmaps."""

from __future__ import annotations

import random

import pytest

from headrace.core.variant import Variant
from headrace.errors import InvalidArgument
from headrace.operators.functions import bitmaps, variants


def test_a_variant_knows_its_kind_and_its_parts() -> None:
    value = variants.parse_json('{"b": [1, 300, 1.5, 1e3, "x", null, true], "a": {}}')
    items = value.field("b")
    assert items is not None
    kinds = [Variant(part).kind for part in items.content]
    expected = ["TINYINT", "SMALLINT", "DECIMAL", "DOUBLE", "STRING", "NULL", "BOOLEAN"]
    assert (value.kind, items.kind, kinds) == ("OBJECT", "ARRAY", expected)
    assert items.element(1) == Variant(1)
    assert items.element(9) is None
    assert value.field("c") is None
    assert hash(value) == hash(variants.parse_json(variants.json_string(value)))


@pytest.mark.parametrize("key", [1, "a"])
def test_scalars_have_no_parts(key: int | str) -> None:
    with pytest.raises(InvalidArgument, match="has no"):
        variants.item(Variant("x"), key)


def test_keys_that_come_twice() -> None:
    text = '{"a": 1, "a": 2}'
    with pytest.raises(InvalidArgument, match="twice"):
        variants.parse_json(text)
    assert variants.try_parse_json(text) is None
    assert variants.parse_json(text, True) == Variant.of({"a": 2})


@pytest.mark.parametrize("size", [0, 1, 5, 4096, 4097, 60_000])
def test_bitmaps_come_back_from_their_bytes(size: int) -> None:
    dice = random.Random(size)
    bitmap = frozenset(dice.randrange(-(2**17), 2**17) for _ in range(size))
    assert bitmaps.from_bytes(bitmaps.to_bytes(bitmap)) == bitmap


def test_runs_are_written_short() -> None:
    data = bitmaps.to_bytes(frozenset(range(1, 11)))
    assert data == b";0\x00\x00\x01\x00\x00\t\x00\x01\x00\x01\x00\t\x00"
    assert bitmaps.to_array(bitmaps.from_bytes(data)) == tuple(range(1, 11))


@pytest.mark.parametrize("data", [b"", b"abcd", b":0\x00\x00\x02\x00\x00\x00"])
def test_bytes_that_are_no_bitmap(data: bytes) -> None:
    with pytest.raises(InvalidArgument, match="no bitmap"):
        bitmaps.from_bytes(data)
