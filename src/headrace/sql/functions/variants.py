"""Functions of VARIANT values; indexing them is ITEM, writing them JSON_STRING."""

from __future__ import annotations

from headrace.core.logical_types import VariantType
from headrace.core.variant import Variant
from headrace.operators.functions import variants
from headrace.sql.functions.parameters import TEXT, TRUTH
from headrace.sql.functions.row import FunctionRow, example, signature

_VARIANT = VariantType()

FUNCTIONS: tuple[FunctionRow, ...] = (
    FunctionRow(
        names=("PARSE_JSON",),
        doc="The value of a JSON text; an error if it is none, or if a key comes twice.",
        signatures=(signature(TEXT, optional=(TRUTH,)),),
        result=_VARIANT,
        meaning=variants.parse_json,
        examples=(example('{"a":[1,null]}', gives=Variant.of({"a": [1, None]})),),
    ),
    FunctionRow(
        names=("TRY_PARSE_JSON",),
        doc="The value of a JSON text; NULL if it is none, or if a key comes twice.",
        signatures=(signature(TEXT, optional=(TRUTH,)),),
        result=_VARIANT,
        nullable=True,
        meaning=variants.try_parse_json,
        examples=(example('{"a":', gives=None),),
    ),
)
