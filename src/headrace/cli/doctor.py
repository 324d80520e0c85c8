"""`headrace doctor`: what a script uses that headrace does not support."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from headrace.cli.inspection import Finding, Inspection, Report
from headrace.cli.script import Script, read_script, refuse
from headrace.parity import KINDS, load_table

_UNWRAPPED = 1000


def doctor(
    script: Annotated[str, typer.Argument(help="The PyFlink script; it is read, never run.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """List every PyFlink name a script uses that headrace does not support."""
    found = examine(read_script(script))
    findings = sorted(found.findings)
    if as_json:
        report = {"checked": found.checked, "unsupported": [asdict(f) for f in findings]}
        typer.echo(json.dumps(report, indent=2))
    elif findings:
        _print_findings(findings)
        typer.echo(f"{found.checked} calls checked, {len(findings)} not supported")
    else:
        typer.echo(f"{found.checked} calls checked, all supported")
    if findings:
        raise typer.Exit(1)


def examine(script: Script) -> Report:
    """Inspect the script and the local modules it imports."""
    found = Report(load_table())
    try:
        Inspection(found, script.path.parent).inspect(script.path, script.source)
    except SyntaxError as error:
        raise refuse(f"{error.filename}:{error.lineno}: {error.msg}") from None
    return found


def _print_findings(findings: list[Finding]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column("where", no_wrap=True)
    table.add_column("name", overflow="fold")
    table.add_column("status", no_wrap=True)
    table.add_column("why")
    for finding in findings:
        where = f"{_from_here(finding.file)}:{finding.line}:{finding.column}"
        table.add_row(where, finding.name, KINDS[finding.status], finding.reason)
    console = Console()
    if not console.is_terminal:  # one line each, for grep
        console.width = _UNWRAPPED
    console.print(table)


def _from_here(file: str) -> str:
    path = Path(file)
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file
