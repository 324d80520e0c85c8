"""A batch counts as right only if each record would pass unchanged by itself."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.bulk_check import fits
from headrace.core.types import TypeInformation, Types

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Types.STRING(), ["a", ""]),
        (Types.LONG(), [2**63 - 1, -(2**63)]),
        (Types.INT(), [2**31 - 1, -(2**31)]),
        (Types.SHORT(), [2**15 - 1]),
        (Types.BYTE(), [-128, 127]),
        (Types.BIG_INT(), [10**30]),
        (Types.DOUBLE(), [1.5]),
        (Types.BOOLEAN(), [True, False]),
        (PAIR, [("a", 1), ("b", 2)]),
        (Types.TUPLE([Types.LONG()]), [(1,), (2,)]),
        (Types.TUPLE([PAIR, Types.DOUBLE()]), [(("a", 1), 0.5)]),
        (PAIR, []),
    ],
)
def test_what_is_right_as_it_is(kind: TypeInformation, values: list[Any]) -> None:
    assert fits(kind, values)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (Types.STRING(), 1),
        (Types.STRING(), None),
        (Types.STRING(), Text("a")),
        (Types.LONG(), 2**63),
        (Types.LONG(), -(2**63) - 1),
        (Types.LONG(), True),
        (Types.LONG(), 1.0),
        (Types.INT(), 2**31),
        (Types.SHORT(), -(2**15) - 1),
        (Types.BYTE(), 128),
        (Types.DOUBLE(), 1),
        (Types.BIG_DEC(), Decimal(1)),
        (PAIR, ("a",)),
        (PAIR, ("a", 1, 2)),
        (PAIR, ()),
        (PAIR, ["a", 1]),
        (PAIR, "ab"),
        (PAIR, (1, 1)),
        (PAIR, ("a", None)),
        (PAIR, ("a", 2**63)),
        (Types.PICKLED_BYTE_ARRAY(), "a"),
    ],
)
def test_one_doubtful_value_is_enough(kind: TypeInformation, wrong: Any) -> None:
    right: list[Any] = [("a", 1)] if kind is PAIR else []
    assert not fits(kind, [*right, wrong])
    assert not fits(kind, [wrong, *right])


LOOSE = st.one_of(st.integers(), st.text(max_size=2), st.booleans(), st.floats(), st.none())
KINDS = [Types.STRING(), Types.LONG(), Types.INT(), Types.BYTE(), Types.BOOLEAN(), Types.DOUBLE()]


@given(st.sampled_from(KINDS), st.sampled_from(KINDS), st.lists(st.tuples(LOOSE, LOOSE)))
def test_what_fits_is_not_changed_by_the_type(
    one: TypeInformation, other: TypeInformation, values: list[Any]
) -> None:
    kind = Types.TUPLE([one, other])
    coerce = kind.coercer()
    assert coerce is not None
    if fits(kind, values):
        for value in values:
            assert repr(coerce(value)) == repr(value)
