"""What `headrace run` prints when the script fails."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from types import TracebackType

from headrace.errors import HeadraceError
from headrace.parity import KINDS, Status, load_table

_PACKAGE = str(Path(__file__).resolve().parents[1])
_EXAMPLES = str(Path(_PACKAGE) / "examples")
_CANNOT_IMPORT = re.compile(r"cannot import name '(?P<name>\w+)'")


def describe_failure(error: BaseException, script: str, *, whole: bool = False) -> str:
    """The message for the terminal: the user's lines, and headrace's only when `whole`."""
    if whole:
        return "".join(traceback.format_exception(error)).rstrip()
    if isinstance(error, HeadraceError):
        return str(error)
    lines = ["".join(_users_part(error).format()).rstrip()]
    missing = _missing_name(error)
    if missing is not None:
        lines.append(f"  headrace: {missing}")
        lines.append(f"  hint: `headrace doctor {script}` lists everything that is not there")
    return "\n".join(lines)


def _users_part(error: BaseException) -> traceback.TracebackException:
    whole = traceback.TracebackException.from_exception(error)
    _drop_own_frames(whole, set())
    return whole


def _drop_own_frames(part: traceback.TracebackException, seen: set[int]) -> None:
    if id(part) in seen:
        return
    seen.add(id(part))
    kept = [frame for frame in part.stack if not _is_own(frame.filename)]
    part.stack = traceback.StackSummary.from_list(kept)
    for other in (part.__cause__, part.__context__, *(getattr(part, "exceptions", None) or ())):
        if other is not None:
            _drop_own_frames(other, seen)


def _is_own(file: str) -> bool:
    if file.startswith("<frozen "):
        return True
    return file.startswith(_PACKAGE) and not file.startswith(_EXAMPLES)


def _missing_name(error: BaseException) -> str | None:
    """What the parity table says of the headrace name that the script did not find."""
    if isinstance(error, ImportError) and not _is_own(_raised_in(error.__traceback__)):
        return _missing_import(error)
    if isinstance(error, AttributeError) and error.obj is not None:
        kind = error.obj if isinstance(error.obj, type) else type(error.obj)
        return _missing_method(kind, error.name or "")
    return None


def _missing_import(error: ImportError) -> str | None:
    found = _CANNOT_IMPORT.search(str(error))
    root, _, below = (error.name or "").partition(".")
    if found is None or root != "headrace":
        return None
    module, name = f"pyflink.{below}", found["name"]
    return _verdict(f"{module}.{name}", load_table().status_of(module, name))


def _missing_method(kind: type, method: str) -> str | None:
    if kind.__module__.partition(".")[0] != "headrace":
        return None
    for base in kind.__mro__:
        for known in load_table().classes_named(base.__qualname__):
            if method in known.methods:
                return _verdict(f"{kind.__qualname__}.{method}", known.methods[method])
    return None


def _verdict(name: str, status: Status | None) -> str:
    if status is None or status.is_done:
        return f"{name} is not a name that headrace has"
    return f"{name} is not supported ({KINDS[status.kind]}): {status.reason}"


def _raised_in(trace: TracebackType | None) -> str:
    file = ""
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith("<frozen "):
            file = trace.tb_frame.f_code.co_filename
        trace = trace.tb_next
    return file
