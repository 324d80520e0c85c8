"""Named steps of a checkpoint at which a test lets the job die.

    HEADRACE_CRASH_AT=journal.before@3    the step, and the number of the checkpoint; or several
    HEADRACE_CRASH_MARK=<file>            <file>.journal.before@3 is made when it happens, so that
                                          it happens once
    HEADRACE_CRASH_WHOM=job | process     everything in the session, or only who comes by
    HEADRACE_CRASH_SIGNAL=SIGSTOP         not dead, but asleep until somebody wakes it

Without the first variable a step is an empty call, a few for each checkpoint.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

STEPS = (
    "checkpoint-triggered",
    "barrier-injected",
    "barrier-aligned",
    "barrier-overtakes",
    "sink-pre-commit.before",
    "sink-pre-commit.after",
    "snapshot-taken",
    "state-files.before",
    "state-files.after",
    "journal.before",
    "journal.after",
    "metadata.before",
    "metadata.after",
    "sink-commit.before",
    "sink-commit.after",
    "cleanup.before",
    "cleanup.after",
)

TAKEOVER_STEPS = ("attempt.claimed", "attempt.decided", "attempt.recovers", "attempt.recovered")
"""Of a driver that goes on where another may still be alive; numbered by attempts."""

KAFKA_STEPS = (
    "kafka-commit.before",
    "kafka-commit.after",
    "kafka-anew.before",
    "kafka-anew.after",
)
"""Of a task that commits a transaction, and of a driver that has to write one anew."""

CDC_STEPS = ("cdc-table", "cdc-confirm.before", "cdc-confirm.after")
"""Of a reader that has fetched rows of a table, and of a driver that lets a database forget what
checkpoints have; numbered by how often each has happened in its process."""

RABBITMQ_STEPS = ("rabbitmq-ack.before", "rabbitmq-ack.after")
"""Of a reader that lets the server forget what a checkpoint has; numbered in the same way."""


def _nothing(step: str, batch_id: int) -> None:
    """Go on."""


def _killer(wanted: str, mark: str, whom: str, how: signal.Signals) -> Callable[[str, int], None]:
    points = set(wanted.split(","))

    def die(step: str, batch_id: int) -> None:
        point = f"{step}@{batch_id}"
        if point not in points:
            return
        try:
            os.close(os.open(f"{mark}.{point}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        for process in _session() if whom == "job" else ():
            with suppress(ProcessLookupError):
                os.kill(process, how)
        # To this thread: it would go on for a moment if another one took the signal.
        signal.pthread_kill(threading.get_ident(), how)

    return die


def _session() -> list[int]:
    """The other processes of this session: Spark's driver, its JVM, its workers."""
    own = os.getsid(0)
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(ProcessLookupError, PermissionError):
                if os.getsid(int(entry.name)) == own:
                    found.append(int(entry.name))
    return found


_AT = os.environ.get("HEADRACE_CRASH_AT")
_MARK = os.environ.get("HEADRACE_CRASH_MARK", "")
_WHOM = os.environ.get("HEADRACE_CRASH_WHOM", "job")
_HOW = signal.Signals[os.environ.get("HEADRACE_CRASH_SIGNAL", "SIGKILL")]
reach: Callable[[str, int], None] = _nothing if _AT is None else _killer(_AT, _MARK, _WHOM, _HOW)
"""Come by a step of a checkpoint."""
