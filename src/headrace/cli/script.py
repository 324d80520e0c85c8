"""The script named on the command line: read and checked before anything runs."""

from __future__ import annotations

import tokenize
from dataclasses import dataclass
from pathlib import Path

import typer

_PYTHON_SUFFIXES = frozenset({".py", ".pyw", ""})
BAD_USAGE = 2
"""Exit code when the command line itself is wrong."""


@dataclass(frozen=True, slots=True)
class Script:
    """A Python file and its text."""

    path: Path
    source: str


def read_script(name: str) -> Script:
    """Read the script, or end the command saying why it cannot be one."""
    path = Path(name)
    if path.is_dir():
        raise refuse(f"{name} is a folder; name the Python file inside it, e.g. {path / 'job.py'}")
    if not path.exists():
        raise refuse(f"there is no file {name} (looked in {path.absolute().parent})")
    if path.suffix.lower() not in _PYTHON_SUFFIXES:
        raise refuse(f"{name} is not a Python file: its name ends in {path.suffix}, not .py")
    try:
        with tokenize.open(path) as file:
            source = file.read()
    except (UnicodeDecodeError, SyntaxError):
        raise refuse(f"{name} is not a Python file: it is not text") from None
    except OSError as error:
        raise refuse(f"{name} cannot be read: {error.strerror}") from None
    if "\0" in source:
        raise refuse(f"{name} is not a Python file: it holds null bytes")
    return Script(path, source)


def refuse(message: str) -> typer.Exit:
    """Print what is wrong with the command line; raise the result to end with exit code 2."""
    typer.echo(f"headrace: {message}", err=True)
    return typer.Exit(BAD_USAGE)
