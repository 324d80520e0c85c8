"""Aggregate functions that collect values: texts, arrays, JSON, bitmaps, first and last ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.expressions import AggregateFunction, Expression, SparkForm
from headrace.core.logical_types import (
    BIGINT,
    INT,
    STRING,
    ArrayType,
    BitmapType,
    LogicalType,
    MultisetType,
    VarCharType,
)
from headrace.operators.functions import assembled_aggregates as assembled
from headrace.operators.functions import collecting_aggregates as collecting
from headrace.operators.functions import json_values
from headrace.sql.functions.bitmaps import BITMAP_ARGUMENT
from headrace.sql.functions.parameters import ANY, TEXT, exactly, literal
from headrace.sql.functions.row import Example, FunctionRow, example, of, signature, type_of

_TEXTS = of(("a", "b", "a"), STRING)
_NUMBERS = of((1, 2, 4), INT)
_BITMAP = BitmapType()
_JSON_TEXT = VarCharType(2000)
"""The length is what Flink says; longer texts are not cut."""
_BITMAPS = of((frozenset((1, 5)), frozenset((1, 2))), _BITMAP)


def _convertible(position: int) -> Callable[[Sequence[Expression]], Sequence[Expression] | None]:
    return lambda arguments: (
        arguments if json_values.convertible(arguments[position].type) else None
    )


def _array(arguments: Sequence[Expression]) -> LogicalType:
    return ArrayType(arguments[0].type)


def _multiset(arguments: Sequence[Expression]) -> LogicalType:
    return MultisetType(arguments[0].type)


def _listagg(texts: Sequence[str], _types: Sequence[LogicalType], _result: LogicalType) -> str:
    return f"listagg({texts[0]}, {texts[1] if len(texts) > 1 else repr(',')})"


def _aggregate(
    name: str, accumulator: Callable[..., Any], spark: SparkForm | None = None,
    *, skips_null: bool = True, ordered: bool = False,
) -> AggregateFunction:  # fmt: skip
    return AggregateFunction(
        name=name, accumulator=accumulator, spark=spark, skips_null=skips_null, ordered=ordered
    )


def _bitmap_pair(
    name: str, doc: str, chosen: Callable[[int, int], bool], gives: tuple[int, ...], *,
    integers: bool = False,
) -> tuple[FunctionRow, FunctionRow]:  # fmt: skip
    """The bitmap, and how many integers are in it."""
    parameter = exactly(INT) if integers else BITMAP_ARGUMENT
    given = _NUMBERS if integers else _BITMAPS

    def row(name: str, doc: str, result: LogicalType, shown: Example) -> FunctionRow:
        return FunctionRow(
            names=(name,),
            doc=doc,
            signatures=(signature(parameter),),
            result=result,
            nullable=True,
            aggregate=_aggregate(name, assembled.bitmaps(chosen)),
            examples=(shown,),
        )

    counted = f"{name}_CARDINALITY_AGG"
    return (
        row(f"{name}_AGG", doc, _BITMAP, example(given, gives=frozenset(gives))),
        row(counted, f"How many: {doc}", BIGINT, example(given, gives=len(gives))),
    )


FUNCTIONS: tuple[FunctionRow, ...] = (
    FunctionRow(
        names=("COLLECT",),
        doc="The values as a multiset.",
        signatures=(signature(ANY),),
        result=_multiset,
        nullable=False,
        aggregate=_aggregate("COLLECT", collecting.collect),
        examples=(example(_TEXTS, gives={"a": 2, "b": 1}),),
    ),
    FunctionRow(
        names=("LISTAGG",),
        doc="The texts, one after the other, with a separator between them.",
        signatures=(signature(TEXT, optional=(TEXT,)),),
        result=STRING,
        nullable=True,
        aggregate=_aggregate("LISTAGG", collecting.listagg, _listagg, ordered=True),
        examples=(example(_TEXTS, gives="a,b,a"),),
    ),
    FunctionRow(
        names=("FIRST_VALUE",),
        doc="The first value that is not NULL.",
        signatures=(signature(ANY),),
        result=type_of(0),
        nullable=True,
        aggregate=_aggregate(
            "FIRST_VALUE", collecting.first_value, "first_value({0}, true)", ordered=True
        ),
        examples=(example(_NUMBERS, gives=1),),
    ),
    FunctionRow(
        names=("LAST_VALUE",),
        doc="The last value that is not NULL.",
        signatures=(signature(ANY),),
        result=type_of(0),
        nullable=True,
        aggregate=_aggregate(
            "LAST_VALUE", collecting.last_value, "last_value({0}, true)", ordered=True
        ),
        examples=(example(_NUMBERS, gives=4),),
    ),
    FunctionRow(
        names=("SINGLE_VALUE",),
        doc="The value of the only row; an error if there are several.",
        signatures=(signature(ANY),),
        result=type_of(0),
        nullable=True,
        aggregate=_aggregate("SINGLE_VALUE", collecting.single_value, skips_null=False),
        examples=(example(of((1,), INT), gives=1),),
    ),
    FunctionRow(
        names=("ARRAY_AGG",),
        doc="The values as an array, NULLs included; NULL of no rows.",
        signatures=(signature(ANY),),
        result=_array,
        nullable=True,
        aggregate=_aggregate("ARRAY_AGG", collecting.array_agg, skips_null=False, ordered=True),
        examples=(example(_NUMBERS, gives=(1, 2, 4)),),
    ),
    FunctionRow(
        names=("JSON_OBJECTAGG",),
        doc="A JSON object of keys and values; each key may come once.",
        signatures=(
            signature(
                TEXT, ANY, optional=(literal(TEXT, "NULL", "ABSENT"),), prepare=_convertible(1)
            ),
        ),
        result=_JSON_TEXT,
        nullable=False,
        aggregate=_aggregate("JSON_OBJECTAGG", assembled.json_objectagg, skips_null=False),
        examples=(example(of(("b", "a"), STRING), of((1, 2), INT), gives='{"a":2,"b":1}'),),
    ),
    FunctionRow(
        names=("JSON_ARRAYAGG",),
        doc="A JSON array of values; NULLs are left out unless NULL ON NULL is said.",
        signatures=(
            signature(ANY, optional=(literal(TEXT, "NULL", "ABSENT"),), prepare=_convertible(0)),
        ),
        result=_JSON_TEXT,
        nullable=False,
        aggregate=_aggregate(
            "JSON_ARRAYAGG", assembled.json_arrayagg, skips_null=False, ordered=True
        ),
        examples=(example(_NUMBERS, gives="[1,2,4]"),),
    ),
    *_bitmap_pair("BITMAP_AND", "The integers in all bitmaps.", assembled.in_all, (1,)),
    *_bitmap_pair("BITMAP_OR", "The integers in any bitmap.", assembled.in_any, (1, 2, 5)),
    *_bitmap_pair(
        "BITMAP_XOR", "The integers in an odd number of bitmaps.", assembled.in_odd, (2, 5)
    ),
    *_bitmap_pair(
        "BITMAP_BUILD", "The integers of all rows.", assembled.in_any, (1, 2, 4), integers=True
    ),
)
