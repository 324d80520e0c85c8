"""The events of Nexmark, made once and kept beside the other inputs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.data import DATA_DIR
from bench.engines import REPOSITORY, CannotMeasure

GENERATOR = "gen_nexmark.py"


def events(count: int) -> Path:
    """A folder with so many events as CSV, and the side input."""
    target = DATA_DIR / f"nexmark-{count}"
    if target.exists():
        return target
    program = _generator()
    unfinished = target.with_name(target.name + ".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    made = subprocess.run([sys.executable, str(program), str(count), str(unfinished)], check=False)
    if made.returncode != 0:
        raise CannotMeasure(f"{program} ended with {made.returncode}")
    # The same events again; the queries read CSV.
    shutil.rmtree(unfinished / "json", ignore_errors=True)
    unfinished.rename(target)
    return target


def _generator() -> Path:
    """The program of HEADRACE_NEXMARK, or the one beside the checkout; without these, our own."""
    asked = os.environ.get("HEADRACE_NEXMARK")
    program = Path(asked or REPOSITORY.parent / "shared" / "nexmark") / GENERATOR
    if program.exists():
        return program
    if asked:
        raise CannotMeasure(f"HEADRACE_NEXMARK names a folder without {GENERATOR}: {asked}")
    return Path(__file__).with_name("generator.py")
