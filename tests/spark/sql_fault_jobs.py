"""Nexmark queries into an upsert sink: programs that are killed, started again and saved.

python -m tests.spark.sql_fault_jobs <folder> <query> <parallelism>
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
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
from headrace.sql import statements as st
from headrace.sql.parse_statements import parse_script
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
    folder: Path, query: str, parallelism: int, *, run: str = "checkpoints",
    watched: bool = False, options: Mapping[str, str] | None = None,
) -> JobClient:  # fmt: skip
    """The query as a checkpointed stream, one file a micro-batch; without an end if watched."""
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
    return inserted(env, query, folder, "'source.monitor-interval' = '100 ms'" if watched else "")


def inserted(env: TableEnvironment, query: str, folder: Path, reading: str) -> JobClient:
    """Run the statements of a query's file; its sink has a primary key."""
    key = f", PRIMARY KEY ({', '.join(KEYS[query])}) NOT ENFORCED"
    sink = f"'connector' = 'ledger', 'folder' = '{folder / 'out'}'"
    script = text(query, folder / "data", "${SINK}").replace(
        "\n) WITH (${SINK})", f"{key}) WITH ({sink})"
    )
    if reading:
        script = script.replace("'csv.null-literal' = ''", f"'csv.null-literal' = '', {reading}")
    client = None
    for statement in parse_script(script):
        result = env._runner.run(statement)
        if isinstance(statement, st.Insert):
            client = result.get_job_client()
    assert client is not None
    return client


def rows_of(path: Path) -> list[Row]:
    return [ast.literal_eval(line) for line in path.read_text().splitlines()]


def result(folder: Path, key: tuple[int, ...]) -> dict[Row, Row]:
    """The table that the committed changes make, by its key: files as they were written."""
    rows: dict[Row, Row] = {}
    for path in sorted(visible(folder / "out"), key=lambda path: path.stat().st_mtime_ns):
        for kind, *values in rows_of(path):
            name = tuple(values[at] for at in key)
            if kind in (0, 2):
                rows[name] = tuple(values)
            else:
                del rows[name]
    return rows


def process(
    folder: Path, query: str, parallelism: int = 2, **environ: str
) -> subprocess.Popen[str]:
    """One life of the program, in a session of its own."""
    command = [sys.executable, "-m", "tests.spark.sql_fault_jobs", str(folder), query]
    return subprocess.Popen(
        [*command, str(parallelism)], cwd=ROOT, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **environ},
    )  # fmt: skip


def main() -> None:
    folder, query, parallelism = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    start(folder, query, parallelism).get_job_execution_result().result()
    print("finished")


if __name__ == "__main__":
    main()
