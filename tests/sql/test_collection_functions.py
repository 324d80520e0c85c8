"""Functions of collections against values and types that Flink 2.3 was seen to give."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from headrace.operators.table.compiled import compiled_value
from headrace.sql.expressions import resolve_text

SEEN = [
    ("CARDINALITY(ARRAY[1])", 1, "INT NOT NULL"),
    ("ARRAY[1,2][1]", 1, "INT"),
    ("MAP['a',1]['a']", 1, "INT"),
    ("MAP['a',1]", {"a": 1}, "MAP<CHAR(1) NOT NULL, INT NOT NULL> NOT NULL"),
    ("ARRAY_APPEND(ARRAY[1],2)", (1, 2), "ARRAY<INT NOT NULL> NOT NULL"),
    ("ARRAY_SORT(ARRAY[1])", (1,), "ARRAY<INT NOT NULL> NOT NULL"),
    ("ARRAY_MAX(ARRAY[1])", 1, "INT"),
    ("ARRAY_POSITION(ARRAY[1],1)", 1, "INT NOT NULL"),
    (
        "ARRAY_CONCAT(ARRAY[1],ARRAY[2.5])",
        (Decimal("1.0"), Decimal("2.5")),
        "ARRAY<DECIMAL(11, 1) NOT NULL> NOT NULL",
    ),
    (
        "MAP_UNION(MAP['a',1],MAP['b',2])",
        {"a": 1, "b": 2},
        "MAP<CHAR(1) NOT NULL, INT NOT NULL> NOT NULL",
    ),
    (
        "MAP_FROM_ARRAYS(ARRAY['a'],ARRAY[1])",
        {"a": 1},
        "MAP<CHAR(1) NOT NULL, INT NOT NULL> NOT NULL",
    ),
    ("ELEMENT(ARRAY[1])", 1, "INT NOT NULL"),
    ("BITMAP_CARDINALITY(BITMAP_BUILD(ARRAY[1]))", 1, "BIGINT NOT NULL"),
    ("CARDINALITY(ARRAY[1,2])", 2, "INT NOT NULL"),
    ("CARDINALITY(MAP['a',1])", 1, "INT NOT NULL"),
    ("ARRAY[1,2,3][2]", 2, "INT"),
    ("ARRAY_POSITION(ARRAY[1,2],2)", 2, "INT NOT NULL"),
    ("ARRAY_POSITION(ARRAY[1,2],CAST(NULL AS INT))", None, "INT"),
    ("ARRAY_REMOVE(ARRAY[1,2,1],1)", (2,), "ARRAY<INT NOT NULL> NOT NULL"),
    ("ARRAY_REMOVE(ARRAY[1,NULL,1],CAST(NULL AS INT))", (1, 1), "ARRAY<INT> NOT NULL"),
    ("ARRAY_MAX(ARRAY[1,3,NULL])", 3, "INT"),
    ("ARRAY_MIN(ARRAY[CAST(NULL AS INT)])", None, "INT"),
    ("ARRAY_EXCEPT(ARRAY[1,1,2,2],ARRAY[1])", (2,), "ARRAY<INT NOT NULL> NOT NULL"),
    (
        "MAP_UNION(MAP['a',1],MAP['a',2,'b',3])",
        {"a": 2, "b": 3},
        "MAP<CHAR(1) NOT NULL, INT NOT NULL> NOT NULL",
    ),
    ("MAP_KEYS(MAP['a',1])", ("a",), "ARRAY<CHAR(1) NOT NULL> NOT NULL"),
    (
        "BITMAP_TO_STRING(BITMAP_BUILD(ARRAY[5,1,-4,2147483647]))",
        "{1,5,2147483647,4294967292}",
        "STRING NOT NULL",
    ),
    (
        "BITMAP_TO_BYTES(BITMAP_BUILD(ARRAY[5,1,-4]))",
        b":0\x00\x00\x02\x00\x00\x00\x00\x00\x01\x00\xff\xff\x00\x00\x18\x00\x00\x00\x1c\x00\x00\x00\x01\x00\x05\x00\xfc\xff",
        "BYTES NOT NULL",
    ),
    (
        "BITMAP_TO_BYTES(BITMAP_BUILD(ARRAY[1,2,3,4,5,6,7,8,9,10]))",
        b";0\x00\x00\x01\x00\x00\t\x00\x01\x00\x01\x00\t\x00",
        "BYTES NOT NULL",
    ),
    ("BITMAP_CARDINALITY(BITMAP_BUILD(ARRAY[5,1]))", 2, "BIGINT NOT NULL"),
    (
        "BITMAP_TO_STRING(BITMAP_XOR(BITMAP_BUILD(ARRAY[5,1]),BITMAP_BUILD(ARRAY[1,2])))",
        "{2,5}",
        "STRING NOT NULL",
    ),
    (
        "BITMAP_TO_STRING(BITMAP_ANDNOT(BITMAP_BUILD(ARRAY[5,1]),BITMAP_BUILD(ARRAY[1,2])))",
        "{5}",
        "STRING NOT NULL",
    ),
    ("BITMAP_TO_ARRAY(BITMAP_BUILD(ARRAY[5,-1]))", (5, -1), "ARRAY<INT> NOT NULL"),
]
"""The expression, its value, and its type where that was looked at."""


@pytest.mark.parametrize(("text", "value", "type"), SEEN, ids=[row[0] for row in SEEN])
def test_gives_what_flink_gives(text: str, value: Any, type: str | None) -> None:
    expression = resolve_text(text, [])
    assert compiled_value(expression)((0,)) == value
    assert type is None or str(expression.type) == type
