"""Not-a-number as a key."""

from __future__ import annotations

import math
import pickle
from operator import itemgetter

import pytest

from headrace.core.keys import stable_hash
from headrace.operators.table.not_a_number import NotANumber, NumbersAsKeys
from tests.unit.table.in_process import changes_of, table_environment


def test_all_are_one_key_also_after_pickling() -> None:
    groups = {(NotANumber(), 1): "one"}
    assert groups[pickle.loads(pickle.dumps((NotANumber(), 1)))] == "one"
    assert NotANumber() == math.nan
    assert NotANumber() != 1.0
    assert math.isnan(NotANumber())
    assert repr(NotANumber()) == "nan"
    assert stable_hash(NotANumber()) == stable_hash(math.nan)


def test_other_parts_of_a_key_stay_as_they_are() -> None:
    key_of = NumbersAsKeys(itemgetter(slice(1, 4)), [0, 2])
    assert key_of((0, 1.5, "x", None)) == (1.5, "x", None)
    assert key_of((0, math.nan, "x", math.nan)) == (NotANumber(), "x", NotANumber())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT f, COUNT(*) FROM t GROUP BY f", ["+I[1.0, 1]", "+I[NaN, 2]"]),
        ("SELECT f, COUNT(*) FROM t GROUP BY ROLLUP (f)",
         ["+I[1.0, 1]", "+I[NaN, 2]", "+I[null, 3]"]),
        ("SELECT DISTINCT f FROM t", ["+I[1.0]", "+I[NaN]"]),
        ("SELECT f FROM t INTERSECT SELECT f FROM t", ["+I[1.0]", "+I[NaN]"]),
        ("SELECT COUNT(*) FROM t AS x JOIN t AS y ON x.f = y.f", ["+I[5]"]),
        ("SELECT COUNT(*) FROM t AS x JOIN t AS y ON x.f * 2 = y.f * 2", ["+I[5]"]),
    ],
)  # fmt: skip
def test_it_is_one_group(query: str, expected: list[str]) -> None:
    env = table_environment("micro-batch")
    nan = float("nan")
    env.create_temporary_view("t", env.from_elements([(nan,), (1.0,), (-nan,)], ["f"]))
    assert sorted(changes_of(env.sql_query(query))) == expected
