"""SQL jobs that are killed, saved and started again: the table they make is the same."""

from __future__ import annotations

import random
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from headrace.state import read_savepoint
from tests.spark import nexmark
from tests.spark.conftest import visible, wait_until
from tests.spark.sql_fault_jobs import KEYS, process, result, rows_of, start
from tests.spark.test_nexmark import native

PARTS = 6
STEP = "state-files.after@4"
"""The end of a life, in its midst. What dies at which step of a checkpoint is the matter of
test_kill_matrix.py; here it is the operators' state."""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nexmark-small")
    every = nexmark.generate(folder / "all", events=12_000)
    return nexmark.cut(every, folder / "cut", PARTS, random.Random(5))


def prepared(folder: Path, data: Path) -> Path:
    for query in KEYS:
        (folder / "out" / query).mkdir(parents=True)
    shutil.copytree(data, folder / "data")
    return folder


def wanted(query: str, data: Path) -> tuple[tuple[int, ...], dict[Any, Any]]:
    """Where the key is, and the table that Spark alone makes of all files at once."""
    fields, rows = native(query, data)
    names = [field.name for field in fields]
    key = tuple(names.index(name) for name in KEYS[query])
    return key, {tuple(row[at] for at in key): tuple(row) for row in rows}


def killed_at(folder: Path, step: str) -> None:
    mark = folder / "died"
    life = process(folder, KEYS, HEADRACE_CRASH_AT=step, HEADRACE_CRASH_MARK=str(mark))
    _, messages = life.communicate(timeout=240)
    assert life.returncode == -signal.SIGKILL, messages[-3000:]
    assert (folder / f"died.{step}").exists()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_in_mid_query(tmp_path: Path, data: Path) -> None:
    tables = {query: wanted(query, data) for query in KEYS}
    folder = prepared(tmp_path / "queries", data)
    killed_at(folder, STEP)
    for query, (key, table) in tables.items():
        begun = result(folder, query, key)
        assert begun
        assert begun != table
    start(folder, list(KEYS), 2).get_job_execution_result().result(240)
    for query, (key, table) in tables.items():
        assert result(folder, query, key) == table


def test_saved_and_resumed_at_another_parallelism(tmp_path: Path, data: Path) -> None:
    """The operators of an unchanged query have the same uids, so their state is found again."""
    key, table = wanted("q9", data)
    folder = prepared(tmp_path / "q9", data)
    inbox, out = folder / "data" / "csv", folder / "out" / "q9"
    for path in (later := sorted(inbox.iterdir())[PARTS // 2 :]):
        path.rename(folder / path.name)
    first = start(folder, ["q9"], 2, run="first", watched=True)
    half = wanted("q9", folder / "data")[1]
    wait_until(lambda: result(folder, "q9", key) == half, 120)
    saved = first.stop_with_savepoint(False, str(folder / "savepoints")).result(120)
    first.get_job_execution_result().result(120)
    check_state(saved, half)
    for path in later:
        (folder / path.name).rename(path)
    before = {path.name for path in visible(out)}
    second = start(folder, ["q9"], 3, run="second", watched=True,
                   options={"execution.state-recovery.path": saved})  # fmt: skip
    wait_until(lambda: result(folder, "q9", key) == table, 120)
    second.cancel().result(120)
    assert result(folder, "q9", key) == table
    # What was sent before the savepoint is not sent again.
    sent = [row for path in visible(out) if path.name not in before for row in rows_of(path)]
    assert 0 < len(sent) < len(table)


def check_state(saved: str, table: dict[Any, Any]) -> None:
    """A savepoint of SQL shows its operators and what they hold, as columns."""
    with read_savepoint(saved) as reader:
        held = {info.name: info for info in reader.operators()}
        assert held["Join"].states == ("left-rows", "right-rows")
        best = reader.state(held["Rank"].uid, "best-rows").collect()
        assert {tuple(row.key): tuple(row.value[0])[1:] for row in best} == table
        bids = reader.state(held["Join"].uid, "right-rows")
        assert bids.filter("key.f0 != map_key.f0").count() == 0
        assert bids.count() > len(table)
