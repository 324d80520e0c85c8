"""The Nexmark queries: one file each, the same for Flink and headrace."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
NAMES = tuple(f"q{number}" for number in range(24))


def text(name: str, data: Path, sink: str) -> str:
    """The tables and a query as one script; `sink` are the options of the table it writes to."""
    tables = (FOLDER / "tables.sql").read_text(encoding="utf-8")
    query = (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    return f"{tables}\n{query}".replace("${DATA}", str(data)).replace("${SINK}", sink)
