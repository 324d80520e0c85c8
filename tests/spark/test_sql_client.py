"""`headrace sql` with queries, which Spark runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from headrace.cli.main import app
from headrace.cli.sql_client.command import converse
from headrace.cli.sql_client.session import SqlSession
from headrace.table.table_environment import TableEnvironment

TABLES = """
CREATE TABLE words (word STRING, n INT) WITH (
    'connector' = 'filesystem', 'path' = '{folder}/words', 'format' = 'csv', 'bad-rows' = 'skip'
);
CREATE TABLE strict_words (word STRING, n INT) WITH (
    'connector' = 'filesystem', 'path' = '{folder}/words', 'format' = 'csv'
);
CREATE TABLE counts (word STRING, total BIGINT) WITH (
    'connector' = 'filesystem', 'path' = '{folder}/counts', 'format' = 'json'
);
CREATE TABLE endless (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '10');
CREATE TABLE nowhere (n BIGINT) WITH ('connector' = 'blackhole');
"""


@pytest.fixture
def init(tmp_path: Path) -> Path:
    """A script that declares tables."""
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "a.csv").write_text("to,1\nbe,two\nor,3\n")
    file = tmp_path / "init.sql"
    file.write_text(TABLES.format(folder=tmp_path))
    return file


def client(*arguments: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(app, ["sql", *arguments], input=typed)


def test_a_script_inserts_and_selects(init: Path) -> None:
    script = init.with_name("script.sql")
    script.write_text(
        "SET 'table.dml-sync' = 'true';\n"
        "BEGIN STATEMENT SET;\n"
        "INSERT INTO counts SELECT word, n FROM words;\n"
        "INSERT INTO nowhere SELECT n FROM words;\n"
        "END;\n"
        "SET 'sql-client.execution.result-mode' = 'table';\n"
        "SELECT total, word FROM counts;\n"
    )
    result = client("-i", str(init), "-f", str(script), "-D", "execution.runtime-mode=batch")
    assert result.exit_code == 0, result.output
    rows = {tuple(line.strip("| ").split(" | ")) for line in result.stdout.splitlines()}
    assert {("1", "to"), ("3", "or")} <= {tuple(map(str.strip, row)) for row in rows}
    assert "2 rows in set" in result.stdout
    assert "2 bad rows of default_catalog.default_database.words (skipped)" in result.stderr


def test_a_job_that_fails_fails_the_script(init: Path) -> None:
    result = client("-i", str(init), typed="INSERT INTO nowhere SELECT n FROM strict_words;")
    assert result.exit_code == 1
    assert "was started" in result.stdout
    assert "column n: 'two' is no INT" in result.stderr


def test_jobs_are_listed_and_stopped(init: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = SqlSession(TableEnvironment.create(), interactive=True)
    session.run_script(init.read_text())
    typed = iter(["INSERT INTO nowhere SELECT n FROM endless;", "QUIT;"])

    def ask() -> str:
        text = next(typed, None)
        if text is not None:
            return text
        if session.jobs.running():
            (job,) = session.jobs
            return f"SHOW JOBS; STOP JOB '{job.id}'; DESCRIBE JOB '{job.id}';"
        return "QUIT;"

    converse(session, ask)
    output = capsys.readouterr().out
    assert "1 running job ends with the client" in output
    assert "was cancelled" in output
    assert "CANCELED" in output
