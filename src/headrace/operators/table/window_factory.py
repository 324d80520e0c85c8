"""Which operator carries out an aggregation by windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import AggregateCall
from headrace.core.operator import Operator
from headrace.errors import Unsupported
from headrace.operators.table.count_window import CountWindowOperator
from headrace.operators.table.group_window import EmitOptions, GroupWindowOperator
from headrace.operators.table.session_aggregate import SessionAggregateOperator
from headrace.operators.table.sliced_aggregate import (
    CumulatingAggregateOperator,
    HoppingAggregateOperator,
)
from headrace.operators.table.window_aggregate import TumblingAggregateOperator
from headrace.operators.table.window_spec import WindowSpec

_BY_KIND: dict[str, Any] = {
    "tumble": TumblingAggregateOperator,
    "hop": HoppingAggregateOperator,
    "cumulate": CumulatingAggregateOperator,
    "session": SessionAggregateOperator,
}


def window_aggregate_operator(
    calls: Sequence[AggregateCall], window: WindowSpec, *, time: int | None,
    properties: tuple[str, ...] = (), emit: EmitOptions | None = None, retracts: bool = False,
    per_record: bool = False, emits_before: bool = True, zone: str | None = None,
) -> Operator:  # fmt: skip
    """The operator for rows that do not carry their windows yet.

    `emit`, `per_record` and `emits_before` are for group windows with early or late results; all
    others give one row a window, and no changes. `zone` is for windows over TIMESTAMP_LTZ.
    """
    if window.kind.startswith("count"):
        if retracts:
            raise Unsupported(
                "windows of so many rows over a table whose rows are taken back",
                hint="Use windows of time, or a table that rows are only added to.",
            )
        return CountWindowOperator(calls, window)
    if emit is not None and emit != EmitOptions():
        return GroupWindowOperator(
            calls, window, time=time, properties=properties, emit=emit, retracts=retracts,
            per_record=per_record, emits_before=emits_before, zone=zone,
        )  # fmt: skip
    operator: Operator = _BY_KIND[window.kind](
        calls, window, time=time, properties=properties, retracts=retracts, zone=zone
    )
    return operator
