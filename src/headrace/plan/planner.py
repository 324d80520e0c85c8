"""From the graph the user built to the plan an engine runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.graph.nodes import Graph
from headrace.plan.levels import cut_into_levels
from headrace.plan.physical import PhysicalPlan
from headrace.plan.rules.assign_uids import assign_uids
from headrace.plan.rules.check_claims import check_claims
from headrace.plan.rules.check_uids import check_uids
from headrace.plan.rules.emit_final_only import emit_final_only
from headrace.plan.rules.place_function_state import place_function_state
from headrace.plan.rules.rebalance_unequal import rebalance_unequal
from headrace.plan.rules.settle_parallelism import settle_parallelism

Rule = Callable[[Graph], Graph]

RULES: tuple[Rule, ...] = (
    check_uids,  # first: it speaks of what the user wrote
    check_claims,  # as well
    assign_uids,  # state is named by uid, so nothing below may change one
    rebalance_unequal,  # needs to know which parallelism the user set
    emit_final_only,
    settle_parallelism,  # it fills every gap
    place_function_state,  # last: where records are depends on every parallelism
)


def logical_plan(graph: Graph, rules: Sequence[Rule] = RULES) -> Graph:
    """The graph with everything settled that the user left open."""
    for rule in rules:
        graph = rule(graph)
    return graph


def plan(graph: Graph) -> PhysicalPlan:
    """The plan an engine runs."""
    return cut_into_levels(logical_plan(graph))
