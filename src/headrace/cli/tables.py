"""Rows on the terminal: as a table, as JSON lines or as CSV."""

from __future__ import annotations

import csv
import itertools
import json
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

_UNWRAPPED = 1000


class Format(StrEnum):
    """How rows are printed."""

    table = "table"
    json = "json"
    csv = "csv"


def print_rows(columns: Sequence[str], rows: Iterable[dict[str, Any]], form: Format) -> int:
    """Print rows as they come; returns how many there were."""
    counter = itertools.count()
    counted = (row for row, _ in zip(rows, counter, strict=False))
    if form is Format.json:
        for row in counted:
            typer.echo(json.dumps(row, ensure_ascii=False))
    elif form is Format.csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(columns)
        writer.writerows([cell(row.get(name)) for name in columns] for row in counted)
    else:
        _print_table(columns, counted)
    return next(counter)


def _print_table(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell(row.get(name))) for name in columns))
    console = Console()
    if not console.is_terminal:  # one line each, for grep
        console.width = _UNWRAPPED
    console.print(table)


def cell(value: Any) -> str:
    """A value as one line of text."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
