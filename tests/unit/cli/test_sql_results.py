"""How the client shows rows."""

from __future__ import annotations

import io
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

from headrace.cli.sql_client.result_rows import ChangeRows, MaterializedRows
from headrace.cli.sql_client.result_views import show_result
from headrace.cli.sql_client.settings import MAX_ROWS, RESULT_MODE, ClientSettings
from headrace.core.logical_types import INT, STRING, Field
from headrace.table.results import TableResult
from headrace.table.table_config import TableConfig
from headrace.table.tableau import Tableau

FIELDS = (Field("word", STRING), Field("n", INT))
BY_TYPE = Tableau(FIELDS, with_kinds=True, fixed=True)
CHANGES = [(0, "a", 1), (0, "b", 1), (1, "a", 1), (2, "a", 2), (3, "b", 1), (0, "c", None)]


def test_the_materialised_result_takes_back_what_was_taken_back() -> None:
    kept = MaterializedRows(FIELDS, 100)
    for change in CHANGES:
        kept.add(change)
    assert list(kept.rows()) == [("a", "2"), ("c", "<NULL>")]
    assert kept.changes == len(CHANGES)


def test_equal_rows_are_counted() -> None:
    kept = MaterializedRows(FIELDS, 100)
    for change in [(0, "a", 1), (0, "a", 1), (0, "a", 1), (3, "a", 1)]:
        kept.add(change)
    assert list(kept.rows()) == [("a", "1")] * 2


@pytest.mark.parametrize("kind", [MaterializedRows, ChangeRows])
def test_the_oldest_rows_go_when_there_are_too_many(kind: Any) -> None:
    kept = kind(FIELDS, 2)
    for number in range(5):
        kept.add((0, "a", number))
    assert [row[-1] for row in kept.rows()] == ["3", "4"]
    assert (len(kept), kept.dropped) == (2, 3)
    assert [row[-1] for row in kept.last(1)] == ["4"]


def settings(mode: str, rows: int = 100) -> ClientSettings:
    return ClientSettings(TableConfig().set(RESULT_MODE, mode).set(MAX_ROWS, rows))


def shown(mode: str, capsys: pytest.CaptureFixture[str], *, terminal: bool = False) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal)
    result = TableResult(FIELDS, rows=CHANGES, tableau=BY_TYPE)
    assert show_result(result, settings(mode), console)
    return capsys.readouterr().out


@pytest.mark.parametrize("terminal", [False, True])
def test_table_mode_shows_the_result(capsys: pytest.CaptureFixture[str], terminal: bool) -> None:
    assert shown("table", capsys, terminal=terminal).splitlines() == [
        "+------+--------+",
        "| word |      n |",
        "+------+--------+",
        "|    a |      2 |",
        "|    c | <NULL> |",
        "+------+--------+",
        "2 rows in set",
    ]


@pytest.mark.parametrize("terminal", [False, True])
def test_changelog_mode_shows_changes(capsys: pytest.CaptureFixture[str], terminal: bool) -> None:
    lines = shown("changelog", capsys, terminal=terminal).splitlines()
    kinds = [line.split("|")[1].strip() for line in lines[3:-2]]
    assert kinds == ["+I", "+I", "-U", "+U", "-D", "+I"]


def test_tableau_mode_prints_as_rows_come(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown("tableau", capsys).splitlines()
    assert lines[1].split() == ["|", "op", "|", "word", "|", "n", "|"]
    assert lines[-1] == "6 rows in set"


def test_the_client_says_when_rows_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(file=io.StringIO())
    show_result(TableResult(FIELDS, rows=CHANGES), settings("changelog", 2), console)
    assert "4 older rows are not shown" in capsys.readouterr().out


class Endless:
    """A query that ends when it is cancelled."""

    def __init__(self) -> None:
        self.cancelled = False

    def __iter__(self) -> Iterator[Any]:
        yield (0, "a", 1)
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(5)
        raise AssertionError("not interrupted")

    def cancel(self) -> Endless:
        self.cancelled = True
        return self

    def result(self) -> None:
        """The future of cancel()."""


@pytest.mark.parametrize("mode", ["table", "changelog", "tableau"])
def test_ctrl_c_cancels_the_query(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    endless = Endless()
    result = TableResult(FIELDS, client=endless, tableau=BY_TYPE)  # type: ignore[arg-type]
    result.changes = lambda: iter(endless)  # type: ignore[method-assign]
    before = signal.getsignal(signal.SIGINT)
    assert not show_result(result, settings(mode), Console(file=io.StringIO()))
    assert endless.cancelled
    assert signal.getsignal(signal.SIGINT) is before
    assert "a" in capsys.readouterr().out
