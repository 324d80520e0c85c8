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
from headrace.spark.essence import describe
from headrace.spark.failed_attempts import earlier_note, fails_again, leave_note

FAILURE_MARK = "HEADRACE-FAILURE"
_FOUND = re.compile(FAILURE_MARK + r" ([A-Za-z0-9+/=]+)")
_LONGEST_CAUSE = 400
_NO_SPACE = "No space left on device"


class WorkerFailure(Exception):
    """A HeadraceError dressed to survive Spark, which keeps only an exception's text."""

    @classmethod
    def wrap(cls, error: HeadraceError, cause: BaseException | None) -> WorkerFailure:
        """The error as Spark's exception; further attempts at the task know if it is final."""
        text = _packed(error)
        if fails_again(error, cause):
            leave_note(text)
        return cls(text)


def _packed(error: HeadraceError) -> str:
    origin = error.origin
    fields = {
        "kind": error.public().__name__,
        "message": error.message,
        "hint": error.hint,
        "origin": [origin.file, origin.line, origin.code] if isinstance(origin, Origin) else None,
    }
    return f"{error}\n{FAILURE_MARK} {base64.b64encode(json.dumps(fields).encode()).decode()}"


class Reporting:
    """Whom to blame for a failure that does not say it itself."""

    def __init__(self) -> None:
        self.name = self.uid = ""

    def speaks_of(self, name: str, uid: str) -> None:
        self.name, self.uid = name, uid


@contextmanager
def reported() -> Iterator[Reporting]:
    """Turn what is raised inside into something the driver can read back.

    Nothing inside is run if an earlier attempt at this task has failed for good.
    """
    earlier = earlier_note()
    if earlier is not None:
        raise WorkerFailure(earlier)
    reporting = Reporting()
    try:
        yield reporting
    except RecordFailure as failure:
        error = report(failure, reporting.name, reporting.uid)
        raise WorkerFailure.wrap(error, failure.error) from failure.error
    except HeadraceError as error:
        raise WorkerFailure.wrap(error, error.__cause__) from error


def from_spark(error: BaseException) -> HeadraceError:
    """The error a user should see for an exception Spark raised."""
    if isinstance(error, HeadraceError):
        return error
    text = str(error)
    found = _FOUND.search(text)
    if found is None:
        return _full_disk(text) or describe(text) or JobFailed(repr(error))
    fields = json.loads(base64.b64decode(found.group(1)))
    kind = getattr(errors, fields["kind"], JobFailed)
    origin = Origin(*fields["origin"]) if fields["origin"] else None
    rebuilt: HeadraceError = kind(fields["message"], origin=origin, hint=fields["hint"])
    return rebuilt


def _full_disk(text: str) -> JobFailed | None:
    found = next((line.strip() for line in text.splitlines() if _NO_SPACE in line), None)
    if found is None:
        return None
    return JobFailed(
        f"the disk is full: {found[:_LONGEST_CAUSE]}",
        hint="Please make space: the job then goes on from its last checkpoint.",
    )
