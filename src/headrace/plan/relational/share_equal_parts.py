"""Parts of a query that ask for the same are computed once."""

from __future__ import annotations

from headrace.core.expressions import Call, Expression, UserCall
from headrace.graph.relations import Filter, Project, Relation, Values
from headrace.plan.relational.traversal import bottom_up


def share_equal_parts(relation: Relation) -> Relation:
    known: dict[Relation, Relation] = {}

    def shared(node: Relation) -> Relation:
        # Rows written out are cheap; what is not the same twice must not become the same.
        if isinstance(node, Values) or not _is_repeatable(node):
            return node
        try:
            return known.setdefault(node, node)
        except TypeError:
            # A source, or a constant, that cannot be compared.
            return node

    return bottom_up(relation, shared)


def _is_repeatable(relation: Relation) -> bool:
    expressions: tuple[Expression, ...] = ()
    if isinstance(relation, Project):
        expressions = relation.expressions
    if isinstance(relation, Filter):
        expressions = (relation.condition,)
    return all(_is_deterministic(part) for each in expressions for part in each.walk())


def _is_deterministic(part: Expression) -> bool:
    if isinstance(part, Call | UserCall):
        return part.function.deterministic
    return True
