"""Queries that Spark's own operators answer."""

from headrace.graph.relations import (
    Aggregate,
    Correlate,
    Deduplicate,
    IntervalJoin,
    Join,
    LookupJoin,
    Over,
    Rank,
    Relation,
    TemporalJoin,
    WindowAggregate,
    WindowJoin,
    WindowTable,
)
from headrace.spark.native import aggregates, joins, windows
from headrace.spark.native.frames import Frames, Rule, named
from headrace.spark.native.types import NotNative

RULES: dict[type[Relation], Rule] = {
    Aggregate: aggregates.aggregate,
    Over: aggregates.over,
    Rank: aggregates.rank,
    Deduplicate: aggregates.deduplicate,
    Join: joins.join,
    IntervalJoin: joins.interval_join,
    WindowJoin: joins.window_join,
    LookupJoin: joins.lookup_join,
    TemporalJoin: joins.temporal_join,
    Correlate: joins.correlate,
    WindowTable: windows.window_table,
    WindowAggregate: windows.window_aggregate,
}

__all__ = ["RULES", "Frames", "NotNative", "named"]
