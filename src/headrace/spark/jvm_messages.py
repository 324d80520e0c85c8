"""What the JVM and its helpers write to standard error.

Spark's launcher and its Python side processes chat there about things no user asked for. The
JVM gets a pipe instead of our standard error; what is worth reading is passed on.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_CHATTER = (
    "WARNING: Using incubator modules",
    "Using Spark's default log4j profile",
    "Setting default log level to",
    "To adjust logging level use",
    "Streaming TransformWithStateInPandas Python worker",
    "Starting Streaming TransformWithStateInPandas",
    "Starting foreachBatch",
    "SLF4J",
)


@contextmanager
def without_chatter() -> Iterator[None]:
    """Processes started inside write to a pipe whose useful lines reach standard error."""
    if os.environ.get("HEADRACE_SPARK_LOG"):
        yield
        return
    sys.stderr.flush()
    saved = os.dup(2)
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.close(writing)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(saved, 2)
        threading.Thread(
            target=_pass_on, args=(reading, saved), daemon=True, name="headrace-jvm-messages"
        ).start()


def _pass_on(reading: int, to: int) -> None:
    after_chatter = False
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            text = line.decode(errors="replace")
            if text.startswith(_CHATTER) or (after_chatter and not text.strip()):
                after_chatter = True
                continue
            after_chatter = False
            os.write(to, line)
