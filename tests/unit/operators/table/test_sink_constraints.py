"""What a sink's columns demand of rows."""

from __future__ import annotations

import pytest

from headrace.core.logical_types import (
    INT,
    STRING,
    ArrayType,
    BinaryType,
    CharType,
    Field,
    MapType,
    RowType,
    VarBinaryType,
    VarCharType,
)
from headrace.errors import HeadraceError, Unsupported
from headrace.operators.table.constraint_enforcer import (
    ConstraintEnforcerOperator,
    SinkConstraints,
)
from tests.unit.operators.table.driving import D, Driven, I

KEY_AND_NUMBER = (Field("k", STRING.not_null()), Field("n", INT.not_null()))


def enforced(fields, **constraints):
    return Driven(ConstraintEnforcerOperator(fields, SinkConstraints(**constraints)))


def test_null_is_refused_or_dropped():
    strict = enforced(KEY_AND_NUMBER)
    assert strict.send(I("a", 1)) == ["+I[a, 1]"]
    with pytest.raises(HeadraceError, match="column 'n' is NOT NULL"):
        strict.send(I("a", None))
    dropping = enforced(KEY_AND_NUMBER, not_null="DROP")
    dropping.harness.send_all([I("a", None), I("b", 2)], [1, 2])
    assert dropping.harness.take_records() == [(I("b", 2), 2)]


def test_deletions_by_key_need_only_the_key():
    operator = ConstraintEnforcerOperator(KEY_AND_NUMBER, key=(0,), deletes_by_key=True)
    driven = Driven(operator)
    assert driven.send(D("a", None)) == ["-D[a, NULL]"]
    with pytest.raises(HeadraceError, match="'k'"):
        driven.send(D(None, None))


TEXTS = (
    Field("c", CharType(3)), Field("v", VarCharType(3)), Field("b", BinaryType(2)),
    Field("w", VarBinaryType(2)), Field("s", STRING),
)  # fmt: skip


def test_lengths_are_left_alone_by_default():
    assert enforced(TEXTS).send(I("abcd", "a", b"1", b"123", "x")) == [
        "+I[abcd, a, b'1', b'123', x]"
    ]


def test_texts_are_trimmed_and_padded():
    driven = enforced(TEXTS, type_length="TRIM_PAD")
    driven.harness.send_all([
        I("a", "a", b"1", b"1", "long"), I("abcd", "abcd", b"123", b"123", None),
        I(None, None, None, None, None),
    ])  # fmt: skip
    assert driven.harness.take_outputs() == [
        I("a  ", "a", b"1\0", b"1", "long"), I("abc", "abc", b"12", b"12", None),
        I(None, None, None, None, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "row", [I("ab", "a", b"12", b"1", ""), I("abc", "abcd", b"12", b"1", ""),
            I("abc", "a", b"1", b"1", ""), I("abc", "a", b"12", b"123", "")],
)  # fmt: skip
def test_lengths_may_be_errors(row):
    driven = enforced(TEXTS, type_length="ERROR")
    assert driven.send(I("abc", "", b"12", b"", "")) != []
    with pytest.raises(HeadraceError, match="of length"):
        driven.send(row)


NESTED = (Field("r", RowType((Field("x", INT.not_null()), Field("t", VarCharType(2))))),)
COLLECTIONS = (
    Field("a", ArrayType(INT.not_null())), Field("m", MapType(STRING, VarCharType(2).not_null())),
)  # fmt: skip


def test_nested_rows():
    assert enforced(NESTED).send(I((None, "abc"))) == ["+I[(None, 'abc')]"]
    driven = enforced(NESTED, nested="ROWS", type_length="TRIM_PAD")
    assert driven.send(I((1, "abc")), I(None)) == ["+I[(1, 'ab')]", "+I[NULL]"]
    with pytest.raises(HeadraceError, match=r"column .r\.x. is NOT NULL"):
        driven.send(I((None, "a")))


def test_collections():
    assert enforced(COLLECTIONS, nested="ROWS").send(I((None,), {"k": None})) != []
    driven = enforced(COLLECTIONS, nested="ROWS_AND_COLLECTIONS", type_length="ERROR")
    assert driven.send(I((1,), {"k": "ab"})) == ["+I[(1,), {'k': 'ab'}]"]
    for row in (I((1, None), {}), I((), {"k": None}), I((), {"k": "abc"})):
        with pytest.raises(HeadraceError, match="column"):
            driven.send(row)
    with pytest.raises(Unsupported, match="trimmed"):
        SinkConstraints(nested="ROWS_AND_COLLECTIONS", type_length="TRIM_PAD")
