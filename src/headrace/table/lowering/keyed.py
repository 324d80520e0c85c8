"""Aggregations, ranks and OVER: relations whose rows depend on other rows of their key."""

from __future__ import annotations

from headrace.core.expressions import SortKey
from headrace.core.logical_types import (
    LocalZonedTimestampType,
    is_proctime,
    is_rowtime,
    is_time_attribute,
)
from headrace.errors import InvalidQuery, TableException, Unsupported
from headrace.graph.relations import (
    Aggregate,
    Deduplicate,
    Over,
    Rank,
    Relation,
    SetOperation,
    Sort,
    TableAggregate,
)
from headrace.operators.table.deduplicate import DeduplicateOperator, FirstRowOperator
from headrace.operators.table.expand import ExpandOperator, GroupingSets
from headrace.operators.table.group_aggregate import GroupAggregateOperator
from headrace.operators.table.limit import LimitOperator
from headrace.operators.table.local_aggregate import LocalAggregateOperator
from headrace.operators.table.over_aggregate import ProctimeOverOperator, RowtimeOverOperator
from headrace.operators.table.over_changelog import ChangelogOverOperator
from headrace.operators.table.over_partition import PartitionOverOperator
from headrace.operators.table.rank import APPEND, RETRACT, UPSERT, RankOperator
from headrace.operators.table.set_operations import SetOperator
from headrace.operators.table.table_aggregate import TableAggregateOperator
from headrace.operators.table.temporal_sort import (
    EndSortOperator,
    ProctimeSortOperator,
    RowtimeSortOperator,
)
from headrace.operators.table.window_rank import WindowDeduplicateOperator, WindowRankOperator
from headrace.table.lowering.lowering import Lowering


def aggregate(lowering: Lowering, relation: Aggregate) -> int:
    node = lowering.node(relation.input)
    types = relation.input.types
    if relation.grouping_sets is not None:
        return _by_grouping_sets(lowering, relation, node)
    one_group = not relation.keys
    partial = _is_partial(lowering, relation)
    keys = relation.keys
    if partial:
        local = LocalAggregateOperator(keys, relation.calls)
        node = lowering.operator("LocalGroupAggregate", (node,), local)
        types = tuple(types[key] for key in keys)
        keys = tuple(range(len(keys)))
    keyed = lowering.by_columns(node, keys, types, "GROUP BY")
    operator = GroupAggregateOperator(
        relation.calls, retracts=lowering.retracts(relation.input),
        ttl_ms=lowering.ttl_ms(relation),
        row_if_empty=lowering.settings.batch and one_group, partial=partial,
        **lowering.changes(relation),
    )  # fmt: skip
    return lowering.operator("GroupAggregate", (keyed,), operator, 1 if one_group else None)


def _is_partial(lowering: Lowering, relation: Aggregate) -> bool:
    """Whether rows are aggregated before the exchange, so that a group crosses it only once."""
    return (
        not lowering.per_record(relation)
        and not lowering.retracts(relation.input)
        and all(call.user is None and not call.function.ordered for call in relation.calls)
    )


def _by_grouping_sets(lowering: Lowering, relation: Aggregate, node: int) -> int:
    assert relation.grouping_sets is not None
    grouping = GroupingSets(relation.keys, relation.grouping_sets)
    node = lowering.operator("Expand", (node,), ExpandOperator(grouping))
    width = len(relation.input.schema)
    types = [relation.input.types[key] for key in relation.keys]
    keyed = lowering.exchanged_by_set(node, range(width, width + grouping.added), types)
    operator = GroupAggregateOperator(
        relation.calls, retracts=lowering.retracts(relation.input), grouping=grouping,
        ttl_ms=lowering.ttl_ms(relation),
        **lowering.changes(relation),
    )  # fmt: skip
    return lowering.operator("GroupAggregate", (keyed,), operator)


def table_aggregate(lowering: Lowering, relation: TableAggregate) -> int:
    if relation.window is not None:
        raise Unsupported("flat_aggregate over a window")
    keyed = lowering.by_columns(
        lowering.node(relation.input), relation.keys, relation.input.types, "GROUP BY"
    )
    fields = relation.schema[len(relation.keys) :]
    operator = TableAggregateOperator(
        relation.call, fields, ttl_ms=lowering.settings.ttl_ms, **lowering.changes(relation)
    )
    return lowering.operator("GroupTableAggregate", (keyed,), operator)


