"""`headrace savepoint`: take one of a job from outside, and delete one."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.savepoints import explained, start_spark
from headrace.cli.script import refuse
from headrace.spark.file_store import FileStore, file_store
from headrace.spark.savepoints.metadata import SavepointMetadata
from headrace.spark.savepoints.outside import (
    copy_checkpoint,
    is_savepoint,
    local_store,
    wait_for_output,
)

app = typer.Typer(no_args_is_help=True, help="Take and delete savepoints.")


@app.command()
def take(
    checkpoint: Annotated[
        str, typer.Argument(metavar="CHECKPOINT_DIR", help="The checkpoint folder of a job.")
    ],
    target: Annotated[str, typer.Argument(help="A folder that is empty or not there yet.")],
) -> None:
    """Save the last checkpoint of a job, which may be running, as a savepoint."""
    with explained():
        store = local_store(checkpoint)
        if store is not None and is_savepoint(store):
            raise refuse(f"{checkpoint} is a savepoint already; copy the folder")
        spark = start_spark()
        metadata = copy_checkpoint(spark, checkpoint, file_store(spark, target))
        wait_for_output(checkpoint, spark, metadata.batch)
        rows = sum(state.rows for state in metadata.states)
        size = sum(size for size, _ in metadata.files.values())
    typer.echo(
        f"{target}: checkpoint {metadata.batch}, {len(metadata.states)} states, {rows} rows, "
        f"{size} bytes"
    )


@app.command()
def dispose(
    path: Annotated[str, typer.Argument(help="The savepoint.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a savepoint; nothing else is ever deleted."""
    with explained():
        store: FileStore = local_store(path) or file_store(start_spark(), path)
        metadata = SavepointMetadata.read(store)  # refuses what is not one
        surplus = set(store.names()) - {"_metadata.json", "state"}
        if surplus:
            raise refuse(f"{path} holds more than a savepoint: {', '.join(sorted(surplus))}")
        job = metadata.job.get("name") or "?"
        if not yes and not typer.confirm(
            f"Delete the savepoint of job {job!r}, made {metadata.created}, in {path}?"
        ):
            raise typer.Exit(1)
        store.delete()
    typer.echo(f"{path} is deleted")
