"""`headrace plan`: what becomes of stored state when a job starts from it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Annotated

import typer

from headrace import shim
from headrace.cli.failures import describe_failure
from headrace.cli.run import (
    ModuleName,
    Parallelism,
    Settings,
    Words,
    module_program,
    run_as_main,
    script_program,
    settings_of,
)
from headrace.cli.savepoints import explained, open_files
from headrace.cli.script import BAD_USAGE, refuse
from headrace.cli.tables import Format, print_rows
from headrace.jobs.dry_run import Planned, planning_only
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.declarations import declarations
from headrace.spark.savepoints.matching import Fate, StateFate, fates, lost_operators

_REFUSED, _INCOMPATIBLE = 1, 2


def plan(
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="A savepoint, or the checkpoint folder of a job.")
    ],
    words: Words = None,
    module: ModuleName = None,
    parallelism: Parallelism = None,
    conf: Settings = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
) -> None:
    """Say what a changed job would find of its old state, before it is started.

    The script runs up to its first job, which is planned but not executed; its functions are opened
    here to see which states they ask for. Exit code 0: a start would succeed; 1: only with
    --allow-non-restored-state; 2: it would not.
    """
    with explained():
        metadata = open_files(old).metadata
        job = _planned(list(words or []), module, parallelism, conf or [])
        found = fates(metadata, job, declarations(job))
        lost = lost_operators(metadata, job)
    if as_json:
        for each in found:
            typer.echo(json.dumps({**vars(each), "fate": each.fate.value}))
    else:
        _print(found)
    incompatible = [each for each in found if each.fate is Fate.INCOMPATIBLE]
    code = _INCOMPATIBLE if incompatible else _REFUSED if lost else 0
    if not as_json:
        typer.echo(_verdict(code, len(incompatible), [each["uid"] for each in lost]))
    if code:
        raise typer.Exit(code)


def _planned(
    words: list[str], module: str | None, parallelism: int | None, conf: Sequence[str]
) -> PhysicalPlan:
    os.environ.update(settings_of(parallelism, None, conf))
    shim.install()
    program = module_program(module) if module else script_program(words)
    arguments = words if module else words[1:]
    try:
        # What the script prints is not the answer.
        with planning_only(), redirect_stdout(sys.stderr):
            run_as_main(program, arguments)
    except Planned as planned:
        return planned.plan
    except SystemExit:
        pass
    except BaseException as error:
        typer.echo(describe_failure(error, program.typed), err=True)
        raise typer.Exit(BAD_USAGE) from None
    raise refuse(f"{program.typed} ended without executing a job")


def _print(found: list[StateFate]) -> None:
    rows = []
    for each in found:
        operator = {"operator": each.operator_name, "uid": each.operator}
        rows.append({
            **(operator if not each.state else {}),
            "state": each.state, "fate": each.fate.value, "why": each.why,
        })  # fmt: skip
    print_rows(["operator", "uid", "state", "fate", "why"], rows, Format.table)


def _verdict(code: int, incompatible: int, lost: list[str]) -> str:
    if code == _INCOMPATIBLE:
        return f"A start would fail: {incompatible} of the states cannot be read by this job."
    if code == _REFUSED:
        return (
            f"A start would be refused, since state would be lost ({', '.join(lost)}); "
            "--allow-non-restored-state drops it."
        )
    return "A start would succeed."