def rank(lowering: Lowering, relation: Rank) -> int:
    partition, windows, types = relation.partition, relation.window_columns, relation.input.types
    if windows is not None and lowering.settings.final and relation.function != "ROW_NUMBER":
        # Where all rows are there, a window's columns are some of the partition's.
        partition, windows = partition + windows, None
    node = lowering.by_columns(lowering.node(relation.input), partition, types, "PARTITION BY")
    if windows is not None:
        window = WindowRankOperator(
            windows, relation.order, types, first=relation.first,
            last=relation.last, with_rank=relation.with_rank, function=relation.function,
            retracts=lowering.retracts(relation.input), event_time=_by_event_time(relation),
            zone=window_zone(lowering, relation.input),
        )  # fmt: skip
        return lowering.operator("WindowRank", (node,), window)
    kind, row_key = _rank_input(lowering, relation)
    operator = RankOperator(
        relation.order, types, function=relation.function, first=relation.first,
        last=None if relation.last_column is not None else relation.last,
        last_column=relation.last_column, with_rank=relation.with_rank, input=kind,
        row_key=row_key, ttl_ms=lowering.ttl_ms(relation),
        **lowering.changes(relation),
    )  # fmt: skip
    return lowering.operator("Rank", (node,), operator)


def _rank_input(lowering: Lowering, relation: Rank) -> tuple[str, tuple[int, ...] | None]:
    mode = lowering.mode(relation.input)
    if mode.insert_only:
        return APPEND, None
    if mode.upsert:
        return UPSERT, mode.key
    return RETRACT, None


def _by_event_time(relation: Relation) -> bool:
    """Whether a window's rows wait for the watermark; by the clock if the time is PROCTIME."""
    return not any(is_proctime(type) for type in relation.inputs[0].types) or any(
        is_rowtime(type) for type in relation.inputs[0].types
    )


def window_zone(lowering: Lowering, relation: Relation) -> str | None:
    """Windows of TIMESTAMP_LTZ lie where the wall clock of the session's zone says."""
    zoned = any(
        isinstance(type, LocalZonedTimestampType) and is_time_attribute(type)
        for type in relation.types
    )
    return lowering.settings.zone if zoned else None


def deduplicate(lowering: Lowering, relation: Deduplicate) -> int:
    node = lowering.by_columns(
        lowering.node(relation.input), relation.partition, relation.input.types, "PARTITION BY"
    )
    types = relation.input.types
    rowtime = relation.time if is_rowtime(types[relation.time]) else None
    if relation.window_columns is not None:
        window = WindowDeduplicateOperator(
            relation.window_columns, relation.time, types, keep_last=relation.keep_last,
            with_rank=relation.with_rank, event_time=rowtime is not None,
            zone=window_zone(lowering, relation.input),
        )  # fmt: skip
        return lowering.operator("WindowDeduplicate", (node,), window)
    ttl = lowering.ttl_ms(relation)
    if rowtime is not None and not relation.keep_last and lowering.mode(relation).insert_only:
        first = FirstRowOperator(types, rowtime=rowtime, with_rank=relation.with_rank, ttl_ms=ttl)
        return lowering.operator("Deduplicate", (node,), first)
    changes, time = lowering.changes(relation), lowering.time_column(relation)
    if time is not None and rowtime is None and not relation.keep_last:
        # The first row of a key stays. Held back, it would be late where its time matters.
        changes["per_record"] = True
    operator = DeduplicateOperator(
        types, keep_last=relation.keep_last, rowtime=rowtime, with_rank=relation.with_rank,
        ttl_ms=ttl, time=time, **changes,
    )  # fmt: skip
    return lowering.operator("Deduplicate", (node,), operator)


def sort(lowering: Lowering, relation: Sort) -> int:
    node = lowering.node(relation.input)
    types = relation.input.types
    if not relation.keys and lowering.mode(relation.input).insert_only:
        return lowering.operator(
            "Limit",
            (lowering.by_columns(node, (), types, "LIMIT"),),
            LimitOperator(relation.offset, relation.fetch),
            1,
        )
    if relation.fetch is None and not _sorts_everything(lowering):
        return _temporal_sort(lowering, relation, node)
    one = lowering.by_columns(node, (), types, "ORDER BY")
    if relation.fetch is None and not relation.offset and not lowering.retracts(relation.input):
        return lowering.operator("Sort", (one,), EndSortOperator(types, order=relation.keys), 1)
    last = None if relation.fetch is None else relation.offset + relation.fetch
    operator = RankOperator(
        relation.keys, types, first=relation.offset + 1, last=last,
        input=APPEND if lowering.mode(relation.input).insert_only else RETRACT,
        ttl_ms=lowering.settings.ttl_ms, **lowering.changes(relation),
    )  # fmt: skip
    return lowering.operator("SortLimit", (one,), operator, 1)


