"""`headrace sql`: SQL from the terminal, from a file, or from another program."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from headrace.cli.run import settings_of
from headrace.cli.script import refuse

File = Annotated[
    str | None, typer.Option("--file", "-f", metavar="FILE", help="Run a script, then leave.")
]
Init = Annotated[
    str | None, typer.Option("--init", "-i", metavar="FILE", help="Run a script first.")
]
Statement = Annotated[
    list[str] | None,
    typer.Option("--execute", "-e", metavar="SQL", help="Run statements, then leave."),
]
Options = Annotated[
    list[str] | None,
    typer.Option("-D", metavar="KEY=VALUE", help="An option, as SET has it; may be repeated."),
]
Master = Annotated[str | None, typer.Option(help="Spark master, e.g. local[4].")]


def sql(
    file: File = None,
    init: Init = None,
    execute: Statement = None,
    option: Options = None,
    master: Master = None,
) -> None:
    """Run SQL: at a prompt, from a file, or from another program's output."""
    if file is not None and execute:
        raise refuse("give either -f or -e")
    os.environ.update(settings_of(None, master, ()))
    # Only this command needs tables, and they take half of what importing headrace takes.
    from headrace.cli.sql_client.command import run_sql

    code = run_sql(file, init, execute, option or ())
    if code:
        raise typer.Exit(code)
