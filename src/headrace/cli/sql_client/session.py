"""One session of the client: runs statements and shows what they give."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from headrace.cli.sql_client.commands import Command, command_of, help_text
from headrace.cli.sql_client.jobs import Jobs, StartedJob, bad_row_lines
from headrace.cli.sql_client.result_views import interruptible, show_result
from headrace.cli.sql_client.settings import ClientSettings, check_option
from headrace.cli.sql_client.statement_texts import StatementText, statements_of
from headrace.core.logical_types import STRING, Field
from headrace.errors import HeadraceError, InvalidArgument, InvalidQuery
from headrace.sql import statements as st
from headrace.sql.completion import completion_hints
from headrace.sql.parse_statements import parse_statement
from headrace.table.results import ResultKind, TableResult, as_inserts
from headrace.table.table_environment import TableEnvironment

_DEEPEST_SOURCE = 20


class Quit(Exception):
    """The user wants to leave."""


class SqlSession:
    """Runs statements one after the other; what they give goes to the terminal."""

    def __init__(self, environment: TableEnvironment, *, interactive: bool = False):
        self.environment = environment
        self.settings = ClientSettings(environment.get_config(), interactive)
        self.jobs = Jobs()
        self.console = Console()
        self._set: list[st.Insert] | None = None
        self._sourced = 0

    @property
    def in_statement_set(self) -> bool:
        return self._set is not None

    def hints(self, text: str) -> list[str]:
        """What could be written next."""
        return completion_hints(self.environment._runner.catalog_session, text)

    def run_script(self, text: str) -> None:
        """Run a script's statements; the first error ends it."""
        for statement in statements_of(text):
            self.run(statement)
            self.raise_failures()

    def raise_failures(self) -> None:
        """A job that failed in the background ends a script, too."""
        for _, error in self.jobs.newly_failed():
            raise error

    def run(self, statement: StatementText) -> None:
        """Run one statement or command; what is wrong with it is raised."""
        command = command_of(statement.text)
        if command is not None:
            self._command(command)
            return
        parsed = parse_statement(statement.placed)
        if self._set is not None and not isinstance(parsed, st.EndStatementSet):
            self._collect(parsed)
            return
        match parsed:
            case st.BeginStatementSet():
                self._set = []
                typer.echo("INSERT statements are collected until END.")
            case st.EndStatementSet():
                self._end_statement_set(parsed)
            case st.Show(what="JOBS"):
                fields = [Field(name, STRING) for name in ("job id", "job name", "status", "start")]
                _printed(fields, self.jobs.rows())
            case st.Describe(kind="JOB"):
                self._describe_job(parsed)
            case st.StopJob():
                typer.echo(self.jobs.stop(parsed))
            case _:
                self._execute(parsed)

    # Statements.

    def _execute(self, statement: st.Statement) -> None:
        if isinstance(statement, st.SetOption):
            if statement.key is None:
                self._list_options()
                return
            check_option(statement.key, statement.value or "")
        with interruptible():
            result = self.environment._runner.run(statement)
        client = result.get_job_client()
        if client is None and result.get_result_kind() is ResultKind.SUCCESS:
            typer.echo("OK")
        elif client is None:
            result.print()
        elif isinstance(statement, st.Query):
            if not show_result(result, self.settings, self.console):
                typer.echo("The query was cancelled.")
            self._say_bad_rows(self._known(result))
        else:
            self._say_started(self._known(result), result)

    def _known(self, result: TableResult) -> StartedJob:
        client = result.get_job_client()
        assert client is not None
        fields = result.fields
        return StartedJob(client, ", ".join(field.name for field in fields))

    def _say_started(self, started: StartedJob, result: TableResult) -> None:
        job = self.jobs.add(started.client, f"insert-into_{started.name}")
        if job.running:
            typer.echo(f"Job {job.id} was started.")
            return
        # With 'table.dml-sync' it has ended by now; what went wrong was raised.
        job.reported = True
        result.wait()
        typer.echo(f"Job {job.id} has finished.")
        self._say_bad_rows(job)

    def _say_bad_rows(self, job: StartedJob) -> None:
        for line in bad_row_lines(job.client):
            typer.secho(line, fg=typer.colors.YELLOW, err=True)

    def _list_options(self) -> None:
        options = self.environment.get_config().to_map()
        for key, value in sorted(options.items()):
            typer.echo(f"'{key}' = '{value}'")

    # Statement sets.

    def _collect(self, statement: st.Statement) -> None:
        assert self._set is not None
        if not isinstance(statement, st.Insert):
            raise InvalidQuery(
                "only INSERT statements can stand between BEGIN STATEMENT SET and END",
                origin=statement.at, hint="write END; to run what was collected",
            )  # fmt: skip
        self._set.append(statement)
        typer.echo(f"{len(self._set)} collected.")

    def _end_statement_set(self, statement: st.Statement) -> None:
        collected, self._set = self._set, None
        if collected is None:
            raise InvalidQuery(
                "END without BEGIN STATEMENT SET", origin=statement.at,
                hint="begin with BEGIN STATEMENT SET;",
            )  # fmt: skip
        if not collected:
            typer.echo("There was nothing to insert.")
            return
        self._execute(st.StatementSet(inserts=tuple(collected), at=statement.at))

    # Jobs.

    def _describe_job(self, statement: st.Describe) -> None:
        job = self.jobs.find(statement.path[0], statement)
        fields = [Field(name, STRING) for name in ("key", "value")]
        rows = [("job id", job.id), ("job name", job.name), ("status", job.status.name)]
        rows += [("bad rows", line) for line in bad_row_lines(job.client)]
        _printed(fields, rows)

    def finish(self) -> None:
        """Wait for the jobs of a script: they live in this process."""
        running = self.jobs.running()
        if running:
            names = ", ".join(job.name for job in running)
            typer.echo(f"Waiting for {names}; Ctrl-C cancels.", err=True)
        with interruptible():
            try:
                self.jobs.wait()
            except KeyboardInterrupt:
                self.jobs.cancel_all()
        for job in self.jobs:
            if not job.reported and job.failure() is None:
                job.reported = True
                self._say_bad_rows(job)
        self.raise_failures()

    # Commands.

    def _command(self, command: Command) -> None:
        match command.word:
            case "QUIT":
                raise Quit
            case "HELP":
                typer.echo(help_text())
            case "CLEAR":
                if self.console.is_terminal:
                    self.console.clear()
            case "SOURCE":
                self._source(command.argument)

    def _source(self, file: str) -> None:
        if not file:
            raise InvalidArgument("SOURCE needs a file", hint="SOURCE 'file.sql';")
        if self._sourced >= _DEEPEST_SOURCE:
            raise InvalidArgument(f"{file} is read by a file that it reads itself")
        self._sourced += 1
        try:
            self.run_script(read_file(file))
        finally:
            self._sourced -= 1


def read_file(file: str) -> str:
    try:
        return Path(file).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidArgument(f"cannot read {file}: {reason}") from None


def _printed(fields: Sequence[Field], rows: Sequence[tuple[str, ...]]) -> None:
    TableResult(fields, rows=as_inserts(rows)).print()


def print_error(error: BaseException, *, verbose: bool = False) -> None:
    """Say what went wrong, where, and what to do."""
    if verbose or not isinstance(error, HeadraceError):
        sys.excepthook(type(error), error, error.__traceback__ if verbose else None)
        return
    typer.secho(str(error), fg=typer.colors.RED, err=True)