def _sorts_everything(lowering: Lowering) -> bool:
    """Whether ORDER BY any column waits for the end of the input, as in BATCH mode."""
    return lowering.settings.batch or (
        lowering.settings.options.get("__table.exec.sort.non-temporal.enabled__") == "true"
    )


def _temporal_sort(lowering: Lowering, relation: Sort, node: int) -> int:
    types = relation.input.types
    first = relation.keys[0]
    if not is_time_attribute(types[first.column]) or not first.ascending or relation.offset:
        raise TableException(
            "ORDER BY of a stream must begin with a time attribute, ascending",
            hint="Order by the row's time first, add LIMIT, or run in BATCH mode.",
        )
    if lowering.retracts(relation.input):
        raise InvalidQuery("ORDER BY a time attribute cannot be had for rows that are taken back")
    one = lowering.by_columns(node, (), types, "ORDER BY")
    rest: tuple[SortKey, ...] = relation.keys[1:]
    if is_rowtime(types[first.column]):
        rowtime = RowtimeSortOperator(types, rowtime=first.column, then_by=rest)
        return lowering.operator("TemporalSort", (one,), rowtime, 1)
    return lowering.operator("TemporalSort", (one,), ProctimeSortOperator(types, then_by=rest), 1)


def over(lowering: Lowering, relation: Over) -> int:
    types = relation.input.types
    node = lowering.by_columns(
        lowering.node(relation.input), relation.partition, types, "PARTITION BY"
    )
    parallelism = None if relation.partition else 1
    frame, ttl = relation.frame, lowering.settings.ttl_ms
    preceding = None if frame.preceding is None else int(frame.preceding)
    if relation.follows_time and not lowering.retracts(relation.input):
        first = relation.order[0].column
        if is_rowtime(types[first]):
            rowtime = RowtimeOverOperator(
                types, relation.calls, rowtime=first, unit=frame.unit, preceding=preceding,
                ttl_ms=ttl,
            )  # fmt: skip
            return lowering.operator("OverAggregate", (node,), rowtime, parallelism)
        proctime = ProctimeOverOperator(
            types, relation.calls, order=[key.column for key in relation.order], unit=frame.unit,
            preceding=preceding, ttl_ms=ttl, time=lowering.time_column(relation),
        )  # fmt: skip
        return lowering.operator("OverAggregate", (node,), proctime, parallelism)
    if lowering.settings.batch and not lowering.retracts(relation.input):
        whole = PartitionOverOperator(
            types, relation.calls, order=relation.order, unit=frame.unit,
            preceding=frame.preceding, following=frame.following,
            time=lowering.time_column(relation),
        )  # fmt: skip
        return lowering.operator("OverAggregate", (node,), whole, parallelism)
    operator = ChangelogOverOperator(
        types, relation.calls, order=relation.order, unit=frame.unit, ttl_ms=ttl,
        preceding=frame.preceding, following=frame.following, **lowering.changes(relation),
    )  # fmt: skip
    return lowering.operator("OverAggregate", (node,), operator, parallelism)


def set_operation(lowering: Lowering, relation: SetOperation) -> int:
    nodes = [lowering.node(branch) for branch in relation.branches]
    types = relation.types
    everything = tuple(range(len(types)))
    if relation.kind == "union":
        node = lowering.united(nodes)
        if relation.all:
            return node
        keyed = lowering.by_columns(node, everything, types, "UNION")
        distinct = GroupAggregateOperator(
            (), retracts=any(lowering.retracts(branch) for branch in relation.branches),
            ttl_ms=lowering.settings.ttl_ms, **lowering.changes(relation),
        )  # fmt: skip
        return lowering.operator("Distinct", (keyed,), distinct)
    current = nodes[0]
    for other in nodes[1:]:
        keyed = [
            lowering.by_columns(each, everything, types, relation.kind.upper())
            for each in (current, other)
        ]  # type: ignore[assignment]
        operator = SetOperator(
            relation.kind, all=relation.all, ttl_ms=lowering.settings.ttl_ms or 0,
            **lowering.changes(relation),
        )  # fmt: skip
        current = lowering.operator(relation.kind.capitalize(), keyed, operator)  # type: ignore[arg-type]
    return current
