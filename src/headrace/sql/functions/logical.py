"""AND, OR, NOT and the tests of truth."""

from __future__ import annotations

import operator

from headrace.core.logical_types import BOOLEAN
from headrace.operators.functions import comparison
from headrace.sql.functions.parameters import TRUTH
from headrace.sql.functions.row import FunctionRow, example, of, signature

_UNKNOWN = of(None, BOOLEAN)


def _test(name: str, inline: str, gives: tuple[bool, bool, bool]) -> FunctionRow:
    """`gives` for TRUE, FALSE and NULL."""
    words = name.replace("_", " ")
    return FunctionRow(
        names=(name,),
        doc=f"Whether it {words.lower()}, which is never NULL itself.",
        signatures=(signature(TRUTH),),
        result=BOOLEAN,
        nullable=False,
        meaning=eval(f"lambda value: {inline.format('value')}"),
        strict=False,
        inline=inline,
        spark=f"({{0}} {words})",
        examples=tuple(
            example(value, gives=given)
            for value, given in zip((True, False, _UNKNOWN), gives, strict=True)
        ),
    )


FUNCTIONS = (
    FunctionRow(
        names=("AND",),
        doc="FALSE if one is FALSE, TRUE if both are TRUE, NULL otherwise.",
        signatures=(signature(TRUTH, TRUTH),),
        result=BOOLEAN,
        meaning=comparison.conjunction,
        strict=False,
        spark="({0} AND {1})",
        examples=(
            example(True, True, gives=True),
            example(_UNKNOWN, False, gives=False),
            example(True, _UNKNOWN, gives=None),
        ),
    ),
    FunctionRow(
        names=("OR",),
        doc="TRUE if one is TRUE, FALSE if both are FALSE, NULL otherwise.",
        signatures=(signature(TRUTH, TRUTH),),
        result=BOOLEAN,
        meaning=comparison.disjunction,
        strict=False,
        spark="({0} OR {1})",
        examples=(
            example(False, True, gives=True),
            example(_UNKNOWN, True, gives=True),
            example(False, _UNKNOWN, gives=None),
        ),
    ),
    FunctionRow(
        names=("NOT",),
        doc="The other truth value; NULL stays NULL.",
        signatures=(signature(TRUTH),),
        result=BOOLEAN,
        meaning=operator.not_,
        inline="not {0}",
        spark="(NOT {0})",
        examples=(example(True, gives=False), example(_UNKNOWN, gives=None)),
    ),
    _test("IS_TRUE", "{0} is True", (True, False, False)),
    _test("IS_NOT_TRUE", "{0} is not True", (False, True, True)),
    _test("IS_FALSE", "{0} is False", (False, True, False)),
    _test("IS_NOT_FALSE", "{0} is not False", (True, False, True)),
    _test("IS_UNKNOWN", "{0} is None", (False, False, True)),
    _test("IS_NOT_UNKNOWN", "{0} is not None", (True, True, False)),
)
