"""What an inspection finds."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from headrace.parity import ParityTable, Status


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A use of a PyFlink name that headrace does not support."""

    file: str
    line: int
    column: int
    name: str
    status: str
    reason: str


@dataclass
class Report:
    """The uses of PyFlink names seen so far: how many, and which are not supported."""

    table: ParityTable
    checked: int = 0
    findings: set[Finding] = field(default_factory=set)

    def check(self, file: str, node: ast.AST, name: str, status: Status) -> None:
        """Count a use of a PyFlink name and keep it when headrace does not support it."""
        self.checked += 1
        if not status.is_done:
            line, column = _place(node)
            self.findings.add(Finding(file, line, column, name, status.kind, status.reason))


def _place(node: ast.AST) -> tuple[int, int]:
    if isinstance(node, ast.Attribute):  # where the name stands, not where its chain begins
        return node.end_lineno or 0, (node.end_col_offset or 0) - len(node.attr) + 1
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0) + 1
