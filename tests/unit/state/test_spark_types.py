"""Which of headrace's types a column of Spark's holds."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DayTimeIntervalType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from headrace.core.type_json import type_to_json
from headrace.core.types import Types
from headrace.errors import InvalidArgument
from headrace.state.spark_types import kept_type, type_of

PICKLED = Types.PICKLED_BYTE_ARRAY()


def struct(**fields):
    return StructType([StructField(name, kind) for name, kind in fields.items()])


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (LongType(), "LONG"),
        (IntegerType(), "INT"),
        (DecimalType(10, 2), "BIG_DEC"),
        (TimestampType(), "INSTANT"),
        (TimestampNTZType(), "SQL_TIMESTAMP"),
        (ArrayType(StringType()), {"list": "STRING"}),
        (MapType(StringType(), LongType()), {"map": ["STRING", "LONG"]}),
        (struct(f0=StringType(), f1=LongType()), {"tuple": ["STRING", "LONG"]}),
        (struct(name=StringType(), age=LongType()), {"row": [["name", "STRING"], ["age", "LONG"]]}),
        (struct(f0=LongType(), _kind=StringType()), {"row": [["f0", "LONG"]]}),
    ],
)
def test_types_of_columns(found, expected):
    """The Python values are those a job with that type would have stored."""
    assert type_to_json(type_of(found, "a column")) == expected


def test_a_type_without_meaning():
    """Better refused than guessed."""
    with pytest.raises(InvalidArgument, match=r"a column\.gap is of Spark's type interval"):
        type_of(struct(gap=DayTimeIntervalType()), "a column")


@pytest.mark.parametrize(
    ("wanted", "found", "expected"),
    [
        (Types.LONG(), IntegerType(), "LONG"),
        (PICKLED, LongType(), "LONG"),
        (PICKLED, BinaryType(), "PICKLED_BYTE_ARRAY"),
        (Types.TUPLE([Types.STRING(), PICKLED]), struct(a=StringType(), b=LongType()),
         {"tuple": ["STRING", "LONG"]}),
        (Types.ROW_NAMED(["b", "a"], [Types.LONG(), PICKLED]),
         struct(a=StringType(), b=LongType()), {"row": [["b", "LONG"], ["a", "STRING"]]}),
        (Types.LIST(PICKLED), ArrayType(LongType()), {"list": "LONG"}),
        (Types.MAP(Types.STRING(), PICKLED), MapType(StringType(), LongType()),
         {"map": ["STRING", "LONG"]}),
    ],
)  # fmt: skip
def test_what_a_type_leaves_open(wanted, found, expected):
    """Pickled is what a program says that declares nothing: the column knows better."""
    assert type_to_json(kept_type(wanted, found, "a column")) == expected


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Types.TUPLE([Types.LONG()]), struct(a=LongType(), b=LongType())),
        (Types.ROW_NAMED(["a"], [Types.LONG()]), struct(b=LongType())),
        (Types.LONG(), ArrayType(LongType())),
        (Types.LIST(Types.LONG()), LongType()),
        (Types.LONG(), struct(a=LongType())),
        (Types.MAP(Types.LONG(), Types.LONG()), LongType()),
    ],
)
def test_what_does_not_fit(wanted, found):
    """Both types are named."""
    with pytest.raises(InvalidArgument, match="does not fit the type given"):
        kept_type(wanted, found, "a column")
