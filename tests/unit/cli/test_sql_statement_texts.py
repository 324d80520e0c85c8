"""Cutting what was typed into statements."""

from __future__ import annotations

import pytest

from headrace.cli.sql_client.commands import Command, command_of
from headrace.cli.sql_client.statement_texts import is_blank, pieces_of, statements_of


def texts(script: str) -> list[str]:
    return [each.text for each in statements_of(script)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';' ; SELECT `a;b`", ["SELECT ';'", "SELECT `a;b`"]),
        ("SELECT 'it''s;' ;", ["SELECT 'it''s;'"]),
        ("-- one; two\nSELECT 1;", ["SELECT 1"]),
        ("/* a; b */ SELECT 1 -- c;\n;", ["SELECT 1 -- c;"]),
        ("SELECT /*+ OPTIONS('a'=';') */ 1;", ["SELECT /*+ OPTIONS('a'=';') */ 1"]),
        (";;\n ;", []),
        ("// only a comment", []),
    ],
)
def test_semicolons_that_mean_something_end_statements(script: str, expected: list[str]) -> None:
    assert texts(script) == expected


def test_a_statement_knows_its_line_and_column() -> None:
    second = list(statements_of("SELECT 1;\n\n  -- note\n  SELECT\n x;"))[1]
    assert (second.line, second.column) == (3, 2)
    assert second.placed == "\n\n\n  SELECT\n x"


@pytest.mark.parametrize(
    ("text", "opened"),
    [("SELECT 'a", "'"), ("SELECT `a", "`"), ("SELECT /* a", "/*"), ("SELECT /*/", "/*"),
     ("SELECT 'a''", "'"), ("SELECT 'a'", ""), ("SELECT 1", "")],
)  # fmt: skip
def test_what_is_left_open_is_known(text: str, opened: str) -> None:
    assert pieces_of(text).open_with == opened


def test_blank_text() -> None:
    assert is_blank(" -- x\n/* y */ ")
    assert not is_blank("x")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("quit;", Command("QUIT")),
        ("EXIT", Command("QUIT")),
        (" help ;", Command("HELP")),
        ("source 'a file.sql';", Command("SOURCE", "a file.sql")),
        ("SOURCE a.sql", Command("SOURCE", "a.sql")),
        ("SELECT quit FROM t", None),
        ("help me", None),
    ],
)
def test_commands(text: str, command: Command | None) -> None:
    assert command_of(text) == command
