"""Running relations: as one native Spark query where that is possible, else as a job of operators.

A query over bounded tables is one micro-batch, so each key changes once: Spark's own operators
give that result. Streams, changelogs and per-record changes run on key groups.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.connectors.tables.sinks import PrintSink
from headrace.core.logical_types import LogicalType, RowType, YearMonthIntervalType
from headrace.core.table_columns import from_arrow
from headrace.core.table_connector import INSERT, RETRACT, ChangelogMode
from headrace.core.table_values import change_text
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.errors import Unsupported
from headrace.graph.nodes import SinkNode
from headrace.graph.relations import Insert, Relation, Scan
from headrace.jobs.client import JobClient
from headrace.jobs.native_job import launch_native, native_session
from headrace.jobs.results import Collector
from headrace.operators.sinks import CollectOperator
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.plan.relational.changelog import Traits, annotated
from headrace.plan.relational.traversal import walk
from headrace.spark.dependencies import prepare
from headrace.spark.native import RULES as NATIVE_RULES
from headrace.spark.native import Frames, NotNative, named
from headrace.sql.functions.type_rules import children
from headrace.table.interfaces import Executor, Planner, RulePlanner
from headrace.table.lowering import Lowering, LoweringSettings
from headrace.table.lowering.rules import RULES
from headrace.table.option_names import check_options
from headrace.table.settings import TableSettings


@dataclass
class Choice:
    """Which engine runs a query, and why."""

    native: bool
    reasons: list[str] = field(default_factory=list)


class Execution(Executor):
    """Runs the statements of one table environment."""

    def __init__(
        self, env: StreamExecutionEnvironment, settings: TableSettings,
        planner: Planner | None = None,
    ):  # fmt: skip
        self.env = env
        self.settings = settings
        self.planner = planner or RulePlanner()
        self._told_options: set[str] = set()
        self._beside: list[int] = []
        """Sinks of what is being lowered, besides those that its statements name."""

    def run(self, inserts: Sequence[Insert], name: str) -> JobClient:
        """Run INSERT statements as one job."""
        optimized = [_overwriting(self.optimized(insert)) for insert in inserts]
        for insert in optimized:
            insert.sink.prepare()
        choice = self.choose(optimized)
        final = choice.native
        if choice.native:
            try:
                return self._run_native(optimized, name)
            except NotNative as reason:
                choice = Choice(False, [str(reason)])
        sinks: list[int] = []
        self._beside = []  # those of streams made of tables are in the program already
        for insert in optimized:
            if insert.overwrite:
                why = "; ".join(choice.reasons)
                raise Unsupported(
                    f"INSERT OVERWRITE {'.'.join(insert.path)}, because {why}",
                    hint="Only a query over tables that end can replace a table's rows.",
                )
            sinks.append(self.lower(insert, final=final))
        return self.env.launch(name, roots=[*sinks, *self._beside])

    def collect(self, relation: Relation, collector: Collector, name: str) -> JobClient:
        """Run a query and hand over its changes as tuples (kind, column, …)."""
        optimized = self.optimized(relation)
        final = self.choose([optimized]).native
        if final:
            try:
                return self._collect_native(optimized, collector, name)
            except NotNative:
                pass
        self._beside = []
        node = self.lower(optimized, final=final)
        sink = self.env.builder.add(SinkNode, "Collect", (node,), operator=CollectOperator())
        return self.env.launch(name, {sink: collector}, roots=[sink, *self._beside])

    def optimized(self, relation: Relation) -> Any:
        check_options(self.settings.options, self._told_options)
        self.settings.hand_over(self.env.configuration)
        if isinstance(relation, Insert) and self.settings.batch:
            relation = replace(relation, conflict=None)  # as in Flink, it has no effect there
        with self.settings.compiling():
            return self.planner.optimized(relation)

    # On key groups.

    def lower(
        self, relation: Relation, taken: ChangelogMode = RETRACT, *, final: bool = False
    ) -> int:
        """Add the relation's operators to the program's graph; the id of the last node.

        `final`: the job has no other sources than these tables, and they all end. Then it is one
        micro-batch, and answers as in BATCH mode.
        """
        final = final or self.settings.final
        with self.settings.compiling():
            lowering = self._lowering(annotated(relation, taken, final=final), final)
            node = lowering.node(relation)
        self._beside += lowering.beside
        return node

    def _lowering(self, traits: Traits, final: bool) -> Lowering:
        settings = self.settings
        lowering = LoweringSettings(
            per_record=settings.per_record, zone=settings.zone, batch=settings.batch or final,
            ttl_ms=None if final else settings.ttl_ms, final=final,
            idle_after_ms=settings.idle_after_ms, options=settings.options,
            lookups=settings.awaited_lookups,
        )  # fmt: skip
        return Lowering(self.env.builder, lowering, traits, RULES)

    def planned(self, relations: Sequence[Relation]) -> PhysicalPlan:
        """The plan of a job of these relations, without making it part of the program."""
        scratch = Execution(copy(self.env), self.settings, self.planner)
        builder = scratch.env.builder = copy(self.env.builder)
        builder._nodes, builder._pending = dict(builder._nodes), set()
        final = self.choose(relations).native
        for relation in relations:
            node = scratch.lower(relation, final=final)
            if not isinstance(relation, Insert):
                builder.add(SinkNode, "Collect", (node,), operator=CollectOperator())
        return plan(builder.peek("explained", **scratch.env._graph_settings()))

    # Native.

    def choose(self, relations: Iterable[Relation]) -> Choice:
        """Whether Spark alone may run them, as far as their sources and settings tell."""
        reasons = []
        if self.settings.per_record:
            reasons.append("every record's changes are wanted")
        if self.settings.as_stream:
            reasons.append("the job runs as a stream, to be checkpointed")
        for relation in relations:
            for part in walk(relation):
                if not isinstance(part, Scan):
                    continue
                path = ".".join(part.path)
                if part.stream is not None:
                    reasons.append(f"{path} is a DataStream")
                elif not part.source.bounded:
                    reasons.append(f"{path} never ends")
                elif not part.source.changelog.insert_only:
                    reasons.append(f"{path} has updates and deletions")
        return Choice(not reasons, reasons)

    def _session(self) -> Any:
        return native_session(
            self.env._job_settings(),
            {
                "spark.sql.shuffle.partitions": str(self.env.get_parallelism()),
                "spark.sql.session.timeZone": self.settings.zone,
            },
        )

    def frames(self) -> Frames:
        session = self._session()
        parameters = self.env.config.get_global_job_parameters()
        ready = prepare(session, self.env._job_settings().dependencies)
        return Frames(
            session, NATIVE_RULES, parameters, ready["brought"], unpacked=ready["unpacked"]
        )

    def _run_native(self, inserts: Sequence[Insert], name: str) -> JobClient:
        frames = self.frames()
        with self.settings.compiling():
            works = [self._write(frames, insert) for insert in inserts]

        def work() -> None:
            for each in works:
                each()

        return launch_native(frames.session, name, work, self.env._job_settings())

    def _write(self, frames: Frames, insert: Insert) -> Callable[[], None]:
        if any(not type.nullable for type in insert.types):
            raise NotNative("the sink has columns that must not be NULL")
        if self._enforces_lengths():
            raise NotNative("values are cut or checked by the sink's types")
        if insert.conflict is not None and annotated(insert, final=True).materializes(insert):
            raise NotNative("rows may claim the same key of the sink")
        frame = named(frames.frame(insert.input), insert)
        row = RowType(insert.schema)
        if isinstance(insert.sink, PrintSink):
            _check_transfer(row)
            return lambda: _print(_rows(frame, row), insert.sink)
        write = insert.sink.native(frame)
        if write is None:
            raise NotNative("the sink takes rows")
        return write

    def _enforces_lengths(self) -> bool:
        options = self.settings.options
        return any(
            options.get(f"table.exec.sink.{name}-enforcer", "IGNORE").upper() != "IGNORE"
            for name in ("type-length", "nested-constraint")
        )

    def _collect_native(self, relation: Relation, collector: Collector, name: str) -> JobClient:
        frames = self.frames()
        with self.settings.compiling():
            frame = frames.frame(relation)
        row = RowType(relation.schema)
        _check_transfer(row)
        return launch_native(
            frames.session,
            name,
            lambda: collector.put(list(_rows(frame, row))),
            self.env._job_settings(),
        )


def _overwriting(insert: Any) -> Any:
    """The statement with a sink that replaces the table's rows, if it says so."""
    if not insert.overwrite:
        return insert
    sink = insert.sink.overwriting()
    if sink is None:
        raise Unsupported(
            f"INSERT OVERWRITE {'.'.join(insert.path)}: its connector cannot remove rows",
            hint="Use INSERT INTO.",
        )
    return replace(insert, sink=sink)


def _check_transfer(type: LogicalType) -> None:
    """Arrow, in which Spark hands rows over, has no type for months."""
    if isinstance(type, YearMonthIntervalType):
        raise NotNative("intervals of months cannot be handed over by Spark")
    for part in children(type):
        _check_transfer(part)


def _rows(frame: Any, row: RowType) -> Iterator[tuple[Any, ...]]:
    table = frame.toArrow()
    columns = [from_arrow(table.column(at), type) for at, type in enumerate(row.types)]
    return zip([INSERT] * table.num_rows, *columns, strict=True)


def _print(rows: Iterable[tuple[Any, ...]], sink: Any) -> None:
    start = f"{sink.identifier}> " if sink.identifier else ""
    for row in rows:
        print(
            start + change_text(row, sink.row.types), flush=True,
            file=sys.stderr if sink.to_error else sys.stdout,
        )  # fmt: skip
