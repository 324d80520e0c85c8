"""What `headrace sql` does: a script, statements, another program's output, or a conversation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import typer

from headrace import __version__
from headrace.cli.script import refuse
from headrace.cli.sql_client.session import Quit, SqlSession, print_error, read_file
from headrace.cli.sql_client.statement_texts import pieces_of
from headrace.core.config import Configuration
from headrace.table.table_environment import TableEnvironment

_FAILED = 1
_INTERRUPTED = 130


def run_sql(
    file: str | None, init: str | None, execute: Sequence[str] | None, options: Sequence[str]
) -> int:
    """Do what the command line asks for; the exit code."""
    interactive = file is None and not execute and sys.stdin.isatty() and sys.stdout.isatty()
    session = SqlSession(
        TableEnvironment.create(_configuration(options)),
        interactive=interactive,
    )
    return _guarded(session, lambda: _work(session, file, init, execute, interactive=interactive))


def _configuration(options: Sequence[str]) -> Configuration:
    found = Configuration()
    for text in options:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise refuse(f"-D {text} is not KEY=VALUE")
        found.set_string(key.strip(), value.strip())
    return found


def _work(
    session: SqlSession, file: str | None, init: str | None, execute: Sequence[str] | None, *,
    interactive: bool,
) -> None:  # fmt: skip
    if init is not None:
        session.run_script(read_file(init))
    if interactive:
        converse(session)
        return
    if file is not None:
        session.run_script(read_file(file))
    elif execute:
        for text in execute:
            session.run_script(text)
    else:
        _run_piped(session)
    session.finish()


def _guarded(session: SqlSession, work: Callable[[], None]) -> int:
    """Do it; the exit code, with what went wrong said already."""
    try:
        work()
    except Quit:
        return _guarded(session, session.finish)
    except KeyboardInterrupt:
        typer.echo("headrace: interrupted", err=True)
        session.jobs.cancel_all()
        return _INTERRUPTED
    except Exception as error:
        print_error(error, verbose=session.settings.verbose)
        session.jobs.cancel_all()
        return _FAILED
    return 0


def _run_piped(session: SqlSession) -> None:
    """Run each statement as soon as its semicolon has come."""
    text = ""
    for line in sys.stdin:
        text += line
        pieces = pieces_of(text)
        if pieces.complete and not pieces.open_with and pieces.is_blank:
            session.run_script(text)
            text = ""
    session.run_script(text)


def converse(session: SqlSession, ask: Callable[[], str] | None = None) -> None:
    """Ask and answer until the user leaves; an error ends only its statement."""
    ask = ask or _prompting(session)
    typer.echo(f"headrace {__version__}. HELP; lists commands, QUIT; leaves.")
    warned = False
    while True:
        try:
            session.run_script(ask())
            warned = False
        except KeyboardInterrupt:
            continue
        except (EOFError, Quit):
            running = session.jobs.running()
            if not running or warned:
                session.jobs.cancel_all()
                return
            warned = True
            jobs = "1 running job ends" if len(running) == 1 else f"{len(running)} running jobs end"
            typer.echo(f"{jobs} with the client; leave again to do so.")
        except Exception as error:
            print_error(error, verbose=session.settings.verbose)


def _prompting(session: SqlSession) -> Callable[[], str]:
    from headrace.cli.sql_client.prompt import SqlPrompt  # only a terminal needs it

    prompt = SqlPrompt(session.hints)
    return lambda: prompt.ask(in_statement_set=session.in_statement_set)
