"""Runs themes on the engine that `pyflink` means here.

`runner.py FOLDER [--core] [--only=CASES] THEME ...`: each theme becomes a file of JSON lines in the
folder, one line for each case; cases that it has already are not run. What a case without an end
leaves behind goes on and takes from others what they need: so it is the last one of its process,
whose exit status says that there is more to do.
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
from compare.verdict import ENDLESS, MORE_TO_DO, RECORDED, read_outcomes  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

_ONLY = "--only="
SECONDS = int(os.environ.get("COMPARE_SECONDS", "600"))
"""A case that takes longer is taken for endless."""
_KNOWN_ENDLESS_SECONDS = 60
"""So it is sooner if it had no end the last time."""


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
    known = read_outcomes(RECORDED / file.name)
    done = read_outcomes(file)
    with file.open("a", encoding="utf-8") as lines:
        for case in cases:
            if case.name in done:
                continue
            start = time.monotonic()
            was_endless = known.get(case.name) == ENDLESS
            seconds = _KNOWN_ENDLESS_SECONDS if was_endless else SECONDS
            line = {"case": case.name, **_run_case(case, settings, seconds)}
            line["seconds"] = round(time.monotonic() - start, 1)
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")
            lines.flush()
            if line["outcome"] == ENDLESS:
                sys.stdout.flush()
                os._exit(MORE_TO_DO)


def _run_case(case: Case, settings: dict[str, str], seconds: int) -> dict[str, Any]:
    session = Session(settings)
    said = ""
    try:
        with _at_most(seconds):
            outcome: Outcome = case.run(session)
    except Endless:
        outcome = dict(ENDLESS)
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
    os._exit(0)  # no thread of an engine's must hold the process
