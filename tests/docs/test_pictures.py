"""The pictures in the documentation are those that the code beside them draws."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PICTURES = DOCS / "pictures"


@pytest.mark.parametrize(
    ("script", "folder"),
    [
        ("draw_windows.py", PICTURES),
        ("draw_patterns.py", PICTURES / "patterns"),
        ("draw_barriers.py", PICTURES / "barriers"),
    ],
)
def test_pictures_are_those_the_code_draws(script, folder, tmp_path):
    """Byte for byte: `make pictures` after a change."""
    subprocess.run([sys.executable, str(PICTURES / script), str(tmp_path)], check=True)
    drawn = {path.name: path.read_bytes() for path in tmp_path.glob("*.svg")}
    kept = {path.name: path.read_bytes() for path in folder.glob("*.svg")}
    assert drawn.keys() == kept.keys()
    assert [name for name in drawn if drawn[name] != kept[name]] == []


def test_every_picture_is_shown():
    """A page shows each of them."""
    text = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    pictures = [path.relative_to(DOCS).as_posix() for path in PICTURES.rglob("*.svg")]
    assert [path for path in pictures if not re.search(rf"\]\((../)*{path}\)", text)] == []
