"""Several aggregates over distinct values of the same columns, with conditions of their own.

Spark copies each row once for every such aggregate. Here a row is copied once for each list of
distinct columns, and where there is only one list, not at all: rows are grouped by the keys and the
distinct columns first, with a flag for each condition that tells whether a row met it, and with
partial results of the other aggregates. The groups of the keys follow from these.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from headrace.core.expressions import AggregateCall, Expression
from headrace.spark.native.expressions import column, written_call
from headrace.spark.native.frames import Frames

_COUNT = "COUNT"
_MERGED = frozenset({_COUNT, "SUM", "MIN", "MAX"})
"""Aggregates of which those of parts give that of the whole."""

Distinct = tuple[Expression, ...]


def gains(calls: Sequence[AggregateCall]) -> bool:
    """Whether Spark would copy rows more often, and results can be had this way."""
    return any(call.distinct and call.filter is not None for call in calls) and all(
        call.user is None
        and not call.order
        and bool(call.arguments if call.distinct else call.function.name in _MERGED)
        for call in calls
    )


class DistinctGroups:
    """The parts of one grouping, each with the name of its column."""

    def __init__(self, frames: Frames, keys: Sequence[int], calls: Sequence[AggregateCall]):
        self._frames = frames
        self._calls = calls
        self._keys = {column(key): f"k{at}" for at, key in enumerate(keys)}
        lists = dict.fromkeys(call.arguments for call in calls if call.distinct)
        self._distinct: dict[Distinct, list[str]] = {
            arguments: [f"d{number}_{at}" for at in range(len(arguments))]
            for number, arguments in enumerate(lists)
        }
        filters = dict.fromkeys(call.filter for call in calls if call.distinct)
        self._flags = {each: f"f{at}" for at, each in enumerate(filters) if each is not None}

    def frame(self, frame: DataFrame) -> DataFrame:
        """Keys, then calls, of the frame's groups."""
        keys = list(self._keys.values())
        parts = self._parts(frame, keys)
        results = [
            expr(self._result(at, call)).alias(column(len(keys) + at))
            for at, call in enumerate(self._calls)
        ]
        made = parts.groupBy(*keys).agg(*results) if keys else parts.agg(*results)
        return made.toDF(*map(column, range(len(keys) + len(results))))

    def _parts(self, frame: DataFrame, keys: list[str]) -> DataFrame:
        """Groups of the keys and one list of distinct columns each."""
        texts = [f"{name} AS {alias}" for name, alias in self._keys.items()]
        for arguments, names in self._distinct.items():
            texts += [f"{self._frames.text(each)} AS {name}"
                      for each, name in zip(arguments, names, strict=True)]  # fmt: skip
        texts += [f"coalesce({self._frames.text(each)}, FALSE) AS {name}"
                  for each, name in self._flags.items()]  # fmt: skip
        rows = frame.selectExpr("*", *texts)
        lists = list(self._distinct.values())
        partial = [expr(f"bool_or({name})").alias(name) for name in self._flags.values()]
        partial += [expr(self._partial(call)).alias(f"p{at}")
                    for at, call in enumerate(self._calls) if not call.distinct]  # fmt: skip
        # Which list a group is of: all rows are in the groups of each.
        partial += [expr(f"grouping({names[0]})").alias(f"not_{names[0]}")
                    for names in lists if len(lists) > 1]  # fmt: skip
        if len(lists) == 1:
            grouped = rows.groupBy(*keys, *lists[0])
        else:
            every = [name for names in lists for name in names]
            grouped = rows.groupingSets([[*keys, *names] for names in lists], *keys, *every)
        return grouped.agg(*partial)

    def _partial(self, call: AggregateCall) -> str:
        texts = [self._frames.text(each) for each in call.arguments]
        types = [each.type for each in call.arguments]
        # A sum may wrap around in a part and back in the whole.
        return written_call(call, texts, types, self._where(call.filter))

    def _where(self, condition: Expression | None) -> str:
        return "" if condition is None else f" FILTER (WHERE {self._frames.text(condition)})"

    def _result(self, at: int, call: AggregateCall) -> str:
        arguments = call.arguments if call.distinct else next(iter(self._distinct))
        names = self._distinct[arguments]
        conditions = [f"not_{names[0]} = 0"] if len(self._distinct) > 1 else []
        if call.distinct and call.filter is not None:
            conditions.append(self._flags[call.filter])
        rows = f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""
        if call.distinct:
            return written_call(call, names, [each.type for each in arguments], rows)
        if call.function.name == _COUNT:
            return f"coalesce(sum(p{at}){rows}, 0L)"
        return written_call(call, [f"p{at}"], [call.type], rows)
