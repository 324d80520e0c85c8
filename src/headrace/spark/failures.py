"""Carrying an error from a worker to the user, through Spark, unharmed."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from headrace import errors
from headrace.core.user_code import RecordFailure, report
from headrace.errors import HeadraceError, JobFailed
from headrace.origin import Origin

_MARK = "HEADRACE-FAILURE"
_FOUND = re.compile(_MARK + r" ([A-Za-z0-9+/=]+)")
_LAST_LINES = 12


class WorkerFailure(Exception):
    """A HeadraceError dressed to survive Spark, which keeps only an exception's text."""

    def __init__(self, error: HeadraceError):
        origin = error.origin
        fields = {
            "kind": error.public().__name__,
            "message": error.message,
            "hint": error.hint,
            "origin": [origin.file, origin.line, origin.code] if origin else None,
        }
        packed = base64.b64encode(json.dumps(fields).encode()).decode()
        super().__init__(f"{error}\n{_MARK} {packed}")


class Reporting:
    """Whom to blame for a failure that does not say it itself."""

    def __init__(self) -> None:
        self.name = self.uid = ""

    def speaks_of(self, name: str, uid: str) -> None:
        self.name, self.uid = name, uid


@contextmanager
def reported() -> Iterator[Reporting]:
    """Turn what is raised inside into something the driver can read back."""
    reporting = Reporting()
    try:
        yield reporting
    except RecordFailure as failure:
        raise WorkerFailure(report(failure, reporting.name, reporting.uid)) from failure.error
    except HeadraceError as error:
        raise WorkerFailure(error) from error


def from_spark(error: BaseException) -> HeadraceError:
    """The error a user should see for an exception Spark raised."""
    if isinstance(error, HeadraceError):
        return error
    text = str(error)
    found = _FOUND.search(text)
    if found is None:
        return JobFailed(_essence(text) or repr(error))
    fields = json.loads(base64.b64decode(found.group(1)))
    kind = getattr(errors, fields["kind"], JobFailed)
    origin = Origin(*fields["origin"]) if fields["origin"] else None
    rebuilt: HeadraceError = kind(fields["message"], origin=origin, hint=fields["hint"])
    return rebuilt


def _essence(text: str) -> str:
    """The lines of Spark's message that say something: not its Java stack."""
    noise = ("at ", "... ", "JVM stack")
    kept = [line.rstrip() for line in text.splitlines()
            if line.strip() and not line.lstrip().startswith(noise)]  # fmt: skip
    if len(kept) > _LAST_LINES:
        kept = [*kept[:3], "…", *kept[-_LAST_LINES + 4 :]]
    return "\n".join(kept)
