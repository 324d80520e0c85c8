"""Every example runs and prints what its last lines say."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
EXAMPLES = sorted(path for path in FOLDER.rglob("*.py") if path.parent.name != "pyflink")
"""Those for PyFlink run where PyFlink's own do."""


def promised(example: Path) -> list[str]:
    """The lines a reader is told to expect: the comments that end the file."""
    last = example.read_text(encoding="utf-8").rstrip().rsplit("\n\n", 1)[1]
    return [line.removeprefix("# ") for line in last.splitlines()]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_prints_what_it_promises(example, capsys):
    """Run as a script would be; the order of lines is a job's own business."""
    runpy.run_path(str(example), run_name="__main__")
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(promised(example))
