"""Which function lowers which relation."""

from __future__ import annotations

from headrace.graph import relations as rel
from headrace.graph.relations import Relation
from headrace.table.lowering import joins, keyed, matches, plain, sinks, windows
from headrace.table.lowering.lowering import Rule

RULES: dict[type[Relation], Rule] = {
    rel.Scan: plain.scan,
    rel.Values: plain.values,
    rel.AssignWatermark: plain.assign_watermark,
    rel.Project: plain.project,
    rel.Filter: plain.filter,
    rel.Correlate: plain.correlate,
    rel.ToChangelog: plain.to_changelog,
    rel.FromChangelog: plain.from_changelog,
    rel.LookupJoin: plain.lookup_join,
    rel.Aggregate: keyed.aggregate,
    rel.TableAggregate: keyed.table_aggregate,
    rel.Rank: keyed.rank,
    rel.Deduplicate: keyed.deduplicate,
    rel.Sort: keyed.sort,
    rel.Over: keyed.over,
    rel.SetOperation: keyed.set_operation,
    rel.WindowTable: windows.window_table,
    rel.WindowAggregate: windows.window_aggregate,
    rel.MatchRecognize: matches.match_recognize,
    rel.Join: joins.join,
    rel.IntervalJoin: joins.interval_join,
    rel.WindowJoin: joins.window_join,
    rel.TemporalJoin: joins.temporal_join,
    rel.Insert: sinks.insert,
}
