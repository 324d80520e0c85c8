"""`headrace state`: look into savepoints and checkpoints, compare them, ask them questions."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from headrace.cli.savepoints import explained, open_files, start_spark
from headrace.cli.script import refuse
from headrace.cli.tables import Format, cell, print_rows
from headrace.runtime.subtask_state import TIMERS, TIMERS_NAME
from headrace.spark.savepoints.metadata import SavedState
from headrace.state.catalog import operators_of, states_of
from headrace.state.comparison import StateDifference, compare
from headrace.state.files import SavepointFiles, readable_rows
from headrace.state.reader import read_savepoint
from headrace.state.sql import query as answer
from headrace.state.sql import table_names

app = typer.Typer(no_args_is_help=True, help="Look into the state of jobs.")

Place = Annotated[
    str,
    typer.Argument(metavar="PATH", help="A savepoint, or the checkpoint folder of a job."),
]
HowShown = Annotated[
    Format, typer.Option("--format", "-f", help="A table, JSON lines or comma-separated values.")
]
_LEFT_OUT = ("key_group", "position")


@app.command("ls")
def list_states(path: Place, form: HowShown = Format.table) -> None:
    """List operators and states with their types and sizes."""
    with explained():
        files = open_files(path)
        metadata = files.metadata
        if form is Format.table:
            job = metadata.job.get("name") or "?"
            typer.echo(
                f"job {job!r}, checkpoint {metadata.batch}, parallelism {metadata.parallelism}, "
                f"{metadata.created}"
            )
            _print_operators(files)
        tables = table_names(metadata.states)
        rows = [
            {"operator": state.operator, "state": state.name, "kind": state.kind,
             "scope": state.scope, "types": state.type_text(), "ttl": "yes" if state.ttl else "",
             "rows": state.rows, "bytes": state.bytes,
             "table": tables[state.operator, state.name, state.scope]}
            for state in states_of(metadata)
        ]  # fmt: skip
        names = ["operator", "state", "kind", "scope", "types", "ttl", "rows", "bytes", "table"]
        print_rows(names, rows, form)


def _print_operators(files: SavepointFiles) -> None:
    sources = files.metadata.sources
    rows = [
        {"uid": each.uid, "name": each.name, "type": each.type, "parallelism": each.parallelism,
         "max": each.max_parallelism, "states": len(each.states), "timers": each.timers,
         "uid is": "generated" if each.generated_uid else "given",
         "position": "kept" if each.uid in sources else ""}
        for each in operators_of(files.metadata)
    ]  # fmt: skip
    print_rows(list(rows[0]) if rows else ["uid"], rows, Format.table)


@app.command()
def show(
    path: Place,
    what: Annotated[
        str, typer.Argument(metavar="UID[/NAME]", help="An operator, or one of its states.")
    ],
    key: Annotated[
        str | None, typer.Option(help="Only this key; one that is no text or number as JSON.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many rows of a state.")] = 50,
    form: HowShown = Format.table,
) -> None:
    """Show what states hold."""
    with explained():
        files = open_files(path)
        for state in _chosen(files, what):
            _show(files, state, key, limit, form)


def _chosen(files: SavepointFiles, what: str) -> list[SavedState]:
    """The states that UID, UID/NAME or UID/timers stand for; a uid may have slashes, too."""
    states = files.metadata.states
    mine = [state for state in states if state.operator == what]
    if mine:
        return sorted(mine, key=lambda state: (state.name, state.form.scope))
    named = [
        state for state in states
        if what == f"{state.operator}/{state.name}"
        or (state.form.kind == TIMERS and what == f"{state.operator}/timers")
    ]  # fmt: skip
    if named:
        return named
    uid, slash, name = what.partition("/")
    return [files.find(uid, name if slash else TIMERS_NAME)]


def _show(
    files: SavepointFiles, state: SavedState, key: str | None, limit: int, form: Format
) -> None:
    rows = (row for row in files.rows(state) if key is None or _is(row.get("key"), key))
    shown = (_without(row, _LEFT_OUT) for row in itertools.islice(rows, limit))
    if form is Format.json:
        shown = ({"operator": state.operator, "state": state.name, **row} for row in shown)
    first = next(shown, None)
    if form is Format.table:
        typer.echo(f"{state.operator}/{state.name}: {state.form.kind}, {state.rows} rows")
    if first is None:
        if form is Format.table:
            typer.echo("  nothing" if key is None else f"  nothing for key {key}")
        return
    count = print_rows(list(first), itertools.chain([first], shown), form)
    if form is Format.table and key is None and count < state.rows:
        typer.echo(f"  {state.rows - count} more; --limit shows them")


def _is(found: Any, asked: str) -> bool:
    if cell(found) == asked:
        return True
    try:
        return bool(json.loads(asked) == found)
    except ValueError:
        return False


def _without(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


@app.command()
def diff(
    old: Annotated[str, typer.Argument(metavar="A", help="A savepoint or checkpoint.")],
    new: Annotated[str, typer.Argument(metavar="B", help="What to compare it with.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
) -> None:
    """Say what two savepoints hold differently; exit code 1 if anything.

    Ages of values that expire are not compared.
    """
    with explained():
        found = compare(open_files(old), open_files(new))
    different = [each for each in found if each.any]
    if as_json:
        for each in different:
            typer.echo(json.dumps(vars(each), ensure_ascii=False))
    elif different:
        _print_differences(found, different)
    else:
        rows = sum(each.same for each in found)
        typer.echo(f"no difference: {len(found)} states, {rows} rows")
    if different:
        raise typer.Exit(1)


def _print_differences(found: list[StateDifference], different: list[StateDifference]) -> None:
    names = ["operator", "name", "added", "removed", "changed", "same"]
    print_rows(names, (vars(each) for each in found), Format.table)
    for each in different:
        typer.echo(f"{each.operator}/{each.name}")
        for example in each.examples:
            typer.echo(f"  {_example(example)}")


def _example(example: dict[str, Any]) -> str:
    rest = dict(example)
    what = rest.pop("what")
    was, now = rest.pop("was", None), rest.pop("now", None)
    key = ", ".join(f"{name} {cell(value)}" for name, value in rest.items())
    if was is None and now is None:
        return f"{what} {key}"
    values = {"added": cell(now), "removed": cell(was), "changed": f"{cell(was)} -> {cell(now)}"}
    return f"{what} {key}: {values[what]}"


@app.command()
def query(
    path: Place,
    text: Annotated[str, typer.Argument(metavar="SQL", help="A query of Spark's SQL.")],
    form: HowShown = Format.table,
) -> None:
    """Ask with SQL: every state is a table, named in `headrace state ls`, or "uid"."name"."""
    if not text.strip():
        raise refuse('name the query, e.g. "SELECT key, value FROM counter_count"')
    with explained(), read_savepoint(path, start_spark()) as reader:
        found = answer(reader, text)
        print_rows(found.schema.names, readable_rows(_distinct(found)), form)


def _distinct(found: Any) -> Any:
    """Columns of a query may share a name; rows are read by name."""
    names: list[str] = []
    for name in found.schema.names:
        taken: Iterator[str] = (f"{name}_{number}" for number in itertools.count(2))
        names.append(name if name not in names else next(n for n in taken if n not in names))
    return found.rename_columns(names)
