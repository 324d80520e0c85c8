"""The `headrace` command: one function per subcommand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from headrace import __version__
from headrace.cli.demo import demo
from headrace.cli.doctor import doctor
from headrace.cli.plan import plan
from headrace.cli.run import run
from headrace.cli.savepoint import app as savepoint
from headrace.cli.sql import sql
from headrace.cli.state import app as state

COMMANDS: tuple[Callable[..., None], ...] = (run, sql, plan, doctor, demo)
GROUPS = {"state": state, "savepoint": savepoint}
WITH_SCRIPT = (run, plan)
"""What follows the script on the command line is the script's own."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headrace {__version__}")
        raise typer.Exit()


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """The Apache Flink programming model in Python, executed by Spark."""


def build_app() -> typer.Typer:
    """The command line as a Typer application."""
    made = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
    made.callback()(_root)
    for command in COMMANDS:
        own = command not in WITH_SCRIPT
        made.command(context_settings={"allow_interspersed_args": own})(command)
    for name, group in GROUPS.items():
        made.add_typer(group, name=name)
    return made


app = build_app()
