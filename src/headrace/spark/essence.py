"""What matters in Spark's own words about a failure: no Java, none of headrace's frames."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headrace.errors import HeadraceError, InvalidArgument, JobFailed, UserFunctionFailed
from headrace.origin import Origin, innermost

_LONGEST = 400
_LINES = 12

_TRACEBACK = "Traceback (most recent call last):"
_FRAME = re.compile(r'^\s+File "(?P<file>[^"]+)", line (?P<line>\d+)')
_JAVA_CLASS = re.compile(r"\b(?:java|javax|scala|org\.apache|org\.rocksdb|py4j)\.[\w.$]+: ?")
_LOST_TASK = re.compile(r"^.*Lost task [\d.]+ in stage [\d.]+ \(TID \d+\) \([^)]*\): ", re.DOTALL)
_TERMINATED = re.compile(r"Query \S* ?\[id = [^\]]*\] terminated with exception: ?")
_CALLING = re.compile(r"^An error occurred while calling \S+\s*:? ?", re.MULTILINE)
_CONDITION = re.compile(r"^\[[A-Z_]+(\.[A-Z_]+)*\] ")
_TAIL = re.compile(
    r"\s*(SQLSTATE: \w+|== SQL|== DataFrame ==|Driver stacktrace:|JVM stack).*$", re.DOTALL
)
_ADVICE = re.compile(
    r"\s*(If necessary,? set|Use `?try_|To tolerate|Increase|Consider setting)[^\n]*", re.IGNORECASE
)


@dataclass(frozen=True)
class _Known:
    """A trouble that Spark describes in its own terms, and how it is told here."""

    pattern: str
    message: str
    hint: str
    kind: type[HeadraceError] = JobFailed


_KNOWN = (
    _Known(
        r"DIVIDE_BY_ZERO",
        "division by zero",
        "Divide by NULLIF(divisor, 0) to have NULL instead.",
        InvalidArgument,
    ),
    _Known(
        r"CAST_INVALID_INPUT\] The value (?P<value>.+?) of the type .+? to \"(?P<type>\w+)",
        "{value} cannot be cast to {type}",
        "TRY_CAST gives NULL for such values.",
        InvalidArgument,
    ),
    _Known(
        r"CAST_OVERFLOW\] The value (?P<value>\S+?)[LSBDF]? of the type .+? to \"(?P<type>\w+)",
        "{value} does not fit into {type}",
        "TRY_CAST gives NULL for such values; a wider type takes them.",
        InvalidArgument,
    ),
    _Known(
        r"Python worker exited unexpectedly|Python worker process terminated",
        "a Python worker died, and again when its task was tried anew",
        "Was it killed, for want of memory perhaps? Did a library crash in it?",
    ),
    _Known(
        r"Python worker failed to connect back",
        "a Python process of Spark's did not start in time",
        "Is the machine overloaded? Then try again with less beside the job.",
    ),
    _Known(
        r"OutOfMemoryError",
        "Spark has run out of memory",
        "Give it more, for example with --conf spark.driver.memory=4g.",
    ),
)


def describe(text: str) -> HeadraceError | None:
    """The error a user should see for a failure whose text Spark gives; None if it says nothing."""
    for known in _KNOWN:
        found = re.search(known.pattern, text)
        if found is not None:
            return known.kind(known.message.format(**found.groupdict()), hint=known.hint)
    return _of_python(text) or _of_spark(text)


def _of_python(text: str) -> HeadraceError | None:
    """The last traceback of a worker: what was raised, and the user's line if there is one."""
    _, found, trace = text.rpartition(_TRACEBACK)
    if not found:
        return None
    places: list[tuple[str, int]] = []
    raised: list[str] = []
    for line in trace.splitlines():
        frame = _FRAME.match(line)
        if frame is not None:
            places.append((frame["file"], int(frame["line"])))
        elif line and not line[0].isspace():
            raised.append(line)
            break
    message = raised[0][:_LONGEST] if raised else "a Python worker failed"
    origin: Origin | None = innermost(places, only_users=True)
    kind = JobFailed if origin is None else UserFunctionFailed
    return kind(message, origin=origin)


def _of_spark(text: str) -> JobFailed | None:
    said = _TERMINATED.sub("", _CALLING.sub("", _LOST_TASK.sub("", text)))
    said = _TAIL.sub("", _JAVA_CLASS.sub("", said))
    lines = [
        line.rstrip()
        for line in said.splitlines()
        if line.strip() and not re.match(r"\s+at |\s*\.\.\. \d+ more|Caused by: $", line)
    ]
    kept = [_ADVICE.sub("", _CONDITION.sub("", line)) for line in lines]
    kept = list(dict.fromkeys(line for line in kept if line.strip()))
    if len(kept) > _LINES:
        kept = [*kept[:3], "…", *kept[-_LINES + 4 :]]
    return JobFailed("\n".join(kept)) if kept else None
