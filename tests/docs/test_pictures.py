"""The pictures in the documentation are those that the code beside them draws."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_pictures_are_those_the_code_draws(tmp_path):
    """Byte for byte: `make pictures` after a change."""
    subprocess.run(
        [sys.executable, str(DOCS / "pictures" / "draw_windows.py"), str(tmp_path)], check=True
    )
    drawn = {path.name: path.read_bytes() for path in tmp_path.glob("*.svg")}
    kept = {path.name: path.read_bytes() for path in (DOCS / "pictures").glob("*.svg")}
    assert drawn.keys() == kept.keys()
    assert [name for name in drawn if drawn[name] != kept[name]] == []


def test_every_picture_is_shown():
    """A page shows each of them."""
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    pictures = [path.name for path in (DOCS / "pictures").glob("*.svg")]
    assert [name for name in pictures if f"](pictures/{name})" not in text] == []
