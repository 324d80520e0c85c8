"""The prompt of `headrace sql`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from headrace.cli.sql_client.prompt import (
    SqlCompleter,
    SqlPrompt,
    continuation,
    file_history,
    history_file,
)
from headrace.cli.sql_client.session import SqlSession
from headrace.cli.sql_client.statement_texts import StatementText
from headrace.table.table_environment import TableEnvironment


@pytest.fixture
def keyboard() -> Iterator[PipeInput]:
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        yield keys


def prompt() -> SqlPrompt:
    return SqlPrompt(lambda text: [], InMemoryHistory())


def test_enter_begins_a_line_until_there_is_a_semicolon(keyboard: PipeInput) -> None:
    keyboard.send_text("SELECT ';'\r  + 1 -- ;\r;\r")
    assert prompt().ask() == "SELECT ';'\n  + 1 -- ;\n;"


@pytest.mark.parametrize("typed", ["quit", "HELP", "source 'a.sql'"])
def test_commands_need_no_semicolon(keyboard: PipeInput, typed: str) -> None:
    keyboard.send_text(f"{typed}\r")
    assert prompt().ask() == typed


def test_control_d_leaves_and_control_c_forgets(keyboard: PipeInput) -> None:
    keyboard.send_text("\x04")
    with pytest.raises(EOFError):
        prompt().ask()
    keyboard.send_text("SELECT\x03")
    with pytest.raises(KeyboardInterrupt):
        prompt().ask()


def test_what_was_typed_comes_back(keyboard: PipeInput, tmp_path: Path) -> None:
    history = file_history(tmp_path / "below" / "history")
    asking = SqlPrompt(lambda text: [], history)
    keyboard.send_text("SELECT 1;\r")
    asking.ask()
    keyboard.send_text("\x10\r")  # control-p: the one before
    assert asking.ask() == "SELECT 1;"
    again = file_history(tmp_path / "below" / "history")
    assert list(again.load_history_strings()) == ["SELECT 1;"]


def test_history_lies_in_the_folder_of_state(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert history_file() == tmp_path / "headrace" / "sql_history"


@pytest.mark.parametrize(
    ("text", "shown"), [("SELECT 1", "> "), ("SELECT 'a", "'> "), ("/* x", "/*> ")]
)
def test_a_further_line_shows_what_is_open(text: str, shown: str) -> None:
    assert continuation(text, 10)[0][1] == shown.rjust(10)


def completions(text: str) -> list[str]:
    session = SqlSession(TableEnvironment.create())
    session.run(StatementText("CREATE TABLE orders (amount INT) WITH ('connector' = 'datagen')"))
    found = SqlCompleter(session.hints).get_completions(Document(text), CompleteEvent())
    return [text[: len(text) + each.start_position] + each.text for each in found]


def test_names_and_words_are_completed() -> None:
    assert completions("SELECT * FROM or") == ["SELECT * FROM orders"]
    assert completions("SELECT * FROM orders o WHERE o.am") == [
        "SELECT * FROM orders o WHERE o.amount"
    ]
    assert "SHOW TABLES" in completions("SHOW TA")
    assert completions("QU") == ["QUIT"]
    assert "SELECT ABS" in completions("SELECT AB")
