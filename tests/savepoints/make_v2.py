"""The job of the savepoint in `v2/`: each operator over tables and streams that has state.

Names, texts and what is stored must stay as they are: the savepoint was written by this program.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headrace.common import Row, Types
from headrace.connectors.tables import register_connector
from headrace.connectors.tables.sinks import PrintSink
from headrace.core.logical_types import RowType
from headrace.core.table_connector import (
    KIND_TEXTS,
    CatalogTable,
    ChangelogMode,
    TableConnector,
    TableSink,
)
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.plan.planner import plan
from headrace.table import StreamTableEnvironment
from tests.savepoints.in_process import save
from tests.savepoints.v2_queries import tables
from tests.savepoints.v2_records import STEPS, add_tables, records_of
from tests.savepoints.v2_streams import streams

_EMIT = "table.exec.emit."


class Line:
    """A result as text, behind the name of where it comes from."""

    def __init__(self, name: str):
        self.name = name

    def __call__(self, result: Any) -> str:
        if not isinstance(result, Row):
            return f"{self.name}: {result}"
        kind = KIND_TEXTS[result.get_row_kind().value]
        return f"{self.name}: {kind}[{', '.join(str(value) for value in result)}]"


@dataclass(frozen=True)
class LinesByKey(PrintSink):
    """Prints changes by key, as a store would take them."""

    def accepts(self, wanted: ChangelogMode) -> ChangelogMode:
        return replace(wanted, updates_before=False)


@dataclass(frozen=True)
class LinesConnector(TableConnector):
    identifier: str = "lines"

    def sink(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSink:
        return LinesByKey(row, "upserted")


def build(env: StreamExecutionEnvironment, *, ends: bool) -> None:
    """Everything, printed as lines."""
    register_connector(LinesConnector())
    records = records_of(env, ends=ends)
    lines = [_line(stream, name) for name, stream in streams(records).items()]
    table_env = StreamTableEnvironment.create(env)
    table_env.get_config().set("table.local-time-zone", "UTC")
    add_tables(table_env, records)
    lines += [
        _line(table_env.to_changelog_stream(table), name)
        for name, table in tables(table_env).items()
    ]
    lines.append(_line(_early(table_env), "early"))
    lines[0].union(*lines[1:]).print().uid("lines")
    table_env.execute_sql(
        "CREATE TABLE upserted (v BIGINT, k STRING, PRIMARY KEY (v) NOT ENFORCED) "
        "WITH ('connector' = 'lines')"
    )
    written = table_env.create_statement_set()
    written.add_insert_sql("INSERT INTO upserted SELECT v, k FROM accounts")
    written.attach_as_datastream()


def _line(stream: DataStream, name: str) -> DataStream:
    return stream.map(Line(name), Types.STRING()).uid(f"{name} lines")


def _early(env: StreamTableEnvironment) -> DataStream:
    """Group windows that go on after their end."""
    env.get_config().set(f"{_EMIT}late-fire.enabled", "true")
    env.get_config().set(f"{_EMIT}late-fire.delay", "0 s")
    env.get_config().set(f"{_EMIT}allow-lateness", "20 s")
    made = env.to_changelog_stream(env.sql_query(
        "SELECT k, TUMBLE_START(ts, INTERVAL '10' SECOND), SUM(v) FROM orders "
        "GROUP BY k, TUMBLE(ts, INTERVAL '10' SECOND)"
    ))  # fmt: skip
    env.get_config().set(f"{_EMIT}late-fire.enabled", "false")
    return made


def take(folder: Path) -> None:
    """Run the job up to where the savepoint is to be, in this process, and take it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)  # half as many files
    build(env, ends=True)
    job = plan(env.builder.peek("savepoint v2", **env._graph_settings()))
    save(job, len(STEPS), folder)


if __name__ == "__main__":
    from tests.savepoints import make_v2

    make_v2.take(Path(sys.argv[1]))  # under its own name: classes are found again by it
