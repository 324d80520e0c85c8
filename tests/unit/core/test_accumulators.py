"""Accumulators give the same result however the values were spread over tasks."""

import math
import pickle
from typing import Any

import pytest

from headrace.core.accumulators import (
    Accumulator,
    AverageAccumulator,
    DoubleCounter,
    DoubleMaximum,
    DoubleMinimum,
    Histogram,
    IntCounter,
    IntMaximum,
    IntMinimum,
    ListAccumulator,
    LongCounter,
)
from headrace.errors import TypeMismatch

CASES: list[tuple[type[Accumulator[Any, Any]], list[Any], Any, Any]] = [
    (IntCounter, [1, 2, 3], 6, 0),
    (LongCounter, [2**40, 1], 2**40 + 1, 0),
    (DoubleCounter, [0.5, 1.5], 2.0, 0.0),
    (AverageAccumulator, [1, 2, 6], 3.0, 0.0),
    (IntMinimum, [3, -1, 2], -1, 2**31 - 1),
    (IntMaximum, [3, -1, 2], 3, -(2**31)),
    (DoubleMinimum, [0.5, -0.5], -0.5, math.inf),
    (DoubleMaximum, [0.5, -0.5], 0.5, -math.inf),
    (ListAccumulator, ["a", "b"], ["a", "b"], []),
    (Histogram, [5, 1, 5], {1: 1, 5: 2}, {}),
]


@pytest.mark.parametrize(("kind", "values", "result", "nothing"), CASES)
def test_adding_merging_and_resetting(
    kind: type[Accumulator[Any, Any]], values: list[Any], result: Any, nothing: Any
) -> None:
    for cut in range(len(values) + 1):
        parts = [kind(), kind()]
        for number, value in enumerate(values):
            parts[number >= cut].add(value)
        parts = pickle.loads(pickle.dumps(parts))
        parts[0].merge(parts[1])
        assert parts[0].get_local_value() == result
        assert repr(parts[0]) == f"{kind.__name__}({result!r})"
        parts[0].reset()
        assert parts[0].get_local_value() == nothing


def test_different_kinds_do_not_mix() -> None:
    with pytest.raises(TypeMismatch, match="a IntCounter cannot take in a Histogram"):
        IntCounter().merge(Histogram())  # type: ignore[arg-type]


def test_starting_values() -> None:
    counter = IntCounter(5)
    counter.add(1)
    assert counter.get_local_value() == 6
