"""CASE, IF, COALESCE, NULLIF, GREATEST, LEAST."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression
from headrace.core.logical_types import LogicalType
from headrace.operators.functions import comparison
from headrace.sql.functions.comparison import equal
from headrace.sql.functions.conversion import cast
from headrace.sql.functions.parameters import ANY, TRUTH, kind_of
from headrace.sql.functions.row import FunctionRow, example, of, signature, type_of
from headrace.sql.functions.type_rules import common_type

_NO_INT = of(None, lt.INT)
_COMPARABLE = kind_of(
    "<COMPARABLE>", lt.BooleanType, *lt.NUMERIC, *lt.CHARACTERS, *lt.BINARIES, *lt.DATETIMES,
    *lt.INTERVALS,
)  # fmt: skip


def _branches(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    """The results of a CASE as one type, its conditions as truth values."""
    conditions = arguments[:-1:2]
    if any(TRUTH.target(condition, ()) is None for condition in conditions):
        return None
    results = [*arguments[1::2], arguments[-1]]
    shared = _common([result.type for result in results])
    if shared is None:
        return None
    fitted = list(arguments)
    fitted[:-1:2] = [cast(condition, lt.BOOLEAN) for condition in conditions]
    for position in (*range(1, len(arguments), 2), len(arguments) - 1):
        argument = arguments[position]
        fitted[position] = cast(argument, shared.with_nullable(argument.type.nullable))
    return fitted


def _common(types: Sequence[LogicalType]) -> LogicalType | None:
    """Of the results of a CASE: dates and times do not become timestamps, and of FLOAT and DOUBLE
    Flink takes the first."""
    known = [type for type in types if not isinstance(type, lt.NullType)]
    if not known:
        return lt.NULL
    if all(isinstance(type, lt.APPROXIMATE) for type in known):
        return known[0].with_nullable(any(type.nullable for type in types))
    if any(isinstance(type, lt.TIMESTAMPS) for type in known) and any(
        isinstance(type, lt.DateType | lt.TimeType) for type in known
    ):
        return None
    return common_type(types)


def _result_nullable(arguments: Sequence[Expression]) -> bool:
    results = (*arguments[1::2], arguments[-1])
    return any(result.type.nullable for result in results)


def _if_nullable(arguments: Sequence[Expression]) -> bool:
    return any(argument.type.nullable for argument in arguments[1:])


def _all_nullable(arguments: Sequence[Expression]) -> bool:
    return all(argument.type.nullable for argument in arguments)


def _spark_case(
    texts: Sequence[str], _types: Sequence[LogicalType], _result: LogicalType
) -> str | None:
    *branches, otherwise = texts
    pairs = zip(branches[::2], branches[1::2], strict=True)
    whens = " ".join(f"WHEN {when} THEN {then}" for when, then in pairs)
    return f"CASE {whens} ELSE {otherwise} END"


def _spark_coalesce(
    texts: Sequence[str], _types: Sequence[LogicalType], _result: LogicalType
) -> str | None:
    return f"coalesce({', '.join(texts)})"


def _same_type(arguments: Sequence[Expression]) -> LogicalType | None:
    return arguments[0].type


def _null_if(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    """Compared as their common type, but the result is the first as it was."""
    compared = equal(arguments)
    if compared is None or compared[0] is arguments[0]:
        return compared
    return [arguments[0], *compared]


FUNCTIONS = (
    FunctionRow(
        names=("CASE",),
        doc="The value after the first condition that is TRUE, else the last value.",
        signatures=(signature(ANY, ANY, ANY, rest=(ANY, ANY), prepare=_branches),),
        result=lambda arguments: arguments[-1].type,
        nullable=_result_nullable,
        meaning=comparison.case,
        strict=False,
        spark=_spark_case,
        examples=(
            example(False, 1, True, 2, 3, gives=2),
            example(of(None, lt.BOOLEAN), "a", "b", gives="b"),
        ),
    ),
    FunctionRow(
        names=("IF",),
        doc="The second value if the condition is TRUE, the third otherwise.",
        signatures=(signature(TRUTH, ANY, ANY, alike=1),),
        result=type_of(1),
        nullable=_if_nullable,
        meaning=comparison.case,
        strict=False,
        spark="if({0}, {1}, {2})",
        examples=(example(True, 1, 2, gives=1), example(of(None, lt.BOOLEAN), 1, 2, gives=2)),
    ),
    FunctionRow(
        names=("COALESCE",),
        doc="The first value that is not NULL.",
        signatures=(signature(ANY, rest=(ANY,), alike=0),),
        result=type_of(0),
        nullable=_all_nullable,
        meaning=comparison.first_not_null,
        strict=False,
        spark=_spark_coalesce,
        examples=(
            example(_NO_INT, 5, 6, gives=5, type=lt.INT.not_null()),
            example(_NO_INT, _NO_INT, gives=None),
        ),
    ),
    FunctionRow(
        names=("IFNULL",),
        doc="The first value, or the second where it is NULL.",
        signatures=(signature(ANY, ANY, alike=0),),
        result=type_of(0),
        nullable=_all_nullable,
        meaning=comparison.first_not_null,
        strict=False,
        spark=_spark_coalesce,
        examples=(example(_NO_INT, 5, gives=5),),
    ),
    FunctionRow(
        names=("NULLIF",),
        doc="NULL if both are equal, else the first.",
        signatures=(signature(ANY, ANY, prepare=_null_if),),
        result=_same_type,
        nullable=True,
        meaning=comparison.null_if_equal,
        strict=False,
        examples=(example(5, 5, gives=None), example(5, 0, gives=5)),
    ),
    FunctionRow(
        names=("GREATEST",),
        doc="The greatest value; NULL if one of them is.",
        signatures=(signature(_COMPARABLE, rest=(_COMPARABLE,), alike=0),),
        result=type_of(0),
        meaning=comparison.greatest,
        examples=(example(1, 3, 2, gives=3), example(1, _NO_INT, gives=None)),
    ),
    FunctionRow(
        names=("LEAST",),
        doc="The least value; NULL if one of them is.",
        signatures=(signature(_COMPARABLE, rest=(_COMPARABLE,), alike=0),),
        result=type_of(0),
        meaning=comparison.least,
        examples=(example("b", "a", gives="a"), example(1, _NO_INT, gives=None)),
    ),
)
