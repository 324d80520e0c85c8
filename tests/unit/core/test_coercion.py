"""What the next function receives for a value of a declared type."""

import array
import datetime
import math
import pickle
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.rows import Row, RowKind
from headrace.core.time import Instant
from headrace.core.types import (
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    TypeInformation,
    Types,
)
from headrace.errors import TypeMismatch

PAIR = Types.ROW_NAMED(["name", "amount"], [Types.STRING(), Types.INT()])
MOMENT = datetime.datetime(2020, 1, 2, 3, 4, 5, 678901)
CUT_MOMENT = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)


def coerce(type_info: TypeInformation, value: Any) -> Any:
    coercer = type_info.coercer()
    assert coercer is not None
    return coercer(value)


ACCEPTED = [
    (Types.STRING(), "a", "a"),
    (Types.BOOLEAN(), True, True),
    (Types.BOOLEAN(), numpy.bool_(True), True),
    (Types.BOOLEAN(), 2, True),
    (Types.BOOLEAN(), 0.5, False),
    (Types.INT(), True, 1),
    (Types.INT(), 1.9, 1),
    (Types.LONG(), -1.9, -1),
    (Types.SHORT(), Decimal("2.7"), 2),
    (Types.DOUBLE(), True, 1.0),
    (Types.BYTE(), -128, -128),
    (Types.INT(), 2**31 - 1, 2**31 - 1),
    (Types.INT(), numpy.int64(5), 5),
    (Types.LONG(), -(2**63), -(2**63)),
    (Types.FLOAT(), 1.1, 1.100000023841858),
    (Types.FLOAT(), 3, 3.0),
    (Types.FLOAT(), -1e40, -math.inf),
    (Types.DOUBLE(), 3, 3.0),
    (Types.DOUBLE(), Decimal("1.5"), 1.5),
    (Types.CHAR(), "c", "c"),
    (Types.BIG_INT(), 10**30, 10**30),
    (Types.BIG_DEC(), Decimal("1.50"), Decimal("1.50")),
    (Types.BIG_DEC(), 1.5, Decimal("1.5")),
    (Types.INSTANT(), Instant(1, 2), Instant(1, 2)),
    (Types.SQL_DATE(), MOMENT, MOMENT.date()),
    (Types.SQL_TIME(), MOMENT.time(), CUT_MOMENT.time()),
    (Types.SQL_TIMESTAMP(), MOMENT, CUT_MOMENT),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME), MOMENT, MOMENT),
    (Types.TUPLE([Types.STRING(), Types.FLOAT()]), ["a", 1.1], ("a", 1.100000023841858)),
    (Types.TUPLE([Types.STRING(), Types.INT()]), Row("a", 1), ("a", 1)),
    (Types.TUPLE([Types.STRING(), Types.INT()]), ("a", None), ("a", None)),
    (PAIR, ("a", 1), Row(name="a", amount=1)),
    (PAIR, Row("a", 1), Row(name="a", amount=1)),
    (PAIR, Row(amount=1, name="a"), Row(name="a", amount=1)),
    (PAIR, {"name": "a", "other": 1}, Row(name="a", amount=None)),
    (PAIR, SimpleNamespace(name="a", amount=1), Row(name="a", amount=1)),
    (Types.ROW([Types.DOUBLE()]), [1], Row(f0=1.0)),
    (Types.ROW([PAIR]), [("a", 1)], Row(f0=Row(name="a", amount=1))),
    (Types.LIST(Types.DOUBLE()), (1, 2.5, None), [1.0, 2.5, None]),
    (Types.LIST(Types.INT()), numpy.array([1, 2]), [1, 2]),
    (Types.MAP(Types.STRING(), Types.DOUBLE()), {"a": 1}, {"a": 1.0}),
    (Types.PRIMITIVE_ARRAY(Types.INT()), array.array("i", [1, 2]), [1, 2]),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), bytearray(b"ab"), b"ab"),
    (Types.BASIC_ARRAY(Types.STRING()), ["a", None], ["a", None]),
    (Types.OBJECT_ARRAY(PAIR), [("a", 1)], [Row(name="a", amount=1)]),
    (ExternalTypeInfo(Types.DOUBLE()), 1, 1.0),
]


@pytest.mark.parametrize(("type_info", "value", "expected"), ACCEPTED)
def test_a_right_value_is_brought_into_shape(
    type_info: TypeInformation, value: Any, expected: Any
) -> None:
    result = coerce(type_info, value)
    assert result == expected
    assert type(result) is type(expected)
    assert coerce(type_info, None) is None


