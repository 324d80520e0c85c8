"""Functions of maps."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.expressions import Expression
from headrace.core.logical_types import ArrayType, Field, LogicalType, MapType, RowType
from headrace.operators.functions import collection
from headrace.sql.functions.parameters import ARRAY, MAP
from headrace.sql.functions.row import FunctionRow, example, signature, type_of


def _parts(type: LogicalType) -> tuple[LogicalType, LogicalType]:
    assert isinstance(type, MapType)
    return type.key, type.value


def _keys(arguments: Sequence[Expression]) -> LogicalType:
    return ArrayType(_parts(arguments[0].type)[0])


def _values(arguments: Sequence[Expression]) -> LogicalType:
    return ArrayType(_parts(arguments[0].type)[1])


def _entries(arguments: Sequence[Expression]) -> LogicalType:
    key, value = _parts(arguments[0].type)
    return ArrayType(RowType((Field("key", key), Field("value", value))))


def _zipped(arguments: Sequence[Expression]) -> LogicalType | None:
    keys, values = (argument.type for argument in arguments)
    if not isinstance(keys, ArrayType) or not isinstance(values, ArrayType):
        return None
    return MapType(keys.element, values.element)


FUNCTIONS: tuple[FunctionRow, ...] = (
    FunctionRow(
        names=("MAP_KEYS",),
        doc="The keys of a map.",
        signatures=(signature(MAP),),
        result=_keys,
        meaning=collection.map_keys,
        spark="map_keys({0})",
        examples=(example({"a": 1}, gives=("a",)),),
    ),
    FunctionRow(
        names=("MAP_VALUES",),
        doc="The values of a map.",
        signatures=(signature(MAP),),
        result=_values,
        meaning=collection.map_values,
        spark="map_values({0})",
        examples=(example({"a": 1}, gives=(1,)),),
    ),
    FunctionRow(
        names=("MAP_ENTRIES",),
        doc="The pairs of a map as rows.",
        signatures=(signature(MAP),),
        result=_entries,
        meaning=collection.map_entries,
        spark="map_entries({0})",
        examples=(example({"a": 1}, gives=(("a", 1),)),),
    ),
    FunctionRow(
        names=("MAP_UNION",),
        doc="The pairs of all maps; of equal keys the last one counts.",
        signatures=(signature(MAP, rest=(MAP,), alike=0),),
        result=type_of(0),
        meaning=collection.map_union,
        examples=(example({"a": 1}, {"a": 2, "b": 3}, gives={"a": 2, "b": 3}),),
    ),
    FunctionRow(
        names=("MAP_FROM_ARRAYS",),
        doc="A map of the keys in one array and the values in another.",
        signatures=(signature(ARRAY, ARRAY),),
        result=_zipped,
        meaning=collection.map_from_arrays,
        examples=(example(("a",), (1,), gives={"a": 1}),),
    ),
)
