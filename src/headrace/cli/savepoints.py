"""What the commands about state share: finding a savepoint, and what is said on errors."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

from headrace.cli.script import BAD_USAGE
from headrace.errors import HeadraceError
from headrace.spark.file_store import LocalStore, file_store
from headrace.spark.savepoints.outside import copy_checkpoint, is_savepoint, local_store
from headrace.spark.session import Session, get_session
from headrace.state.files import SavepointFiles, download


@contextmanager
def explained() -> Iterator[None]:
    """End the command with what is wrong, not with a traceback."""
    try:
        yield
    except HeadraceError as error:
        error.origin = None  # the user wrote a command, not a program
        typer.echo(str(error), err=True)
        raise typer.Exit(BAD_USAGE) from None


def start_spark() -> Session:
    """A local Spark, with a word to those who wait for it."""
    with Console(stderr=True).status("Starting Spark …"):
        return get_session()


def open_files(place: str) -> SavepointFiles:
    """The savepoint of a path; what is not one in a local folder is copied to one first."""
    store = local_store(place)
    if store is not None and is_savepoint(store):
        return SavepointFiles(store.path)
    folder = Path(tempfile.mkdtemp(prefix="headrace-state-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if store is not None and not store.exists():
        folder.rmdir()
        return SavepointFiles(store.path)  # which says that there is none
    spark = start_spark()
    with Console(stderr=True).status(f"Reading {place} …"):
        found = file_store(spark, place)
        if is_savepoint(found):
            download(found, LocalStore(folder))
        else:
            copy_checkpoint(spark, place, LocalStore(folder))
    return SavepointFiles(folder)
