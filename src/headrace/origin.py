"""Where in the user's program something was written."""

from __future__ import annotations

import linecache
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType

_PACKAGE = str(Path(__file__).resolve().parent)
_EXAMPLES = str(Path(_PACKAGE) / "examples")
_STANDARD_LIBRARY = str(Path(os.__file__).resolve().parent)
_INSTALLED = ("/site-packages/", "/dist-packages/")
_COMPILED = (".pyx", ".pxi")  # Cython names its sources, which lie nowhere
_ENGINE = ("<frozen", "/pyspark/", "/py4j/", "/cloudpickle/")


@dataclass(frozen=True, slots=True)
class Origin:
    """A line of the user's program."""

    file: str
    line: int
    code: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}"
        return f"{place}  {self.code}" if self.code else place


def _is_anyones(file: str) -> bool:
    """Whether a file may hold a user's program: a script may lie among installed packages."""
    if file.startswith(_PACKAGE) and not file.startswith(_EXAMPLES):
        return False
    if file.startswith(_STANDARD_LIBRARY) and not _is_installed(file):
        return False
    return not (any(part in file for part in _ENGINE) or file.endswith(_COMPILED))


def _is_installed(file: str) -> bool:
    return any(part in file for part in _INSTALLED)


def _is_users(file: str) -> bool:
    return _is_anyones(file) and not _is_installed(file)


def _is_generated(frame: FrameType) -> bool:
    """Whether nobody wrote the code: the methods of a dataclass, or what headrace compiles.

    What is typed at a prompt, or given to `python -c`, has no file either, but is the user's.
    """
    code = frame.f_code
    if not code.co_filename.startswith("<"):
        return False
    module = frame.f_globals.get("__name__")
    return module is None or module.startswith("headrace.") or code.co_name.startswith("__")


def innermost(lines: list[tuple[str, int]], *, only_users: bool = False) -> Origin | None:
    """Of lines in the order of their calls the last one that the user wrote.

    If there is none, one of an installed package will do unless `only_users`.
    """
    for is_wanted in (_is_users,) if only_users else (_is_users, _is_anyones):
        for file, line in reversed(lines):
            if is_wanted(file):
                return Origin(file, line, linecache.getline(file, line).strip())
    return None


def calling_origin(*, only_users: bool = False) -> Origin | None:
    """The innermost line on the stack that is not headrace's own."""
    lines: list[tuple[str, int]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not _is_generated(frame):
            lines.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return innermost(lines[::-1], only_users=only_users)


def raising_origin(trace: TracebackType | None, *, only_users: bool = False) -> Origin | None:
    """The innermost line of the user's program in a traceback."""
    lines: list[tuple[str, int]] = []
    while trace is not None:
        if not _is_generated(trace.tb_frame):
            lines.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return innermost(lines, only_users=only_users)
