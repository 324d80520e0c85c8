"""The events of Nexmark, made by its generator and kept beside the other inputs."""

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
        raise CannotMeasure(f"{program} ended with {made.returncode}; it needs numpy")
    # The same events again; the queries read CSV.
    shutil.rmtree(unfinished / "json", ignore_errors=True)
    unfinished.rename(target)
    return target


def _generator() -> Path:
    folder = Path(os.environ.get("HEADRACE_NEXMARK", REPOSITORY.parent / "shared" / "nexmark"))
    program = folder / GENERATOR
    if not program.exists():
        raise CannotMeasure(
            f"Nexmark's generator is not there: {program}; "
            f"set HEADRACE_NEXMARK to the folder that has {GENERATOR}"
        )
    return program
