"""`python -m compare [--recorded] [--only=CASES] [THEME ...]`: run themes on both engines, compare.

With `--recorded` PyFlink is not run: headrace is held to what it gave the last time. With `--only`
some cases run, by their names, in which * stands for anything; what was recorded of others stays.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from bench.engines import Engine, headrace, pyflink
from compare.themes import THEMES
from compare.verdict import (
    MORE_TO_DO,
    RECORDED,
    Difference,
    differences,
    outlived,
    read_known,
    read_outcomes,
    record,
    unexpected,
)
from headrace.java import ensure_java

RUNNER = Path(__file__).with_name("runner.py")
WIDTH = 400


def main(*words: str) -> int:
    """The exit status says whether nothing but what is known differs."""
    themes = [word for word in words if not word.startswith("--")] or list(THEMES)
    unknown = sorted(set(themes) - set(THEMES))
    if unknown:
        raise SystemExit(f"no theme {', '.join(unknown)}; there are {', '.join(THEMES)}")
    ensure_java()  # Flink needs one as well
    only = [word for word in words if word.startswith("--only=")]
    if "--recorded" not in words:
        _record(themes, only)
    with tempfile.TemporaryDirectory(prefix="compare-") as folder:
        run_themes(headrace(), Path(folder), themes, *only)
        return _report(themes, Path(folder), whole=not only)


def run_themes(engine: Engine, folder: Path, themes: list[str], *options: str) -> None:
    """Run themes on an engine; each leaves a file in the folder."""
    engine.check()
    command = [*engine.command, str(RUNNER), str(folder), *options, *themes]
    log = folder / "log"
    status = MORE_TO_DO
    while status == MORE_TO_DO:
        with log.open("ab") as sink:
            done = subprocess.run(
                command,
                stdout=sink,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=engine.environment(),
                check=False,
            )
        status = done.returncode
    if status != 0:
        raise SystemExit(f"{engine.name} failed:\n{log.read_text(errors='replace')[-4000:]}")


def _record(themes: list[str], only: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="compare-") as folder:
        for theme in themes:  # each in a process of its own: Flink's wears out
            run_themes(pyflink("process"), Path(folder), [theme], *only)
            outcomes = read_outcomes(Path(folder) / f"{theme}.jsonl")
            file = RECORDED / f"{theme}.jsonl"
            before = read_outcomes(file) if only else {}
            record({**before, **outcomes}, file)


def _report(themes: list[str], folder: Path, *, whole: bool) -> int:
    known = read_known()
    everything: list[Difference] = []
    for theme in themes:
        theirs = read_outcomes(RECORDED / f"{theme}.jsonl")
        ours = read_outcomes(folder / f"{theme}.jsonl")
        found = differences(theme, theirs, ours)
        new = unexpected(found, known)
        parts = sum(map(len, theirs.values()))
        everything += found
        print(
            f"{theme:<16} {len(theirs):>4} cases {parts:>5} parts"
            f" {len(found) - len(new):>4} known to differ {len(new):>4} new",
            flush=True,
        )
        for difference in new:
            print(f"  {difference.place}")
            print(f"    PyFlink:  {difference.theirs[:WIDTH]}")
            print(f"    headrace: {difference.ours[:WIDTH]}")
    gone = outlived(everything, known, set(themes)) if whole else []
    for pattern in gone:
        print(f"no longer differs: {pattern}")
    return 1 if gone or unexpected(everything, known) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
