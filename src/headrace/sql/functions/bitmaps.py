"""Functions of bitmaps: sets of integers."""

from __future__ import annotations

from collections.abc import Callable

from headrace.core.logical_types import (
    BIGINT,
    BYTES,
    INT,
    STRING,
    ArrayType,
    BitmapType,
    LogicalType,
)
from headrace.operators.functions import bitmaps
from headrace.operators.functions.bitmaps import Bitmap
from headrace.sql.functions.parameters import BINARY, exactly, kind_of
from headrace.sql.functions.row import FunctionRow, example, of, signature

BITMAP_ARGUMENT = kind_of("BITMAP", BitmapType)
_BITMAP = BitmapType()
_A, _B = of(frozenset((1, 5)), _BITMAP.not_null()), of(frozenset((1, 2)), _BITMAP.not_null())


def _of_two(
    name: str, doc: str, meaning: Callable[[Bitmap, Bitmap], Bitmap], gives: tuple[int, ...]
) -> FunctionRow:
    return FunctionRow(
        names=(name,),
        doc=doc,
        signatures=(signature(BITMAP_ARGUMENT, BITMAP_ARGUMENT),),
        result=_BITMAP,
        meaning=meaning,
        examples=(example(_A, _B, gives=frozenset(gives)),),
    )


def _of_one(
    name: str, doc: str, result: LogicalType, meaning: Callable[[Bitmap], object], gives: object
) -> FunctionRow:
    return FunctionRow(
        names=(name,),
        doc=doc,
        signatures=(signature(BITMAP_ARGUMENT),),
        result=result,
        meaning=meaning,
        examples=(example(_A, gives=gives),),
    )


FUNCTIONS: tuple[FunctionRow, ...] = (
    _of_two("BITMAP_AND", "The integers in both.", bitmaps.intersection, (1,)),
    _of_two("BITMAP_OR", "The integers in either.", bitmaps.union, (1, 2, 5)),
    _of_two("BITMAP_XOR", "The integers in exactly one.", bitmaps.exclusive, (2, 5)),
    _of_two("BITMAP_ANDNOT", "The integers in the first only.", bitmaps.difference, (5,)),
    FunctionRow(
        names=("BITMAP_BUILD",),
        doc="The bitmap of the integers in an array; NULLs are left out.",
        signatures=(signature(exactly(ArrayType(INT))),),
        result=_BITMAP,
        meaning=bitmaps.build,
        examples=(example((1, 5, 1), gives=frozenset((1, 5))),),
    ),
    FunctionRow(
        names=("BITMAP_FROM_BYTES",),
        doc="The bitmap that was written as bytes, in the open Roaring format.",
        signatures=(signature(BINARY),),
        result=_BITMAP,
        meaning=bitmaps.from_bytes,
        examples=(example(bitmaps.to_bytes(frozenset((1, 5))), gives=frozenset((1, 5))),),
    ),
    _of_one("BITMAP_CARDINALITY", "How many integers are in it.", BIGINT, len, 2),
    _of_one("BITMAP_TO_ARRAY", "Its integers, in order.", ArrayType(INT), bitmaps.to_array, (1, 5)),
    _of_one("BITMAP_TO_STRING", "Its integers as text.", STRING, bitmaps.to_text, "{1,5}"),
    _of_one(
        "BITMAP_TO_BYTES",
        "As bytes, in the open Roaring format.",
        BYTES,
        bitmaps.to_bytes,
        bitmaps.to_bytes(frozenset((1, 5))),
    ),
)
