"""Types with strategies for their values, and how to tell whether values are the very same."""

from __future__ import annotations

import datetime
import struct
from decimal import Decimal

from hypothesis import strategies as st

from headrace.core.composite_types import ExternalTypeInfo
from headrace.core.rows import Row, RowKind
from headrace.core.time import Instant
from headrace.core.types import LocalTimeTypeInfo, Types

PICKLED = Types.PICKLED_BYTE_ARRAY()
KINDS = LocalTimeTypeInfo.TimeType


def exact(value):
    """A value with the class of every part, so that 1, 1.0 and True differ and NaN is itself."""
    if isinstance(value, float):
        return float, struct.pack("d", value)
    if isinstance(value, Row):
        return Row, value._names, value.get_row_kind(), [exact(part) for part in value]
    if isinstance(value, (list, tuple)):
        return type(value), [exact(part) for part in value]
    if isinstance(value, dict):
        return type(value), [(exact(key), exact(part)) for key, part in value.items()]
    if isinstance(value, datetime.datetime | datetime.time):
        return type(value), repr(value)
    if isinstance(value, Decimal):
        return Decimal, value.as_tuple()
    return type(value), value


def integers(bits):
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
TIMES = st.times().map(lambda time: time.replace(fold=0))
MOMENTS = st.datetimes().map(lambda time: time.replace(fold=0))
INSTANTS = st.builds(
    lambda seconds, micros: Instant(seconds, micros * 1000),
    st.integers(-(10**12), 10**12),
    st.integers(0, 999_999),
)
SINGLE = [
    (Types.STRING(), TEXT),
    (Types.CHAR(), st.characters(exclude_categories=["Cs"])),
    (Types.BOOLEAN(), st.booleans()),
    (Types.BYTE(), integers(8)),
    (Types.SHORT(), integers(16)),
    (Types.INT(), integers(32)),
    (Types.LONG(), integers(64)),
    (Types.FLOAT(), st.floats()),
    (Types.DOUBLE(), st.floats()),
    (Types.BIG_INT(), st.integers()),
    (Types.BIG_DEC(), st.decimals() | st.just(Decimal("1.00"))),
    (Types.INSTANT(), INSTANTS),
    (Types.SQL_DATE(), st.dates()),
    (Types.SQL_TIME(), TIMES),
    (Types.SQL_TIMESTAMP(), MOMENTS),
    (LocalTimeTypeInfo(KINDS.LOCAL_DATE), st.dates()),
    (LocalTimeTypeInfo(KINDS.LOCAL_TIME), TIMES),
    (LocalTimeTypeInfo(KINDS.LOCAL_DATE_TIME), MOMENTS),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary(max_size=4)),
    (PICKLED, st.sampled_from([{1, 2}, 1 + 2j, bytearray(b"x"), (1, "a"), True])),
    (Types.PRIMITIVE_ARRAY(Types.INT()), st.lists(integers(32), max_size=3)),
    (Types.BASIC_ARRAY(Types.STRING()), st.lists(TEXT | st.none(), max_size=3)),
]


def rows_of(parts, names):
    def build(kind, *values):
        row = Row(*values)
        row._names = names
        row.set_row_kind(kind)
        return row

    fields = [values | st.none() for _, values in parts]
    return st.builds(build, st.sampled_from(RowKind), *fields)


def composite(inner):
    """Types made of `inner` types, each with a strategy for its values."""
    several = st.lists(inner, max_size=3)
    keys = st.sampled_from([SINGLE[0], SINGLE[6], SINGLE[9], SINGLE[12]])

    def named(parts):
        names = tuple(f"name{place}" for place in range(len(parts)))
        return Types.ROW_NAMED(names, [type_ for type_, _ in parts]), rows_of(parts, names)

    return st.one_of(
        several.map(lambda parts: (
            Types.TUPLE([type_ for type_, _ in parts]),
            st.tuples(*(values | st.none() for _, values in parts)),
        )),
        several.map(lambda parts: (
            Types.ROW([type_ for type_, _ in parts]), rows_of(parts, None)
        )),
        several.filter(bool).map(named),
        inner.map(lambda part: (
            Types.LIST(part[0]), st.lists(part[1] | st.none(), max_size=3)
        )),
        inner.map(lambda part: (
            Types.OBJECT_ARRAY(part[0]), st.lists(part[1] | st.none(), max_size=3)
        )),
        inner.map(lambda part: (ExternalTypeInfo(part[0]), part[1])),
        st.tuples(keys, inner).map(lambda pair: (
            Types.MAP(pair[0][0], pair[1][0]),
            st.dictionaries(pair[0][1], pair[1][1] | st.none(), max_size=3),
        )),
    )  # fmt: skip


TYPED = st.recursive(st.sampled_from(SINGLE), composite, max_leaves=5)
TYPED_VALUES = TYPED.flatmap(
    lambda typed: st.tuples(st.just(typed[0]), st.lists(typed[1] | st.none(), max_size=6))
)
