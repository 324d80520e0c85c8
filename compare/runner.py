"""Runs themes on the engine that `pyflink` means here.

`runner.py FOLDER [--core] [--only=CASES] THEME ...`: each theme becomes a file of JSON lines in the
folder, one line for each case.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

ROOT = str(Path(__file__).resolve().parents[1])
sys.path.insert(0, ROOT)  # for this process, and below for those that the engines start
os.environ["PYTHONPATH"] = ROOT

from compare.case import Case, Outcome, Session  # noqa: E402
from compare.describing import describe_error  # noqa: E402
from compare.peer_cluster import shared_cluster  # noqa: E402
from compare.themes import cases_of  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

_ONLY = "--only="
SECONDS = int(os.environ.get("COMPARE_SECONDS", "120"))
"""A case that takes longer is taken for endless."""


class Endless(BaseException):
    """A case has no end. Nobody catches this by accident."""


def main(folder: str, *words: str) -> None:
    logging.disable(logging.WARNING)
    core = "--core" in words
    only = next((word[len(_ONLY) :] for word in words if word.startswith(_ONLY)), "*")
    with shared_cluster() as settings:
        for theme in (word for word in words if not word.startswith("--")):
            chosen = [
                case
                for case in cases_of(theme)
                if fnmatchcase(case.name, only) and (case.core or not core)
            ]
            _run_cases(chosen, Path(folder) / f"{theme}.jsonl", settings)


def _run_cases(cases: Iterable[Case], file: Path, settings: dict[str, str]) -> None:
    with file.open("w", encoding="utf-8") as lines:
        for case in cases:
            start = time.monotonic()
            line = {"case": case.name, **_run_case(case, settings)}
            line["seconds"] = round(time.monotonic() - start, 1)
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")
            lines.flush()


def _run_case(case: Case, settings: dict[str, str]) -> dict[str, Any]:
    session = Session(settings)
    said = ""
    try:
        with _at_most(SECONDS):
            outcome: Outcome = case.run(session)
    except Endless:
        outcome = {"endless": "yes"}
    except Exception as error:
        outcome = {"refused": session.stage}
        if name := describe_error(error):
            outcome["error"] = name
        said = f"{type(error).__name__}: {error}"[:4000]
    finally:
        session.close()
    return {"outcome": outcome, "said": said}


@contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise Endless

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # what an endless case left behind must not hold the process
