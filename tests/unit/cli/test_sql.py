"""`headrace sql` without queries: those need Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headrace.cli.main import app
from headrace.cli.sql_client.command import converse
from headrace.cli.sql_client.session import SqlSession
from headrace.table.table_environment import TableEnvironment

CREATE = "CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'print');"


def client(*arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, ["sql", *arguments], input=typed)


def test_a_script_runs_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "script.sql"
    file.write_text(f"{CREATE}\nSHOW TABLES;\nDESCRIBE t")
    result = client("-f", str(file))
    assert result.exit_code == 0
    assert "table name" in result.stdout
    assert "STRING" in result.stdout


def test_a_script_stops_at_its_first_error(tmp_path: Path) -> None:
    file = tmp_path / "script.sql"
    file.write_text(f"{CREATE}\n\nSELECT x\n  FROM nothing;\nSHOW TABLES;")
    result = client("-f", str(file))
    assert result.exit_code == 1
    assert "line 4, column 8" in result.stderr
    assert "^" * len("nothing") in result.stderr
    assert "table name" not in result.stdout


def test_a_missing_script_is_named() -> None:
    result = client("-f", "nowhere.sql")
    assert result.exit_code == 1
    assert "cannot read nowhere.sql: No such file" in result.stderr


def test_statements_of_the_command_line_after_those_of_init(tmp_path: Path) -> None:
    init = tmp_path / "init.sql"
    init.write_text(CREATE)
    result = client("-i", str(init), "-e", "SHOW TABLES; SHOW CURRENT DATABASE", "-e", "SHOW JOBS")
    assert result.exit_code == 0
    assert "default_database" in result.stdout
    assert "Empty set" in result.stdout


def test_an_error_of_init_ends_the_client(tmp_path: Path) -> None:
    init = tmp_path / "init.sql"
    init.write_text("CREATE nonsense;")
    result = client("-i", str(init), "-e", "SHOW TABLES")
    assert result.exit_code == 1
    assert result.stdout == ""


def test_options_of_the_command_line_are_set() -> None:
    result = client("-D", "parallelism.default=3", "-D", "a=b=c", "-e", "SET; RESET 'a'; SET")
    assert result.stdout.splitlines() == [
        "'a' = 'b=c'", "'parallelism.default' = '3'", "OK", "'parallelism.default' = '3'",
    ]  # fmt: skip


@pytest.mark.parametrize("arguments", [("-D", "nonsense"), ("-f", "x", "-e", "y")])
def test_wrong_arguments_are_refused(arguments: tuple[str, ...]) -> None:
    assert client(*arguments).exit_code == 2


def test_statements_come_through_a_pipe() -> None:
    typed = "SHOW\n  TABLES\n;\nSET 'a' =\n 'b;c'; SET;\nQUIT;\nnonsense;"
    result = client(typed=typed)
    assert result.exit_code == 0
    assert "'a' = 'b;c'" in result.stdout


def test_a_piped_script_stops_at_its_first_error() -> None:
    result = client(typed="nonsense;\nSHOW TABLES;\n")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "did you mean" in result.stderr or "statements start with" in result.stderr


@pytest.mark.parametrize(
    ("key", "value"),
    [("sql-client.execution.result-mode", "tree"),
     ("sql-client.execution.max-table-result.rows", "0")],
)  # fmt: skip
def test_wrong_options_of_the_client_are_refused_at_once(key: str, value: str) -> None:
    result = client("-e", f"SET '{key}' = '{value}'")
    assert result.exit_code == 1
    assert value in result.stderr


def test_a_sourced_file_may_source_others(tmp_path: Path) -> None:
    inner, outer = tmp_path / "in.sql", tmp_path / "out.sql"
    inner.write_text(CREATE)
    outer.write_text(f"SOURCE '{inner}'; SHOW TABLES;")
    assert "table name" in client("-e", f"SOURCE '{outer}'").stdout
    inner.write_text(f"SOURCE '{inner}'")
    result = client("-e", f"SOURCE '{inner}'")
    assert result.exit_code == 1
    assert "reads itself" in result.stderr


def answers(*typed: str) -> Iterator[str]:
    yield from typed
    raise EOFError


def conversation(*typed: str) -> None:
    session = SqlSession(TableEnvironment.create(), interactive=True)
    texts = answers(*typed)
    converse(session, lambda: next(texts))


def test_an_error_does_not_end_a_conversation(capsys: pytest.CaptureFixture[str]) -> None:
    conversation("SELECT FROM;", "HELP", "SHOW CURRENT CATALOG;")
    output = capsys.readouterr()
    assert "[invalid-query]" in output.err
    assert "SOURCE" in output.out
    assert "default_catalog" in output.out


def test_a_statement_set_takes_only_inserts(capsys: pytest.CaptureFixture[str]) -> None:
    conversation(
        CREATE, "END;", "BEGIN STATEMENT SET;", "SHOW TABLES;", "INSERT INTO t VALUES (1, 'x');",
        "QUIT;",
    )  # fmt: skip
    output = capsys.readouterr()
    assert "END without BEGIN STATEMENT SET" in output.err
    assert "only INSERT statements" in output.err
    assert "1 collected" in output.out


def test_an_unknown_job_cannot_be_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    conversation("STOP JOB 'abc';", "DESCRIBE JOB 'abc';")
    assert capsys.readouterr().err.count("there is no job 'abc' of this session") == 2
