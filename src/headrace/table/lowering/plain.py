"""Sources, projections and everything without state."""

from __future__ import annotations

from dataclasses import replace

from headrace.core.expressions import Call, Column, Expression, rewritten
from headrace.core.source import CollectionSpec, FrameSpec, OnDriver
from headrace.graph.nodes import SinkNode
from headrace.graph.relations import (
    LEFT,
    AssignWatermark,
    Correlate,
    Filter,
    FromChangelog,
    LookupJoin,
    Project,
    Scan,
    ToChangelog,
    Values,
)
from headrace.operators.table.calc import CalcOperator
from headrace.operators.table.changelog_normalize import ChangelogNormalizeOperator
from headrace.operators.table.correlate import CorrelateOperator
from headrace.operators.table.drop_update_before import DropUpdateBeforeOperator
from headrace.operators.table.from_changelog import FromChangelogOperator
from headrace.operators.table.lookup_join import LookupJoinOperator
from headrace.operators.table.to_changelog import ToChangelogOperator
from headrace.operators.table.values import value_records
from headrace.operators.table.watermark_assigner import WatermarkAssignerOperator
from headrace.plan.relational.traversal import walk
from headrace.sql.resolve_calls import SOURCE_WATERMARK
from headrace.table.lowering.frames import native_frame
from headrace.table.lowering.lookups import lookup_hint, lookup_of, partial_cache, shaped
from headrace.table.lowering.lowering import Lowering
from headrace.table.lowering.stream_scans import StreamRows


def scan(lowering: Lowering, relation: Scan) -> int:
    """A table's rows; upserts are made a full changelog where that is wanted."""
    name = ".".join(relation.path)
    if relation.stream is not None:
        rows = StreamRows(relation.converter)
        node = lowering.operator(f"DataStream to {name}", (relation.stream,), rows)
    else:
        spec = relation.source.reader()
        if spec is None:
            spec = FrameSpec(
                OnDriver(native_frame(relation)),
                relation.types,
                relation.source.bounded,
                name,
                relation.source.by_files,
            )
        node = _without_bad_rows(lowering, relation, lowering.source(name, spec))
    if relation.primary_key is None or not _is_normalized(lowering, relation):
        return node
    if relation.source.changelog.updates_before:
        # What a row was before is known by its key; told once more it would look like a deletion.
        node = lowering.operator("DropUpdateBefore", (node,), DropUpdateBeforeOperator())
    keyed = lowering.by_columns(node, relation.primary_key, relation.types, "a primary key")
    operator = ChangelogNormalizeOperator(
        relation.types, ttl_ms=lowering.settings.ttl_ms, **lowering.changes(relation)
    )
    return lowering.operator("ChangelogNormalize", (keyed,), operator)


def _without_bad_rows(lowering: Lowering, relation: Scan, node: int) -> int:
    """Rows that could not be read go their own way, if the source lets them pass."""
    name = ".".join(relation.path)
    bad_rows = relation.source.bad_rows(name)
    if bad_rows is None:
        return node
    if bad_rows.keep is not None:
        sink = bad_rows.keep
        lowering.beside.append(
            lowering.add(SinkNode, f"Bad rows of {name}", (node,), operator=sink)
        )
    return lowering.operator(f"Good rows of {name}", (node,), bad_rows.take_out)


def _is_normalized(lowering: Lowering, relation: Scan) -> bool:
    """Whether changes are completed, or freed of repetitions, from what is known of each key."""
    repeats = lowering.settings.options.get("table.exec.source.cdc-events-duplicate") == "true"
    updates = not relation.source.changelog.insert_only
    return lowering.traits.normalizes(relation) or (repeats and updates)


def values(lowering: Lowering, relation: Values) -> int:
    return lowering.source("Values", CollectionSpec(tuple(value_records(relation.rows))))


def assign_watermark(lowering: Lowering, relation: AssignWatermark) -> int:
    mark = relation.watermark
    if lowering.settings.batch:
        # Nothing is late where all rows are there: time moves once, at the end.
        return lowering.node(relation.input)
    if isinstance(mark, Call) and mark.function is SOURCE_WATERMARK:
        # The stream's own watermarks and times of records are passed on as they are.
        return lowering.node(relation.input)
    by_source = any(
        part.source.makes_watermarks for part in walk(relation.input) if isinstance(part, Scan)
    )
    operator = WatermarkAssignerOperator(
        relation.time,
        relation.watermark,
        idle_after_ms=lowering.settings.idle_after_ms,
        by_source=by_source,
    )
    return lowering.operator("WatermarkAssigner", (lowering.node(relation.input),), operator)


def project(lowering: Lowering, relation: Project) -> int:
    """A projection and the filter below it in one pass."""
    below = relation.input
    condition = None
    if isinstance(below, Filter):
        condition, below = below.condition, below.input
    expressions = relation.expressions
    mode = lowering.mode(below)
    if mode.deletes_by_key:
        expressions = _where_only_keys_are_sure(expressions, mode.key or ())
    operator = CalcOperator(expressions, condition)
    return lowering.operator("Calc", (lowering.node(below),), operator)


def _where_only_keys_are_sure(
    expressions: tuple[Expression, ...], key: tuple[int, ...]
) -> tuple[Expression, ...]:
    """A deletion may have only the key's columns filled: any other may be NULL, whatever its
    declaration says, and so may what is made of it."""

    def unsure(part: Expression) -> Expression:
        if isinstance(part, Column):
            sure = part.index in key
        else:
            sure = not any(each.type.nullable for each in part.inputs)
        if sure or part.type.nullable:
            return part
        return replace(part, type=replace(part.type, nullable=True))

    return tuple(rewritten(expression, unsure) for expression in expressions)


def filter(lowering: Lowering, relation: Filter) -> int:
    operator = CalcOperator(None, relation.condition, width=len(relation.schema))
    return lowering.operator("Calc", (lowering.node(relation.input),), operator)


def correlate(lowering: Lowering, relation: Correlate) -> int:
    operator = CorrelateOperator(
        relation.call, keeps_unmatched=relation.kind == LEFT, condition=relation.condition
    )
    return lowering.operator("Correlate", (lowering.node(relation.input),), operator)


def to_changelog(lowering: Lowering, relation: ToChangelog) -> int:
    width = len(relation.input.schema)
    operator = ToChangelogOperator(width, relation.operations, relation.partition)
    return lowering.operator("ToChangelog", (lowering.node(relation.input),), operator)


def from_changelog(lowering: Lowering, relation: FromChangelog) -> int:
    width = len(relation.input.schema)
    operator = FromChangelogOperator(
        width, relation.operation, relation.operations, relation.partition, **relation.settings
    )
    return lowering.operator("FromChangelog", (lowering.node(relation.input),), operator)


def lookup_join(lowering: Lowering, relation: LookupJoin) -> int:
    hint = lookup_hint(relation)
    calls = hint.settings(lowering.settings.lookups)
    operator = LookupJoinOperator(
        relation.kind == LEFT,
        len(relation.table.schema),
        [key for _, key in relation.keys],
        shaped(lookup_of(relation, hint, calls), relation.table),
        condition=relation.condition,
        cache=partial_cache(relation),
        retry=hint.retry,
        time=lowering.time_column(relation),
        awaited=calls,
    )
    return lowering.operator("LookupJoin", (lowering.node(relation.input),), operator)
