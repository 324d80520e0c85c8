"""Which columns a row of GROUPING SETS, ROLLUP or CUBE was grouped by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import AggregateFunction
from headrace.core.logical_types import BIGINT, LogicalType
from headrace.errors import InvalidQuery
from headrace.sql.functions.parameters import ANY
from headrace.sql.functions.row import FunctionRow, signature


def _planned(_types: Sequence[LogicalType], _result: LogicalType, _retracts: bool) -> Any:
    raise InvalidQuery(
        "GROUPING and GROUP_ID have a value only beside GROUP BY",
        hint="Use them in the SELECT list or HAVING of a query with GROUPING SETS.",
    )


def _grouping(name: str) -> AggregateFunction:
    return AggregateFunction(name=name, accumulator=_planned, skips_null=False, kind="grouping")


FUNCTIONS = (
    FunctionRow(
        names=("GROUPING", "GROUPING_ID"),
        doc="A bit per column, the last one lowest: 1 if the row was not grouped by it.",
        signatures=(signature(ANY, rest=(ANY,)),),
        result=BIGINT,
        nullable=False,
        aggregate=_grouping("GROUPING"),
    ),
    FunctionRow(
        names=("GROUP_ID",),
        doc="Which of several equal grouping sets the row belongs to.",
        signatures=(signature(),),
        result=BIGINT,
        nullable=False,
        aggregate=_grouping("GROUP_ID"),
    ),
)
