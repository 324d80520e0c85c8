"""Values made of values, what is inside them, and what type they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression, Literal
from headrace.core.logical_types import STRING, LogicalType
from headrace.operators.functions import values
from headrace.sql.functions.conversion import cast
from headrace.sql.functions.parameters import (
    ANY,
    ARRAY,
    INTEGER,
    MAP,
    ROW,
    TEXT,
    TRUTH,
    kind_of,
    literal,
)
from headrace.sql.functions.row import FunctionRow, example, of, signature
from headrace.sql.functions.type_rules import can_cast_implicitly, common_type

_INTS = lt.ArrayType(lt.INT)
_VARIANT = kind_of("VARIANT", lt.VariantType)
_COUNTS = lt.MapType(STRING, lt.INT)
_PAIR = lt.RowType((lt.Field("a", lt.INT), lt.Field("b", STRING)), nullable=False)


def _array_type(arguments: Sequence[Expression]) -> LogicalType | None:
    return lt.ArrayType(arguments[0].type.with_nullable(_any(arguments)))


def _any(arguments: Sequence[Expression]) -> bool:
    return any(argument.type.nullable for argument in arguments)


def _pairs(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    """Keys as one type and values as one type."""
    keys = common_type([key.type for key in arguments[::2]])
    items = common_type([item.type for item in arguments[1::2]])
    if keys is None or items is None:
        return None
    return [
        cast(argument, (items if position % 2 else keys).with_nullable(argument.type.nullable))
        for position, argument in enumerate(arguments)
    ]


def _map_type(arguments: Sequence[Expression]) -> LogicalType:
    keys, items = arguments[::2], arguments[1::2]
    key = keys[0].type.with_nullable(_any(keys))
    return lt.MapType(key, items[0].type.with_nullable(_any(items)))


def _row_type(arguments: Sequence[Expression]) -> LogicalType:
    fields = (lt.Field(f"EXPR${at}", one.type) for at, one in enumerate(arguments))
    return lt.RowType(tuple(fields))


def _element_type(arguments: Sequence[Expression]) -> LogicalType | None:
    type = arguments[0].type
    if isinstance(type, lt.ArrayType | lt.MultisetType):
        return type.element
    if isinstance(type, lt.VariantType):
        return type
    return type.value if isinstance(type, lt.MapType) else None


def _position_fits(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    """A position that is written out counts from 1 on."""
    position = arguments[1]
    before = isinstance(position, Literal) and position.value is not None and position.value < 1
    return None if before else arguments


def _key_fits(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    held, key = arguments[0].type, arguments[1]
    if not isinstance(held, lt.MapType) or not can_cast_implicitly(key.type, held.key):
        return None
    return [arguments[0], cast(key, held.key.with_nullable(key.type.nullable))]


def _spark_list(name: str) -> Any:
    def form(
        texts: Sequence[str], _types: Sequence[LogicalType], _result: LogicalType
    ) -> str | None:
        return f"{name}({', '.join(texts)})"

    return form


def _spark_item(
    texts: Sequence[str], types: Sequence[LogicalType], _result: LogicalType
) -> str | None:
    if isinstance(types[0], lt.VariantType):
        return None
    if isinstance(types[0], lt.ArrayType):
        return f"try_element_at({texts[0]}, CAST({texts[1]} AS INT))"
    return f"try_element_at({texts[0]}, {texts[1]})"


def _object_type(arguments: Sequence[Expression]) -> LogicalType | None:
    """An object is a row whose fields are named by its keys."""
    keys, items = arguments[1::2], arguments[2::2]
    if not all(isinstance(key, Literal) for key in keys):
        return None
    names = [key.value for key in keys if isinstance(key, Literal)]
    if len(set(names)) < len(names):
        return None
    pairs = zip(names, items, strict=True)
    return lt.RowType(tuple(lt.Field(name, item.type) for name, item in pairs))


def _updated(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    """New values as the types of the fields they replace."""
    held = arguments[0].type
    if not isinstance(held, lt.RowType):
        return None
    known = {field.name: field.type for field in held.fields}
    fitted = list(arguments)
    for at in range(1, len(arguments), 2):
        key, item = arguments[at], arguments[at + 1]
        type = known.get(key.value) if isinstance(key, Literal) else None
        if type is None or not can_cast_implicitly(item.type, type):
            return None
        fitted[at + 1] = cast(item, type.with_nullable(item.type.nullable))
    return fitted


FUNCTIONS = (
    FunctionRow(
        names=("ARRAY",),
        doc="An array of values of one type.",
        signatures=(signature(ANY, rest=(ANY,), alike=0),),
        result=_array_type,
        nullable=False,
        meaning=values.array,
        strict=False,
        spark=_spark_list("array"),
        examples=(example(1, 2, gives=(1, 2), type=lt.ArrayType(lt.INT.not_null()).not_null()),),
    ),
    FunctionRow(
        names=("MAP",),
        doc="A map of keys and values in turn.",
        signatures=(signature(ANY, ANY, rest=(ANY, ANY), prepare=_pairs),),
        result=_map_type,
        nullable=False,
        meaning=values.map_of,
        strict=False,
        examples=(example("a", 1, "b", 2, gives={"a": 1, "b": 2}),),
    ),
    FunctionRow(
        names=("ROW",),
        doc="A row of values.",
        signatures=(signature(ANY, rest=(ANY,)),),
        result=_row_type,
        nullable=False,
        meaning=values.array,
        strict=False,
        examples=(example(1, "a", gives=(1, "a")),),
    ),
    FunctionRow(
        names=("ITEM", "ARRAY_ELEMENT"),
        doc="The element at a position from 1 on, or the value of a key; NULL if there is none.",
        signatures=(
            signature(ARRAY, INTEGER, prepare=_position_fits),
            signature(MAP, ANY, prepare=_key_fits),
            signature(_VARIANT, INTEGER),
            signature(_VARIANT, TEXT),
        ),
        result=_element_type,
        nullable=True,
        meaning=values.item,
        by_type=True,
        spark=_spark_item,
        examples=(
            example(of((5, 6), _INTS), 2, gives=6),
            example(of((5, 6), _INTS), 3, gives=None),
            example(of({"a": 1}, _COUNTS), "a", gives=1),
            example(of({"a": 1}, _COUNTS), "b", gives=None),
        ),
    ),
    FunctionRow(
        names=("TYPEOF",),
        doc="The type of a value as text.",
        signatures=(signature(ANY, optional=(literal(TRUTH),)),),
        result=STRING,
        nullable=True,
        meaning=values.type_name,
        by_type=True,
        strict=False,
        examples=(example(1, gives="INT NOT NULL"), example("abc", gives="CHAR(3) NOT NULL")),
    ),
    FunctionRow(
        names=("OBJECT_OF",),
        doc="An object of a class, kept as a row of the given keys and values.",
        signatures=(signature(literal(TEXT), rest=(literal(TEXT), ANY)),),
        result=_object_type,
        nullable=False,
        meaning=values.object_of,
        strict=False,
        examples=(example("Point", "x", 1, "y", 2, gives=(1, 2)),),
    ),
    FunctionRow(
        names=("OBJECT_UPDATE",),
        doc="The object with other values for some of its keys.",
        signatures=(
            signature(ROW, literal(TEXT), ANY, rest=(literal(TEXT), ANY), prepare=_updated),
        ),
        result=lambda arguments: arguments[0].type,
        nullable=lambda arguments: arguments[0].type.nullable,
        meaning=values.object_update,
        by_type=True,
        strict=False,
        examples=(example(of((1, "a"), _PAIR), "a", 5, gives=(5, "a")),),
    ),
)
