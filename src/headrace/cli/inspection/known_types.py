"""What PyFlink's methods return and pass, as far as following a program's calls needs it.

Classes are written by name, or as module and name where two classes share one.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.parity import ApiClass, ParityTable

_STREAM_TABLE_ENVIRONMENT = "StreamTableEnvironment"

BASES = {
    "KeyedStream": "DataStream",
    "CachedDataStream": "DataStream",
    _STREAM_TABLE_ENVIRONMENT: "TableEnvironment",
    "KeyedProcessFunction.OnTimerContext": "KeyedProcessFunction.Context",
    "KeyedCoProcessFunction.OnTimerContext": "KeyedCoProcessFunction.Context",
    "KeyedBroadcastProcessFunction.OnTimerContext": "KeyedBroadcastProcessFunction.ReadOnlyContext",
    "BroadcastProcessFunction.Context": "BaseBroadcastProcessFunction.Context",
    "BroadcastProcessFunction.ReadOnlyContext": "BaseBroadcastProcessFunction.ReadOnlyContext",
    "KeyedBroadcastProcessFunction.Context": "BaseBroadcastProcessFunction.Context",
    "KeyedBroadcastProcessFunction.ReadOnlyContext": "BaseBroadcastProcessFunction.ReadOnlyContext",
    "BaseBroadcastProcessFunction.Context": "BaseBroadcastProcessFunction.BaseContext",
    "BaseBroadcastProcessFunction.ReadOnlyContext": "BaseBroadcastProcessFunction.BaseContext",
    "FileSink.RowFormatBuilder": "FileSink.BaseBuilder",
    "FileSink.BulkFormatBuilder": "FileSink.BaseBuilder",
    "RuntimeContext": "KeyedStateStore",
    "ReadOnlyBroadcastState": "State",
    "ListState": "MergingState",
    "ReducingState": "MergingState",
    "AggregatingState": "MergingState",
    "MergingState": "AppendingState",
    "AppendingState": "State",
    "ValueState": "State",
    "MapState": "State",
    "BroadcastState": "ReadOnlyBroadcastState",
    "ValueStateDescriptor": "StateDescriptor",
    "ListStateDescriptor": "StateDescriptor",
    "MapStateDescriptor": "StateDescriptor",
    "ReducingStateDescriptor": "StateDescriptor",
    "AggregatingStateDescriptor": "StateDescriptor",
}

_RETURNS = {
    "StreamExecutionEnvironment": {
        "StreamExecutionEnvironment": "get_execution_environment",
        "DataStream": "from_collection from_source add_source create_input",
        "ExecutionConfig": "get_config",
        "CheckpointConfig": "get_checkpoint_config",
        "JobExecutionResult": "execute",
        "JobClient": "execute_async",
    },
    "DataStream": {
        "DataStream": "map flat_map filter union process project assign_timestamps_and_watermarks "
        "shuffle rebalance rescale forward partition_custom get_side_output "
        "name uid start_new_chain slot_sharing_group force_non_parallel",
        "KeyedStream": "key_by",
        "AllWindowedStream": "window_all",
        "DataStreamSink": "add_sink sink_to print",
        "CachedDataStream": "cache",
        "StreamExecutionEnvironment": "get_execution_environment",
        "ExecutionConfig": "get_execution_config",
        "TypeInformation": "get_type",
        "pyflink.datastream.data_stream.CloseableIterator": "execute_and_collect",
    },
    "KeyedStream": {
        "DataStream": "reduce sum min max min_by max_by",
        "WindowedStream": "window count_window",
    },
    "ConnectedStreams": {"DataStream": "map flat_map process", "ConnectedStreams": "key_by"},
    "BroadcastConnectedStream": {"DataStream": "process"},
    "WindowedStream": {
        "WindowedStream": "trigger allowed_lateness side_output_late_data",
        "DataStream": "reduce aggregate apply process",
    },
    "AllWindowedStream": {
        "AllWindowedStream": "trigger allowed_lateness side_output_late_data",
        "DataStream": "reduce aggregate apply process",
    },
    "AsyncDataStream": {
        "DataStream": "ordered_wait unordered_wait ordered_wait_with_retry "
        "unordered_wait_with_retry"
    },
    "WatermarkStrategy": {
        "WatermarkStrategy": "for_monotonous_timestamps for_bounded_out_of_orderness no_watermarks "
        "with_timestamp_assigner with_idleness with_watermark_alignment"
    },
    "JobClient": {
        "JobID": "get_job_id",
        "CompletableFuture": "get_job_status cancel stop_with_savepoint trigger_savepoint "
        "get_accumulators get_job_execution_result",
    },
    "RuntimeContext": {
        "ValueState": "get_state",
        "ListState": "get_list_state",
        "MapState": "get_map_state",
        "ReducingState": "get_reducing_state",
        "AggregatingState": "get_aggregating_state",
    },
    "ProcessFunction.Context": {"TimerService": "timer_service"},
    "CoProcessFunction.Context": {"TimerService": "timer_service"},
    "KeyedProcessFunction.Context": {"TimerService": "timer_service"},
    "KeyedCoProcessFunction.Context": {"TimerService": "timer_service"},
    "KeyedBroadcastProcessFunction.ReadOnlyContext": {"TimerService": "timer_service"},
    "BaseBroadcastProcessFunction.Context": {"BroadcastState": "get_broadcast_state"},
    "BaseBroadcastProcessFunction.ReadOnlyContext": {
        "ReadOnlyBroadcastState": "get_broadcast_state"
    },
    "FileSource": {"FileSourceBuilder": "for_record_stream_format for_bulk_file_format"},
    "FileSourceBuilder": {"FileSourceBuilder": "monitor_continuously process_static_file_set"},
    "FileSink": {
        "FileSink.RowFormatBuilder": "for_row_format",
        "FileSink.BulkFormatBuilder": "for_bulk_format",
    },
    "TableEnvironment": {
        "TableEnvironment": "create",
        "Table": "from_path from_descriptor sql_query from_elements from_pandas",
        "TableResult": "execute_sql execute_plan",
        "StatementSet": "create_statement_set",
        "TableConfig": "get_config",
        "Catalog": "get_catalog",
        "CompiledPlan": "load_plan compile_plan_sql",
    },
    _STREAM_TABLE_ENVIRONMENT: {
        _STREAM_TABLE_ENVIRONMENT: "create",
        "Table": "from_data_stream from_changelog_stream",
        "DataStream": "to_data_stream to_changelog_stream to_append_stream to_retract_stream",
    },
    "Table": {
        "Table": "select alias filter where distinct join left_outer_join right_outer_join "
        "full_outer_join join_lateral left_outer_join_lateral minus minus_all union union_all "
        "intersect intersect_all order_by offset fetch limit add_columns add_or_replace_columns "
        "rename_columns drop_columns map flat_map",
        "GroupedTable": "group_by",
        "GroupWindowedTable": "window",
        "OverWindowedTable": "over_window",
        "AggregatedTable": "aggregate",
        "FlatAggregateTable": "flat_aggregate",
        "TableResult": "execute execute_insert",
        "TablePipeline": "insert_into",
        "TableSchema": "get_schema",
    },
    "GroupedTable": {
        "Table": "select",
        "AggregatedTable": "aggregate",
        "FlatAggregateTable": "flat_aggregate",
    },
    "GroupWindowedTable": {"WindowGroupedTable": "group_by"},
    "WindowGroupedTable": {"Table": "select", "AggregatedTable": "aggregate"},
    "OverWindowedTable": {"Table": "select"},
    "AggregatedTable": {"Table": "select"},
    "FlatAggregateTable": {"Table": "select"},
    "Tumble": {"TumbleWithSize": "over"},
    "TumbleWithSize": {"TumbleWithSizeOnTime": "on"},
    "Slide": {"SlideWithSize": "over"},
    "SlideWithSize": {"SlideWithSizeAndSlide": "every"},
    "SlideWithSizeAndSlide": {"SlideWithSizeAndSlideOnTime": "on"},
    "Session": {"SessionWithGap": "with_gap"},
    "SessionWithGap": {"SessionWithGapOnTime": "on"},
    "Over": {"OverWindowPartitioned": "partition_by", "OverWindowPartitionedOrdered": "order_by"},
    "OverWindowPartitioned": {"OverWindowPartitionedOrdered": "order_by"},
    "OverWindowPartitionedOrdered": {"OverWindowPartitionedOrderedPreceding": "preceding"},
    "OverWindowPartitionedOrderedPreceding": {"OverWindowPartitionedOrderedPreceding": "following"},
    "StatementSet": {"StatementSet": "add_insert add_insert_sql", "TableResult": "execute"},
    "TableResult": {"pyflink.table.table_result.CloseableIterator": "collect"},
    "TableDescriptor": {"TableDescriptor.Builder": "for_connector"},
    "FormatDescriptor": {"FormatDescriptor.Builder": "for_format"},
    "EnvironmentSettings": {
        "EnvironmentSettings": "in_streaming_mode in_batch_mode",
        "EnvironmentSettings.Builder": "new_instance",
    },
}

CONTEXT_PARAMETERS = {
    ("ProcessFunction", "process_element"): (2, "ProcessFunction.Context"),
    ("KeyedProcessFunction", "process_element"): (2, "KeyedProcessFunction.Context"),
    ("KeyedProcessFunction", "on_timer"): (2, "KeyedProcessFunction.OnTimerContext"),
    ("CoProcessFunction", "process_element1"): (2, "CoProcessFunction.Context"),
    ("CoProcessFunction", "process_element2"): (2, "CoProcessFunction.Context"),
    ("KeyedCoProcessFunction", "process_element1"): (2, "KeyedCoProcessFunction.Context"),
    ("KeyedCoProcessFunction", "process_element2"): (2, "KeyedCoProcessFunction.Context"),
    ("KeyedCoProcessFunction", "on_timer"): (2, "KeyedCoProcessFunction.OnTimerContext"),
    ("BroadcastProcessFunction", "process_element"): (
        2,
        "BroadcastProcessFunction.ReadOnlyContext",
    ),
    ("BroadcastProcessFunction", "process_broadcast_element"): (
        2,
        "BroadcastProcessFunction.Context",
    ),
    ("KeyedBroadcastProcessFunction", "process_element"): (
        2,
        "KeyedBroadcastProcessFunction.ReadOnlyContext",
    ),
    ("KeyedBroadcastProcessFunction", "process_broadcast_element"): (
        2,
        "KeyedBroadcastProcessFunction.Context",
    ),
    ("KeyedBroadcastProcessFunction", "on_timer"): (
        2,
        "KeyedBroadcastProcessFunction.OnTimerContext",
    ),
    ("ProcessWindowFunction", "process"): (2, "ProcessWindowFunction.Context"),
    ("ProcessAllWindowFunction", "process"): (1, "ProcessAllWindowFunction.Context"),
}
"""Position (the receiver is 0) and class of the context that a user's method is called with."""

