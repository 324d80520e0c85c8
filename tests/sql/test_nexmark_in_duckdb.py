"""DuckDB gives for the Nexmark queries what is recorded: two judges, one answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.nexmark import generator
from bench.nexmark.queries import NAMES
from tests.cases import nexmark_in_duckdb
from tests.cases.checksums import digest
from tests.spark import nexmark


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("nexmark")
    generator.write(folder, nexmark.EVENTS)
    with nexmark_in_duckdb.tables(folder) as made:
        yield made


@pytest.mark.parametrize("name", [name for name in NAMES if name != "q12"])
def test_answers_are_those_that_are_recorded(name: str, database: Any) -> None:
    """All but q12, which counts by the clock."""
    header, rows = nexmark_in_duckdb.answers(name, database)
    assert rows
    assert digest(header, rows) == nexmark.expected()[name]


def test_the_generator_gives_the_same_events_each_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        generator.write(tmp_path / name, 200)
    one, two = (tmp_path / name / "csv" / "part-1.csv" for name in ("one", "two"))
    assert one.read_text() == two.read_text()
