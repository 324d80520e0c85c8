"""The end of a query: constraints, keys and the sink itself."""

from __future__ import annotations

from headrace.graph.nodes import SinkNode
from headrace.graph.relations import Insert
from headrace.operators.table.constraint_enforcer import (
    ConstraintEnforcerOperator,
    SinkConstraints,
)
from headrace.operators.table.drop_update_before import DropUpdateBeforeOperator
from headrace.operators.table.upsert_materialize import DEDUPLICATE, UpsertMaterializeOperator
from headrace.table.lowering.lowering import Lowering

_PREFIX = "table.exec.sink."


def insert(lowering: Lowering, relation: Insert) -> int:
    node = lowering.node(relation.input)
    node = _constrained(lowering, relation, node)
    types = relation.types
    accepted = lowering.traits.accepted(relation)
    if lowering.traits.materializes(relation):
        assert relation.primary_key is not None
        keyed = lowering.by_columns(node, relation.primary_key, types, "a primary key")
        upsert = UpsertMaterializeOperator(
            types, upsert_key=lowering.mode(relation.input).key,
            conflict=relation.conflict or DEDUPLICATE, ttl_ms=lowering.settings.ttl_ms,
            **lowering.changes(relation),
        )  # fmt: skip
        node = lowering.operator("SinkMaterializer", (keyed,), upsert)
    elif lowering.mode(relation.input).updates_before and not accepted.updates_before:
        dropping = DropUpdateBeforeOperator(relation.primary_key)
        node = lowering.operator("DropUpdateBefore", (node,), dropping)
    return lowering.add(
        SinkNode, f"Sink: {'.'.join(relation.path)}", (node,), operator=relation.sink.operator()
    )


def _constrained(lowering: Lowering, relation: Insert, node: int) -> int:
    options = lowering.settings.options
    constraints = SinkConstraints(
        options.get(f"{_PREFIX}not-null-enforcer", "ERROR").upper(),
        options.get(f"{_PREFIX}type-length-enforcer", "IGNORE").upper(),
        options.get(f"{_PREFIX}nested-constraint-enforcer", "IGNORE").upper(),
    )
    if all(constraints.check(field.name, field.type) is None for field in relation.schema):
        return node
    operator = ConstraintEnforcerOperator(
        relation.schema, constraints, key=relation.primary_key or (),
        deletes_by_key=lowering.mode(relation.input).deletes_by_key,
    )  # fmt: skip
    return lowering.operator("ConstraintEnforcer", (node,), operator)
