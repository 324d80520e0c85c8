"""Long lists of statements and expressions: a line each, below headings that begin with `==`."""

from __future__ import annotations

from pathlib import Path


def read_texts(name: str) -> dict[str, list[str]]:
    """The lines below each heading of a list."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    file = Path(__file__).with_name(f"{name}.txt")
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            lines = found.setdefault(line[3:], [])
        elif line:
            lines.append(line)
    return found