_FLUENT_PREFIXES = ("set_", "with_", "enable_", "disable_")
_RETURNED_CLASS = {
    (owner, method): returned
    for owner, by_class in _RETURNS.items()
    for returned, methods in by_class.items()
    for method in methods.split()
}


def _connected(method: str, given: Sequence[ApiClass | None]) -> str:
    """The two methods whose result depends on their arguments."""
    if method == "broadcast":
        return "BroadcastStream" if given else "DataStream"
    other = given[0] if given else None
    is_broadcast = other is not None and other.name == "BroadcastStream"
    return "BroadcastConnectedStream" if is_broadcast else "ConnectedStreams"


class KnownTypes:
    """Answers which class a call gives, in terms of the parity table's classes."""

    def __init__(self, table: ParityTable) -> None:
        self._table = table

    def named(self, name: str) -> ApiClass | None:
        """The class of that name; a full name tells namesakes apart."""
        for known in self._table.classes:
            if name in (known.name, known.full_name):
                return known
        return None

    def lineage(self, known: ApiClass) -> list[ApiClass]:
        """The class and those it extends, nearest first."""
        line = [known]
        while (base := BASES.get(line[-1].name)) is not None:
            found = self.named(base)
            if found is None:
                break
            line.append(found)
        return line

    def context_parameter(self, known: ApiClass, method: str) -> tuple[int, ApiClass] | None:
        """Position and class of the context parameter of a user's method."""
        wanted = CONTEXT_PARAMETERS.get((known.name, method))
        if method == "open" and known.module == "pyflink.datastream.functions":
            wanted = (1, "RuntimeContext")
        found = self.named(wanted[1]) if wanted else None
        return (wanted[0], found) if wanted and found else None

    def returned(
        self, receiver: ApiClass, method: str, given: Sequence[ApiClass | None] = ()
    ) -> ApiClass | None:
        """The class of what the method gives; None when it is not known."""
        if method in ("broadcast", "connect") and self.lineage(receiver)[-1].name == "DataStream":
            return self.named(_connected(method, given))
        for known in self.lineage(receiver):
            name = _RETURNED_CLASS.get((known.name, method))
            if name is not None:
                return self.named(name)
        if receiver.name == "Expression" or method.startswith(_FLUENT_PREFIXES):
            return receiver
        return self._built(receiver, method)

    def _built(self, receiver: ApiClass, method: str) -> ApiClass | None:
        """Builders follow one convention: X.builder() gives a builder, build() gives X."""
        name = receiver.name
        if method in ("builder", "new_builder"):
            same = (f"{name}.Builder", f"{name}Builder", f"{name}.{name}Builder")
            return next((c for n in same if (c := self._sibling(receiver, n))), None)
        if not name.endswith("Builder"):
            return None
        if method != "build":
            return receiver
        return self._sibling(receiver, name.rpartition(".")[0] or name.removesuffix("Builder"))

    def _sibling(self, known: ApiClass, name: str) -> ApiClass | None:
        return self._table.class_at(known.module, name)
