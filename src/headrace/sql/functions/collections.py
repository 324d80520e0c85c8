"""Functions of arrays, maps and multisets."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression
from headrace.core.logical_types import (
    BOOLEAN,
    INT,
    STRING,
    ArrayType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
)
from headrace.operators.functions import collection
from headrace.sql.functions import maps
from headrace.sql.functions.parameters import (
    ARRAY,
    TEXT,
    TRUTH,
    Parameter,
    element_of,
    exactly,
    kind_of,
)
from headrace.sql.functions.row import (
    FunctionRow,
    argument_nullable,
    example,
    of,
    signature,
    type_of,
)
from headrace.sql.functions.spark_forms import called, where, where_types

_UNORDERED = (ArrayType, MapType, MultisetType, RowType, lt.RawType, lt.BitmapType, lt.VariantType)


def _sortable_array() -> Parameter:
    def fit(type: LogicalType, _types: Sequence[LogicalType]) -> LogicalType | None:
        return (
            type
            if isinstance(type, ArrayType) and not isinstance(type.element, _UNORDERED)
            else None
        )

    return Parameter("<ARRAY OF COMPARABLE>", fit)


def _array_of_text(type: LogicalType, _types: Sequence[LogicalType]) -> LogicalType | None:
    return type if isinstance(type, ArrayType) and isinstance(type.element, lt.CHARACTERS) else None


def _element(arguments: Sequence[Expression]) -> LogicalType | None:
    type = arguments[0].type
    return type.element if isinstance(type, ArrayType | MultisetType) else None


def _may_lack_element(arguments: Sequence[Expression]) -> bool:
    """Whether the array or its element may be NULL."""
    element = _element(arguments)
    return arguments[0].type.nullable or (element is not None and element.nullable)


def _grown(arguments: Sequence[Expression]) -> LogicalType | None:
    """The array's type; its elements may be NULL if the new one may."""
    element = _element(arguments)
    if element is None:
        return None
    return ArrayType(element.with_nullable(element.nullable or arguments[1].type.nullable))


def _no_nulls(types: Sequence[LogicalType]) -> bool:
    """Whether neither the elements nor what is looked for may be NULL."""
    array, wanted = types[0], types[1]
    return isinstance(array, ArrayType) and not array.element.nullable and not wanted.nullable


def _is_plain(types: Sequence[LogicalType]) -> bool:
    """Whether Spark can tell the elements apart: maps it cannot."""
    return not any(isinstance(t, ArrayType) and isinstance(t.element, MapType) for t in types)


_ORDER = (TRUTH, TRUTH)
_TEXTS = Parameter("ARRAY<STRING>", _array_of_text)
_INT = exactly(INT)
_NULLS = of((1, None, 2), ArrayType(INT))

