"""Nexmark queries into upsert sinks: programs that are killed, started again and saved.

python -m tests.spark.sql_fault_jobs <folder> <parallelism> <query> …
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.nexmark.queries import text
from headrace.connectors.tables import register_connector
from headrace.core.logical_types import RowType
from headrace.core.table_connector import (
    CatalogTable,
    ChangelogMode,
    TableConnector,
    TableSink,
)
from headrace.jobs.client import JobClient
from headrace.operators.sinks import WriteOperator
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.table_environment import TableEnvironment
from tests.conftest import ROOT
from tests.spark.conftest import visible
from tests.spark.fault_jobs import Ledger

KEYS = {"q4": ("id",), "q9": ("id",), "q18": ("auction", "bidder")}
Row = tuple[Any, ...]


@dataclass(frozen=True)
class LedgerTable(TableSink):
    """Changes by primary key, each micro-batch's in files that a commit moves into place."""

    folder: Path

    def accepts(self, wanted: ChangelogMode) -> ChangelogMode:
        return replace(wanted, updates_before=False)

    def operator(self) -> WriteOperator:
        return WriteOperator(Ledger(self.folder))


@dataclass(frozen=True)
class LedgerConnector(TableConnector):
    identifier: str = "ledger"

    def sink(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSink:
        return LedgerTable(Path(options["folder"]))


def start(
    folder: Path, queries: Sequence[str], parallelism: int, *, run: str = "checkpoints",
    watched: bool = False, options: Mapping[str, str] | None = None,
) -> JobClient:  # fmt: skip
    """The queries as one checkpointed stream, a file of each table in a micro-batch; without an end
    if watched."""
    register_connector(LedgerConnector())
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env._env.set_parallelism(parallelism)
    given = {
        "execution.checkpointing.interval": "50 ms",
        "execution.checkpointing.dir": str(folder / run),
        "headrace.stream.files-per-batch": "1",
        **(options or {}),
    }
    for key, value in given.items():
        env.get_config().set(key, value)
    tables, inserts = statements(folder, queries, watched=watched)
    for statement in tables:
        env.execute_sql(statement)
    together = env.create_statement_set()
    for statement in inserts:
        together.add_insert_sql(statement)
    client = together.execute().get_job_client()
    assert client is not None
    return client


def statements(
    folder: Path, queries: Sequence[str], *, watched: bool
) -> tuple[list[str], list[str]]:
    """Those of the queries' files, each with a sink of its own that has a primary key."""
    tables: dict[str, None] = {}
    inserts = []
    for query in queries:
        key = f", PRIMARY KEY ({', '.join(KEYS[query])}) NOT ENFORCED"
        sink = f"'connector' = 'ledger', 'folder' = '{folder / 'out' / query}'"
        script = text(query, folder / "data", "${SINK}").replace(
            "\n) WITH (${SINK})", f"{key}) WITH ({sink})"
        )
        if watched:
            reading = "'csv.null-literal' = '', 'source.monitor-interval' = '100 ms'"
            script = script.replace("'csv.null-literal' = ''", reading)
        *created, insert, _ = script.replace(" answers", f" answers_{query}").split(";")
        tables.update(dict.fromkeys(created))
        inserts.append(insert)
    return list(tables), inserts


def rows_of(path: Path) -> list[Row]:
    return [ast.literal_eval(line) for line in path.read_text().splitlines()]


def result(folder: Path, query: str, key: tuple[int, ...]) -> dict[Row, Row]:
    """The table that the committed changes make, by its key: files as they were written."""
    rows: dict[Row, Row] = {}
    files = visible(folder / "out" / query)
    for path in sorted(files, key=lambda path: path.stat().st_mtime_ns):
        for kind, *values in rows_of(path):
            name = tuple(values[at] for at in key)
            if kind in (0, 2):
                rows[name] = tuple(values)
            else:
                del rows[name]
    return rows


def process(
    folder: Path, queries: Iterable[str], parallelism: int = 2, **environ: str
) -> subprocess.Popen[str]:
    """One life of the program, in a session of its own."""
    command = [sys.executable, "-m", "tests.spark.sql_fault_jobs", str(folder), str(parallelism)]
    return subprocess.Popen(
        [*command, *queries], cwd=ROOT, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **environ},
    )  # fmt: skip


def main() -> None:
    folder, parallelism, queries = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    start(folder, queries, parallelism).get_job_execution_result().result()


if __name__ == "__main__":
    main()
