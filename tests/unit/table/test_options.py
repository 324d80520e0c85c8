"""Options of tables: those that would change a result have an effect or are refused."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from headrace.errors import Unsupported
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.option_names import REFUSED, TUNING, USED
from headrace.table.table_environment import TableEnvironment

PREFIXES = ("table.exec.", "table.optimizer.", "table.")


def _planned(key: str, value: str) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set(key, value)
    for _ in range(2):
        env._execution.optimized(env._session.query_text("SELECT 1"))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("table.exec.legacy-cast-behaviour", "ENABLED"),
        ("table.exec.sink.upsert-materialize", "NONE"),
        ("table.exec.sort.default-limit", "10"),
        ("table.column-expansion-strategy", "EXCLUDE_ALIASED_VIRTUAL_METADATA_COLUMNS"),
        ("table.sql-dialect", "hive"),
    ],
)
def test_what_would_change_a_result_is_refused(key: str, value: str) -> None:
    with pytest.raises(Unsupported, match=key):
        _planned(key, value)


@pytest.mark.parametrize("key", sorted(REFUSED))
def test_their_defaults_are_taken(key: str) -> None:
    for value in REFUSED[key][0]:
        _planned(key, value.upper())


def test_an_unknown_option_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "headrace"):
        _planned("table.exec.state.tll", "1 h")
    (record,) = caplog.records
    assert "'table.exec.state.tll'" in record.getMessage()
    assert "did you mean 'table.exec.state.ttl'?" in record.getMessage()


@pytest.mark.parametrize("key", ["table.exec.mini-batch.enabled", "table.exec.emit.early-fire.x"])
def test_known_ones_are_taken(key: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "headrace"):
        _planned(key, "true")
    assert not caplog.records


def test_every_option_is_in_one_list() -> None:
    assert not USED & TUNING
    assert not (USED | TUNING) & REFUSED.keys()


def test_the_documentation_names_them_all() -> None:
    page = (Path(__file__).parents[3] / "docs" / "tables.md").read_text(encoding="utf-8")
    for key in USED | REFUSED.keys():
        assert f"`{key}`" in page
    for key in TUNING:
        assert any(f"`{key.removeprefix(start)}`" in page for start in PREFIXES)
