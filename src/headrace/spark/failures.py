"""Carrying an error from a worker to the user, through Spark, unharmed."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from headrace import errors
from headrace.core.user_code import RecordFailure, report
from headrace.errors import CorruptState, HeadraceError, JobFailed
from headrace.origin import Origin
from headrace.spark.essence import describe
from headrace.spark.failed_attempts import earlier_note, fails_again, leave_note

FAILURE_MARK = "HEADRACE-FAILURE"
_FOUND = re.compile(FAILURE_MARK + r" ([A-Za-z0-9+/=]+)")
_LONGEST_CAUSE = 400
_NO_SPACE = "No space left on device"

_CHECKPOINT_FILE = re.compile(
    r"/[^\s,:'\"]*/checkpoint/(?:state|offsets|commits|sources|metadata)[^\s,:'\"]*"
)
_STATE_ERROR = "CANNOT_LOAD_STATE_STORE"
_DAMAGE = re.compile(
    r"ChecksumException|CHECKSUM_VERIFICATION_FAILED|Stream is corrupted|EOFException|ZipException"
    r"|Corruption: |Not a checksum file|UNEXPECTED_FILE_SIZE|CANNOT_READ_\w+|CANNOT_FIND_BASE_\w+"
    r"|INVALID_CHANGE_LOG_READER_VERSION|FORMAT_VALIDATION_FAILURE|FileNotFoundException"
    r"|does not exist|AUTO_SNAPSHOT_REPAIR_FAILED|MalformedInputException|JsonParseException"
    r"|JsonMappingException|Incomplete log file|UTFDataFormatException|Unrecognized token"
)
"""What Spark and Hadoop say of files that are not what was written; other troubles may pass."""


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


class DamagedState(CorruptState):
    """State that Spark could not read."""

    def __init__(self, what: str, file: str | None):
        self.what, self.file = what, file
        where = "a file" if file is None else file
        super().__init__(
            f"the state of the checkpoint cannot be read: {where} is damaged or missing\n{what}",
            hint="Restore the folder from a copy, or start from a savepoint in a new folder. If "
            "only the last checkpoint is damaged, headrace.checkpointing.fall-back: true goes on "
            "from the one before.",
        )
        found = None if file is None else re.search(r"/(\d+)\.(?:changelog|zip)$", file)
        self.version = None if found is None else int(found[1])
        """Which version of a slot's state it was part of."""


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
        return _full_disk(text) or _damage(text) or describe(text) or JobFailed(repr(error))
    fields = json.loads(base64.b64decode(found.group(1)))
    kind = getattr(errors, fields["kind"], JobFailed)
    origin = Origin(*fields["origin"]) if fields["origin"] else None
    rebuilt: HeadraceError = kind(fields["message"], origin=origin, hint=fields["hint"])
    return rebuilt


def _damage(text: str) -> DamagedState | None:
    """What is wrong with the checkpoint, if that is what Spark complains of."""
    causes = [line.strip() for line in text.splitlines() if _DAMAGE.search(line)]
    file = next((found[0] for line in causes if (found := _CHECKPOINT_FILE.search(line))), None)
    if not causes or (file is None and _STATE_ERROR not in text):
        return None
    return DamagedState(causes[0][:_LONGEST_CAUSE], file)


def _full_disk(text: str) -> JobFailed | None:
    found = next((line.strip() for line in text.splitlines() if _NO_SPACE in line), None)
    if found is None:
        return None
    return JobFailed(
        f"the disk is full: {found[:_LONGEST_CAUSE]}",
        hint="Please make space: the job then goes on from its last checkpoint.",
    )
