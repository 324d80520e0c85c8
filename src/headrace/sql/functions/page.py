"""The page of all functions, written from their rows."""

from __future__ import annotations

import sys
from pathlib import Path

from headrace.sql import functions
from headrace.sql.functions.row import FunctionRow

_HEAD = """# SQL functions

Every function that SQL and the Table API can call, with what it takes. *Spark* says where a
bounded query runs it: in the JVM (yes), there only for some arguments (some), or in Python (no).
This page is written by `make docs` from the rows in `src/headrace/sql/functions/`.
"""


def page() -> str:
    """The whole page as Markdown."""
    parts = [_HEAD]
    for family, rows in functions.families().items():
        parts.append(f"\n## {family}\n\n| function | meaning | Spark |\n|---|---|---|\n")
        parts += [_line(row) for row in rows]
    return "".join(parts)


def _line(row: FunctionRow) -> str:
    name, *others = row.names
    calls = "<br>".join(f"`{each.text(name)}`" for each in row.signatures) or f"`{name}`"
    also = f"<br>also {', '.join(f'`{each}`' for each in others)}" if others else ""
    doc = " ".join(row.doc.split()).replace("|", "\\|")
    native = "no" if row.spark is None else "some" if callable(row.spark) else "yes"
    return f"| {calls.replace('|', chr(92) + '|')}{also} | {doc} | {native} |\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
