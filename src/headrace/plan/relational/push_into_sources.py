"""Conditions on a table are handed to its connector, if it can leave rows out itself."""

from __future__ import annotations

from dataclasses import replace

from headrace.core.expressions import columns_of
from headrace.graph.relations import Filter, Relation, Scan
from headrace.plan.relational.conditions import conjuncts
from headrace.plan.relational.making import restricted
from headrace.plan.relational.traversal import bottom_up


def push_into_sources(relation: Relation) -> Relation:
    return bottom_up(relation, _pushed)


def _pushed(relation: Relation) -> Relation:
    if not isinstance(relation, Filter) or not isinstance(relation.input, Scan):
        return relation
    scan = relation.input
    if not _may_filter(relation, scan):
        return relation
    found = scan.source.with_filter(tuple(conjuncts(relation.condition)))
    if found is None:
        return relation
    source, rest = found
    return restricted(replace(scan, source=source), rest)


def _may_filter(relation: Filter, scan: Scan) -> bool:
    """A row that is left out would leave the old one of its key standing, unless that one is left
    out too: where changes come by key, conditions must be about the key alone."""
    changelog = scan.source.changelog
    if changelog.insert_only or (scan.primary_key is None and not changelog.upsert):
        return True
    return columns_of(relation.condition) <= set(scan.primary_key or ())
