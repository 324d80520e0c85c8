"""Many cases of SQL as one Spark job: a case by itself would cost a job's start.

All tables of the cases are one source, so that Spark plans one; each case picks its rows from it.
A micro-batch has the next row of every table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from headrace.connectors.tables.sinks import PrintRows
from headrace.core.logical_types import RowType
from headrace.core.operator import Batch, Context, Operator
from headrace.core.source import CollectionSpec, SplitSpec
from headrace.core.table_connector import TableSource
from headrace.core.table_values import change_text
from headrace.datastream import StreamExecutionEnvironment
from headrace.graph.nodes import OperatorNode, SinkNode, SourceNode
from headrace.graph.relations import Relation, Scan
from headrace.plan.relational.traversal import bottom_up
from headrace.spark.native.frames import frame_of_rows
from headrace.sql import statements as st
from headrace.sql.parse_statements import parse_statement
from headrace.table.execution import Execution
from headrace.table.settings import TableSettings
from headrace.table.table_environment import TableEnvironment
from tests.spark.forgetful_workers import Forgetful
from tests.sql import sql_cases
from tests.sql.values_connector import CaseSource, Parts
from tests.taken import Taken

Case = dict[str, Any]


class RowsOf(Operator):
    """Of the rows of all tables, those of one."""

    def __init__(self, table: int):
        self.table = table

    def receive(self, side: int, batch: Batch) -> None:
        if rows := [row for table, row in batch.values if table == self.table]:
            self.ctx.emit(rows, None)


class LinesToDriver(Operator):
    """Changes as text, for the driver; the workers it runs in may have to be forgetful."""

    def __init__(self, row: RowType, forgetful: Forgetful | None = None):
        self.row = row
        self.forgetful = forgetful

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        if self.forgetful is not None:
            self.forgetful.open_in_worker()

    def receive(self, side: int, batch: Batch) -> None:
        lines = [change_text(record, self.row.types) for record in batch.values]
        self.ctx.to_driver(("collect", lines))


def relation_of(env: TableEnvironment, case: Case) -> Relation:
    """The optimised statement of a case."""
    statement = parse_statement(case["sql"])
    if not isinstance(statement, st.Query):
        relation: Relation = env._session.insert(statement)
    elif case.get("sink"):
        relation = env._session.written(env._session.query(statement.tree), (case["sink"]["name"],))
    else:
        relation = env._session.query(statement.tree)
    optimized: Relation = env._execution.optimized(relation)
    return optimized


@dataclass
class SharedJob:
    """Collects the operators of cases in one graph."""

    env: StreamExecutionEnvironment
    per_record: bool
    forgetful: Forgetful | None = None
    outputs: dict[int, Taken] = field(default_factory=dict)
    tables: list[list[list[Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        # The first node, so that all others can read from it; its rows are known in the end.
        self._source = self.env.builder.add(SourceNode, "rows", spec=SplitSpec(Parts([])))

    def add(self, case: Case) -> list[str]:
        """Lower a case; its changes will be in the list."""
        own = sql_cases.environment(case, self.per_record)
        relation = relation_of(own, case)
        known = set(self.env.builder._nodes)
        execution = Execution(self.env, TableSettings(own._env.configuration))
        last = execution.lower(relation)
        for node_id in set(self.env.builder._nodes) - known:
            self._share(node_id)
        output = Taken()
        lines = LinesToDriver(RowType(relation.schema), self.forgetful)
        if isinstance(node := self.env.builder[last], SinkNode):
            assert isinstance(node.operator, PrintRows)
            self.env.builder.change(last, operator=lines)
        else:
            last = self.env.builder.add(SinkNode, "out", (last,), operator=lines)
        self.outputs[last] = output
        return output

    def _share(self, node_id: int) -> None:
        """Let a source's rows come from the shared one."""
        node = self.env.builder[node_id]
        if not isinstance(node, SourceNode):
            return
        if isinstance(node.spec, CollectionSpec):
            parts = [list(node.spec.values)]
        else:
            assert isinstance(node.spec, SplitSpec)
            assert isinstance(node.spec.source, Parts)
            parts = node.spec.source.parts
        number = len(self.tables)
        self.tables.append(parts)
        self.env.builder._nodes[node_id] = OperatorNode(
            id=node_id, name=node.name, inputs=(self._source,), operator=RowsOf(number),
            origin=node.origin,
        )  # fmt: skip

    def run(self) -> None:
        steps = [
            [(number, row) for number, part in enumerate(parts) for row in part]
            for parts in zip_longest(*self.tables, fillvalue=[])
        ]
        self.env.builder.change(self._source, spec=SplitSpec(Parts(steps)))
        self.env.launch("cases", self.outputs).get_job_execution_result().result()


def run_together(
    cases: Iterable[Case], *, per_record: bool, parallelism: int,
    forgetful: Forgetful | None = None,
) -> dict[str, list[str]]:  # fmt: skip
    """The changes of each case, by its name."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    env.get_config().set_auto_watermark_interval(0)
    job = SharedJob(env, per_record, forgetful)
    outputs = {case["id"]: job.add(case) for case in cases}
    job.run()
    return outputs


@dataclass(frozen=True)
class FrameSource(CaseSource):
    """A case's table that Spark holds."""

    names: tuple[str, ...] = ()
    types: tuple[Any, ...] = ()

    def native(self, session: Any, files: list[str] | None = None) -> Any:
        rows = tuple(row[1:] for part in self._chosen() for row in part)
        return frame_of_rows(session, rows, self.types).toDF(*self.names)


def with_frames(relation: Relation) -> Relation:
    """The relation, whose tables Spark can read."""

    def change(part: Relation) -> Relation:
        if not isinstance(part, Scan) or not isinstance(part.source, CaseSource):
            return part
        source: TableSource = FrameSource(
            **{name: getattr(part.source, name) for name in CaseSource.__dataclass_fields__},
            names=tuple(field.name for field in part.schema), types=part.types,
        )  # fmt: skip
        return replace(part, source=source)

    return bottom_up(relation, change)
