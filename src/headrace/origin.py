"""Where in the user's program something was written."""

from __future__ import annotations

import linecache
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType

_PACKAGE = str(Path(__file__).resolve().parent)
_EXAMPLES = str(Path(_PACKAGE) / "examples")
_OTHERS = ("<frozen", "runpy.py", "/pyspark/", "/py4j/", "/cloudpickle/")


@dataclass(frozen=True, slots=True)
class Origin:
    """A line of the user's program."""

    file: str
    line: int
    code: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}"
        return f"{place}  {self.code}" if self.code else place


def _is_users(file: str) -> bool:
    if file.startswith(_PACKAGE) and not file.startswith(_EXAMPLES):
        return False
    return not any(part in file for part in _OTHERS)


def _origin(file: str, line: int) -> Origin:
    return Origin(file, line, linecache.getline(file, line).strip())


def calling_origin() -> Origin | None:
    """The innermost line on the stack that is not headrace's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if _is_users(frame.f_code.co_filename):
            return _origin(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None


def raising_origin(trace: TracebackType | None) -> Origin | None:
    """The innermost line of the user's program in a traceback."""
    found: Origin | None = None
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if _is_users(file):
            found = _origin(file, trace.tb_lineno)
        trace = trace.tb_next
    return found
