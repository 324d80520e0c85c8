"""The current time, the processing time and the watermark.

In a stream each row has its own: none of these is folded or evaluated once per batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression
from headrace.core.logical_types import BIGINT, DATE, LogicalType
from headrace.operators.functions import clock
from headrace.sql.functions.parameters import TEXT, TIMEPOINT
from headrace.sql.functions.row import FunctionRow, example, signature

_INSTANT = lt.LocalZonedTimestampType(3)


def _watermark_type(arguments: Sequence[Expression]) -> LogicalType:
    zoned = isinstance(arguments[0].type, lt.LocalZonedTimestampType)
    return lt.LocalZonedTimestampType(3) if zoned else lt.TimestampType(3)


def _now(
    *names: str, doc: str, result: LogicalType, meaning: Callable[..., Any], by_type: bool = False
) -> FunctionRow:
    return FunctionRow(
        names=names,
        doc=doc,
        signatures=(signature(),),
        result=result,
        nullable=False,
        meaning=meaning,
        by_type=by_type,
        deterministic=False,
    )


FUNCTIONS = (
    _now("CURRENT_TIMESTAMP", "NOW", doc="Now.", result=_INSTANT, meaning=clock.now),
    _now(
        "CURRENT_ROW_TIMESTAMP",
        doc="The time at which the row is processed.",
        result=_INSTANT,
        meaning=clock.now,
    ),
    _now(
        "PROCTIME",
        doc="The processing time, as a time attribute.",
        result=lt.LocalZonedTimestampType(3, lt.PROCTIME),
        meaning=clock.now,
    ),
    _now(
        "LOCALTIMESTAMP",
        doc="Now in the session's time zone.",
        result=lt.TimestampType(3),
        meaning=clock.wall_now,
        by_type=True,
    ),
    _now(
        "CURRENT_DATE",
        doc="Today in the session's time zone.",
        result=DATE,
        meaning=clock.date_now,
        by_type=True,
    ),
    _now(
        "CURRENT_TIME",
        "LOCALTIME",
        doc="The time of the day in the session's time zone.",
        result=lt.TimeType(0),
        meaning=clock.time_now,
        by_type=True,
    ),
    FunctionRow(
        names=("UNIX_TIMESTAMP",),
        doc="Seconds since 1970: now, or of a text in the session's time zone.",
        signatures=(signature(), signature(TEXT, optional=(TEXT,))),
        result=BIGINT,
        meaning=clock.unix_timestamp,
        by_type=True,
        deterministic=False,
        examples=(
            example("1970-01-01 00:00:44", gives=44),
            example("1970/01/01 44", "yyyy/MM/dd ss", gives=44),
        ),
    ),
    FunctionRow(
        names=("CURRENT_WATERMARK",),
        doc="The watermark of a time attribute; NULL before the first one.",
        signatures=(signature(TIMEPOINT),),
        result=_watermark_type,
        nullable=True,
        meaning=clock.current_watermark,
        strict=False,
        deterministic=False,
    ),
)