REFUSED = [
    (Types.STRING(), 5, "expected STRING, got 5 of type int"),
    (Types.BOOLEAN(), 256, "expected BOOLEAN, got 256 of type int"),
    (Types.BOOLEAN(), "a", "expected BOOLEAN, got 'a' of type str"),
    (Types.INT(), "1", "expected INT, got '1' of type str"),
    (Types.INT(), float("inf"), "expected INT, got inf of type float"),
    (Types.INT(), float("nan"), "expected INT, got nan of type float"),
    (Types.INT(), 2.0**31, "expected INT (-2147483648 to 2147483647), got 2147483648 of type int"),
    (Types.INT(), 2**31, "expected INT (-2147483648 to 2147483647), got 2147483648 of type int"),
    (Types.BYTE(), 128, "expected BYTE (-128 to 127), got 128 of type int"),
    (Types.DOUBLE(), "1", "expected DOUBLE, got '1' of type str"),
    (Types.FLOAT(), "1", "expected FLOAT, got '1' of type str"),
    (Types.CHAR(), "ab", "expected CHAR (a string of length 1), got 'ab' of type str"),
    (Types.BIG_INT(), 1.5, "expected BIG_INT, got 1.5 of type float"),
    (Types.BIG_DEC(), "1", "expected BIG_DEC, got '1' of type str"),
    (Types.SQL_DATE(), 5, "expected SQL_DATE, got 5 of type int"),
    (Types.INSTANT(), 5, "expected INSTANT, got 5 of type int"),
    (PAIR, ("a", "b"), "expected INT in field 'amount', got 'b' of type str"),
    (PAIR, ("a",), "expected ROW of 2 fields (name, amount), got ('a',) of type tuple"),
    (PAIR, 5, "expected ROW of 2 fields (name, amount), got 5 of type int"),
    (PAIR, Row(name="a", total=1), "expected ROW with the fields name, amount, got"),
    (Types.TUPLE([Types.INT()]), (1, 2), "expected TUPLE of 1 fields, got (1, 2) of type tuple"),
    (Types.TUPLE([Types.INT()]), ("x",), "expected INT in field 0, got 'x' of type str"),
    (Types.TUPLE([Types.INT()]), (2**40,), "in field 0, got 1099511627776 of type int"),
    (
        Types.LIST(PAIR),
        [("a", 1), ("b", "c")],
        "expected INT in field 'amount' of element 1, got 'c' of type str",
    ),
    (Types.LIST(Types.INT()), "12", "expected LIST of INT, got '12' of type str"),
    (
        Types.MAP(Types.STRING(), Types.INT()),
        {"a": "b"},
        "expected INT in the value of 'a', got 'b' of type str",
    ),
    (Types.MAP(Types.STRING(), Types.INT()), {1: 1}, "expected STRING in a key, got 1"),
    (Types.MAP(Types.STRING(), Types.INT()), [1], "expected MAP of STRING to INT, got [1]"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [1, None], "expected INT in element 1, got None"),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), [1], "expected PRIMITIVE_ARRAY of BYTE (bytes), got"),
]


@pytest.mark.parametrize(("type_info", "value", "message"), REFUSED)
def test_a_wrong_value_is_named_with_its_place(
    type_info: TypeInformation, value: Any, message: str
) -> None:
    with pytest.raises(TypeMismatch) as caught:
        coerce(type_info, value)
    assert message in str(caught.value)
    assert "hint: " in str(caught.value)
    # The error has to come back from a worker.
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_pickled_values_need_nothing() -> None:
    assert Types.PICKLED_BYTE_ARRAY().coercer() is None
    assert coerce(Types.TUPLE([Types.PICKLED_BYTE_ARRAY()]), [{1}]) == ({1},)


def test_a_row_keeps_its_kind() -> None:
    row = coerce(PAIR, Row.of_kind(RowKind.DELETE, "a", 1))
    assert row == Row.of_kind(RowKind.DELETE, name="a", amount=1)


def test_a_record_that_is_right_is_not_copied() -> None:
    record, row = ("a", 1), Row(name="a", amount=1)
    assert coerce(Types.TUPLE([Types.STRING(), Types.INT()]), record) is record
    assert coerce(PAIR, row) is row


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=3)
)
FIELD_TYPES = st.sampled_from(
    [Types.STRING(), Types.BOOLEAN(), Types.INT(), Types.LONG(), Types.FLOAT(), Types.DOUBLE()]
)


@given(st.lists(st.tuples(FIELD_TYPES, SCALARS), min_size=1, max_size=4))
def test_a_tuple_is_what_its_fields_are(fields: list[tuple[TypeInformation, Any]]) -> None:
    """The short way through a tuple and the long way field by field agree."""
    types, values = [type_ for type_, _ in fields], tuple(value for _, value in fields)
    try:
        expected = tuple(coerce(type_, value) for type_, value in fields)
    except TypeMismatch:
        with pytest.raises(TypeMismatch, match="in field"):
            coerce(Types.TUPLE(types), values)
    else:
        assert coerce(Types.TUPLE(types), values) == expected
        assert tuple(coerce(Types.ROW(types), values)) == expected
