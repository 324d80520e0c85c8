"""Functions that give any number of rows: UNNEST."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headrace.core.expressions import Expression, TableCall, TableFunction
from headrace.core.logical_types import (
    INT,
    ArrayType,
    Field,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
)
from headrace.operators.functions import unnesting
from headrace.sql.functions.parameters import kind_of
from headrace.sql.functions.row import FunctionRow, example, signature

_COLLECTION = kind_of("<COLLECTION>", ArrayType, MapType, MultisetType)


def _columns(arguments: Sequence[Expression]) -> Sequence[Field]:
    type = arguments[0].type
    if isinstance(type, MapType):
        return (Field("KEY", type.key), Field("VALUE", type.value))
    assert isinstance(type, ArrayType | MultisetType)
    return _of_element(type.element)


def _of_element(element: LogicalType) -> Sequence[Field]:
    """A row becomes columns of its own; if it may be NULL, so may they."""
    if not isinstance(element, RowType):
        return (Field("EXPR$0", element),)
    return [
        Field(field.name, field.type.with_nullable(field.type.nullable or element.nullable))
        for field in element.fields
    ]


def _numbered(arguments: Sequence[Expression]) -> Sequence[Field]:
    return (*_columns(arguments), Field("ORDINALITY", INT.not_null()))


def _unnest(type: LogicalType) -> unnesting.Unnest:
    """What to do with a collection depends on its type: rows and arrays look alike."""
    if isinstance(type, MapType):
        return unnesting.pairs
    made = unnesting.members if isinstance(type, MultisetType) else unnesting.elements
    element = type.element if isinstance(type, ArrayType | MultisetType) else type
    return unnesting.spread(made, len(element.fields)) if isinstance(element, RowType) else made


@dataclass(frozen=True, kw_only=True)
class _UnnestRow(FunctionRow):
    ordinality: bool = False

    def bind_table(
        self, arguments: Sequence[Expression], origin: object | None = None
    ) -> TableCall:
        call = super().bind_table(arguments, origin)
        made = _unnest(call.arguments[0].type)
        meaning = unnesting.numbered(made) if self.ordinality else made
        assert isinstance(call.function, TableFunction)
        return replace(call, function=replace(call.function, meaning=meaning))


FUNCTIONS: tuple[FunctionRow, ...] = (
    _UnnestRow(
        names=("UNNEST",),
        doc="A row for each element of an array or multiset, or each pair of a map.",
        signatures=(signature(_COLLECTION),),
        table=TableFunction(name="UNNEST", meaning=unnesting.elements, spark="explode({0})"),
        columns=_columns,
        examples=(
            example((1, 2), gives=((1,), (2,))),
            example({"a": 1}, gives=(("a", 1),)),
        ),
    ),
    _UnnestRow(
        names=("UNNEST_WITH_ORDINALITY",),
        doc="As UNNEST, with the element's number, from 1, as the last column.",
        signatures=(signature(_COLLECTION),),
        table=TableFunction(name="UNNEST_WITH_ORDINALITY", meaning=unnesting.elements),
        columns=_numbered,
        ordinality=True,
        examples=(example(("a", "b"), gives=(("a", 1), ("b", 2))),),
    ),
)
