"""Savepoints of former versions can be read and resumed; see tests/savepoints/README.md."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from headrace.datastream import StreamExecutionEnvironment
from headrace.spark.file_store import LocalStore
from headrace.spark.savepoints.metadata import SavepointMetadata
from tests.savepoints import make_v1
from tests.spark.conftest import visible
from tests.spark.savepoint_jobs import settings, to_files

FOLDER = Path(__file__).resolve().parents[1] / "savepoints"


def contents(savepoint: Path) -> list[str]:
    """Every entry of every state, one a line."""
    metadata = SavepointMetadata.read(LocalStore(savepoint))
    found = []
    for state in metadata.states:
        form = state.form
        for batch in pq.read_table(savepoint / state.folder).to_batches():
            rows = batch.select(form.schema.names)
            found += [f"{state.operator} | {form.scope} {form.kind} {state.name!r} | {item!r}"
                      for item in form.decode(rows)]  # fmt: skip
    found += [f"{uid} | source | {position}" for uid, position in metadata.sources.items()]
    found += [f"{uid} | clock | {time}" for uid, time in metadata.time.clocks.items()]
    return sorted(found)


@pytest.mark.smoke
def test_v1_holds_what_was_written() -> None:
    expected = (FOLDER / "v1.contents.txt").read_text(encoding="utf-8").splitlines()
    assert contents(FOLDER / "v1") == expected


@pytest.mark.parametrize("parallelism", [2, 3])
def test_v1_goes_on(tmp_path: Path, parallelism: int) -> None:
    more: dict[str, Any] = {"execution_state__recovery_path": str(FOLDER / "v1")}
    env = StreamExecutionEnvironment.get_execution_environment(settings(tmp_path / "c", **more))
    env.set_parallelism(parallelism)
    to_files(make_v1.build(env, ends=True), tmp_path / "out")
    env.execute("savepoint v1")
    told = Counter(line for file in visible(tmp_path / "out")
                   for line in file.read_text(encoding="utf-8").splitlines())  # fmt: skip
    expected = (FOLDER / "v1.afterwards.txt").read_text(encoding="utf-8").splitlines()
    # To which of the subtasks a record goes that may go to any, nobody says.
    kept = [line for line in told if line.startswith("kept ")]
    assert Counter({line: told[line] for line in told.keys() - kept}) == Counter(expected)
    assert len(kept) == len(make_v1.AFTERWARDS)
    assert all("['a', 'b', 'c'" in line for line in kept)  # union list state
