"""The rules that turn what a query asks for into operators, in the order they are applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.graph.relations import Relation
from headrace.plan.relational.compute_join_keys import compute_join_keys
from headrace.plan.relational.drop_idle_watermarks import drop_idle_watermarks
from headrace.plan.relational.materialize_times import materialize_times
from headrace.plan.relational.merge_projects import merge_projects
from headrace.plan.relational.prune_columns import prune_columns
from headrace.plan.relational.push_filters import push_filters
from headrace.plan.relational.push_into_sources import push_into_sources
from headrace.plan.relational.recognise_interval_joins import recognise_interval_joins
from headrace.plan.relational.recognise_lookup_joins import recognise_lookup_joins
from headrace.plan.relational.recognise_ranks import recognise_ranks
from headrace.plan.relational.recognise_window_aggregates import recognise_window_aggregates
from headrace.plan.relational.recognise_window_joins import recognise_window_joins
from headrace.plan.relational.share_equal_parts import share_equal_parts
from headrace.plan.relational.simplify import simplify

Rule = Callable[[Relation], Relation]

RULES: tuple[Rule, ...] = (
    simplify,  # constants first: bounds of intervals and ranks must be literals below
    push_filters,  # a filter right above OVER shows a rank, one inside a join its keys
    merge_projects,  # so that relations that belong together are next to each other
    recognise_interval_joins,
    recognise_lookup_joins,
    recognise_window_joins,
    compute_join_keys,  # of the joins that are left; the others have columns already
    materialize_times,  # the joins that are left are regular ones
    recognise_ranks,
    recognise_window_aggregates,
    drop_idle_watermarks,  # before filters reach the sources: they cannot pass a watermark
    push_filters,
    push_into_sources,
    prune_columns,  # last: rules above look at columns that nobody reads in the end
    merge_projects,
    simplify,  # what was put together may be constant now
    share_equal_parts,  # at the end: rules above make the same of the same
)


def optimize(relation: Relation, rules: Sequence[Rule] = RULES) -> Relation:
    """The relation that is run, with the same rows."""
    for rule in rules:
        relation = rule(relation)
    return relation
