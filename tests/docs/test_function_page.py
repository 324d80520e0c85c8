"""The page of SQL functions is what their rows say."""

from __future__ import annotations

from pathlib import Path

from headrace.sql.functions.page import page

PAGE = Path(__file__).parents[2] / "docs" / "sql-functions.md"


def test_the_page_is_written_from_the_rows() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"
