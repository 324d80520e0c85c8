"""Values of every type reach a program as they do from PyFlink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.sql.collected_values import QUERIES, shape
from tests.sql.in_process import collect


@pytest.mark.parametrize(
    ("query", "expected"), QUERIES, ids=["types", "aggregates", "overflows", "overflowing sums"]
)
def test_collected_values_have_the_types_and_digits_of_pyflink(
    query: str, expected: Mapping[str, Any]
) -> None:
    (row,) = collect(query)
    wrong = {
        text: (got, value)
        for got, (text, value) in zip(row, expected.items(), strict=True)
        if shape(got) != shape(value)
    }
    assert wrong == {}
