"""Walking over trees of relations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headrace.graph.relations import LookupJoin, Relation

Rule = Callable[[Relation], Relation]


def bottom_up(relation: Relation, rule: Rule) -> Relation:
    """The relation with `rule` applied to each part, inputs first. A part that is used at two
    places stays one part."""
    done: dict[int, tuple[Relation, Relation]] = {}

    def visit(node: Relation) -> Relation:
        known = done.get(id(node))
        if known is not None:
            return known[1]
        inputs = tuple(visit(each) for each in node.inputs)
        changed = any(new is not old for new, old in zip(inputs, node.inputs, strict=True))
        result = rule(node.with_inputs(*inputs) if changed else node)
        # The node itself is kept too: its id must not be given to another one.
        done[id(node)] = (node, result)
        return result

    return visit(relation)


def walk(relation: Relation) -> Iterator[Relation]:
    """It and everything below it, once for each place."""
    yield relation
    for each in relation.inputs:
        yield from walk(each)
    if isinstance(relation, LookupJoin):
        yield from walk(relation.table)