FUNCTIONS: tuple[FunctionRow, ...] = (
    FunctionRow(
        names=("CARDINALITY",),
        doc="The number of elements.",
        signatures=(signature(kind_of("<COLLECTION>", ArrayType, MapType, MultisetType)),),
        result=INT,
        meaning=collection.cardinality,
        by_type=True,
        spark=where_types(lambda types: not isinstance(types[0], MultisetType), "size({0})"),
        examples=(example((1, 2), gives=2), example({"a": 1}, gives=1)),
    ),
    FunctionRow(
        names=("ELEMENT",),
        doc="The only element of an array; an error if there are several.",
        signatures=(signature(ARRAY),),
        result=_element,
        nullable=_may_lack_element,
        meaning=collection.element,
        examples=(example((1,), gives=1),),
    ),
    FunctionRow(
        names=("ARRAY_APPEND",),
        doc="With one more element at the end.",
        signatures=(signature(ARRAY, element_of(0)),),
        result=_grown,
        strict=False,
        meaning=collection.append,
        examples=(example((1, 2), 3, gives=(1, 2, 3)),),
    ),
    FunctionRow(
        names=("ARRAY_PREPEND",),
        doc="With one more element at the start.",
        signatures=(signature(ARRAY, element_of(0)),),
        result=_grown,
        strict=False,
        meaning=collection.prepend,
        examples=(example((1, 2), 3, gives=(3, 1, 2)),),
    ),
    FunctionRow(
        names=("ARRAY_CONTAINS",),
        doc="Whether a value, which may be NULL, is an element.",
        signatures=(signature(ARRAY, element_of(0)),),
        result=BOOLEAN,
        nullable=argument_nullable(0),
        strict=False,
        meaning=collection.contains,
        spark=where_types(_no_nulls, "array_contains({0}, {1})"),
        examples=(example((1, 2), 2, gives=True), example(_NULLS, None, gives=True)),
    ),
    FunctionRow(
        names=("ARRAY_POSITION",),
        doc="Where a value is first found, from 1; 0 if nowhere.",
        signatures=(signature(ARRAY, element_of(0)),),
        result=INT,
        meaning=collection.position,
        spark="CAST(array_position({0}, {1}) AS INT)",
        examples=(example((1, 2, 2), 2, gives=2),),
    ),
    FunctionRow(
        names=("ARRAY_REMOVE",),
        doc="Without the elements that equal a value, which may be NULL.",
        signatures=(signature(ARRAY, element_of(0)),),
        result=type_of(0),
        nullable=argument_nullable(0),
        strict=False,
        meaning=collection.remove,
        spark=where_types(lambda types: not types[1].nullable, "array_remove({0}, {1})"),
        examples=(example((1, 2, 1), 1, gives=(2,)),),
    ),
    FunctionRow(
        names=("ARRAY_DISTINCT",),
        doc="Each element once.",
        signatures=(signature(ARRAY),),
        result=type_of(0),
        meaning=collection.distinct,
        spark=where_types(_is_plain, "array_distinct({0})"),
        examples=(example((1, 2, 1), gives=(1, 2)),),
    ),
    FunctionRow(
        names=("ARRAY_REVERSE",),
        doc="From the last element to the first.",
        signatures=(signature(ARRAY),),
        result=type_of(0),
        meaning=collection.reverse,
        inline="{0}[::-1]",
        spark="reverse({0})",
        examples=(example((1, 2), gives=(2, 1)),),
    ),
    FunctionRow(
        names=("ARRAY_SLICE",),
        doc="The elements from one position to another, of which negative ones count from the end.",
        signatures=(signature(ARRAY, _INT, optional=(_INT,)),),
        result=type_of(0),
        meaning=collection.slice_of,
        examples=(example((1, 2, 3, 4), 2, 3, gives=(2, 3)), example((1, 2), -1, gives=(2,))),
    ),
    FunctionRow(
        names=("ARRAY_SORT",),
        doc="Sorted, ascending or not, with NULLs first or not.",
        signatures=(signature(_sortable_array(), optional=_ORDER),),
        result=type_of(0),
        meaning=collection.sort,
        spark=where(lambda texts: len(texts) == 1, "sort_array({0})"),
        examples=(example(_NULLS, False, gives=(2, 1, None)),),
    ),
    FunctionRow(
        names=("ARRAY_UNION",),
        doc="The elements of both arrays, each once.",
        signatures=(signature(ARRAY, ARRAY, alike=0),),
        result=type_of(0),
        meaning=collection.union,
        spark=where_types(_is_plain, "array_union({0}, {1})"),
        examples=(example((1, 2), (2, 3), gives=(1, 2, 3)),),
    ),
    FunctionRow(
        names=("ARRAY_CONCAT",),
        doc="The elements of all arrays, one after the other.",
        signatures=(signature(ARRAY, rest=(ARRAY,), alike=0),),
        result=type_of(0),
        meaning=collection.concat,
        spark=called("concat"),
        examples=(example((1,), (1, 2), gives=(1, 1, 2)),),
    ),
    FunctionRow(
        names=("ARRAY_EXCEPT",),
        doc="The elements of the first array that are not in the second, each once.",
        signatures=(signature(ARRAY, ARRAY, alike=0),),
        result=type_of(0),
        meaning=collection.except_of,
        spark=where_types(_is_plain, "array_except({0}, {1})"),
        examples=(example((1, 2, 2), (1,), gives=(2,)),),
    ),
    FunctionRow(
        names=("ARRAY_INTERSECT",),
        doc="The elements of the first array that are also in the second, each once.",
        signatures=(signature(ARRAY, ARRAY, alike=0),),
        result=type_of(0),
        meaning=collection.intersect,
        spark=where_types(_is_plain, "array_intersect({0}, {1})"),
        examples=(example((1, 1, 2), (1, 3), gives=(1,)),),
    ),
    FunctionRow(
        names=("ARRAY_MAX",),
        doc="The largest element.",
        signatures=(signature(_sortable_array()),),
        result=_element,
        nullable=True,
        meaning=collection.maximum,
        spark="array_max({0})",
        examples=(example(_NULLS, gives=2),),
    ),
    FunctionRow(
        names=("ARRAY_MIN",),
        doc="The smallest element.",
        signatures=(signature(_sortable_array()),),
        result=_element,
        nullable=True,
        meaning=collection.minimum,
        spark="array_min({0})",
        examples=(example(_NULLS, gives=1),),
    ),
    FunctionRow(
        names=("ARRAY_JOIN",),
        doc="The texts with a delimiter between them; NULLs are left out or replaced.",
        signatures=(signature(_TEXTS, TEXT, optional=(TEXT,)),),
        result=STRING,
        meaning=collection.join,
        spark=called("array_join"),
        examples=(example(of(("a", None), ArrayType(STRING)), "+", "x", gives="a+x"),),
    ),
    *maps.FUNCTIONS,
)
