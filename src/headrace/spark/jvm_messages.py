"""What the JVM and its helpers write to standard output and standard error.

Spark, its launcher, Java itself and Spark's Python processes speak there about things no user
asked for. The JVM gets pipes instead of our two streams; what the user's own functions wrote is
passed on.
HEADRACE_SPARK_LOG, set to a level of Spark's log, lets everything through.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from pyspark.logger import PySparkLogger

LOG_LEVEL = "HEADRACE_SPARK_LOG"

_CHATTER = (
    "Using Spark's default log4j profile",
    "Setting default log level to",
    "To adjust logging level use",
    "SLF4J",
    "Picked up JAVA_TOOL_OPTIONS",
    "Picked up _JAVA_OPTIONS",
    "OpenJDK 64-Bit Server VM warning",
    "Java HotSpot(TM) 64-Bit Server VM warning",
)
_JAVA_WARNS = re.compile(
    r"WARNING: (Using incubator modules|A terminally deprecated method in |A restricted method in "
    r"|An illegal reflective access|Illegal reflective access|All illegal access operations"
    r"|Please consider reporting this to the maintainers of |Use --(enable-native|illegal)-access"
    r"|Restricted methods will be blocked|(sun|java|jdk)\.\S+ (has been called|will be removed))"
    r"|\[\d+[.,]\d+s\]\[\w+ *\]\["
)
_THROWN = re.compile(
    r"Exception in thread \"|Exception: (java|scala)\.|\[CIRCULAR REFERENCE"
    r"|(\s*(Caused by|Suppressed): )?(java|javax|jdk|sun|com\.sun|scala|org\.apache|org\.rocksdb"
    r"|io\.netty|com\.fasterxml)\.[\w.$]+(Exception|Error|Throwable|Failure)\b"
)
_IN_A_STACK = re.compile(r"\s+(at [\w.$/@<>-]+\(.*\)|\.\.\. \d+ (more|common frames omitted))\s*$")
_CRASH = re.compile(r"#( |$)")
_WORKER_FAILED = ("PySpark worker failed with exception", "PySpark daemon failed to flush")
_TRACEBACK = "Traceback (most recent call last):"
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_SPARKS_OWN = re.compile(r'\s+File "[^"]*(/pyspark/|/pyspark\.zip/|<frozen runpy>)')


def hush_loggers() -> None:
    """Keep Spark's Python side in this process from writing what it also raises, stack and all."""
    # A program that logs at INFO wants its own messages, not the bridge's to the JVM.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    if not os.environ.get(LOG_LEVEL):
        for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
            PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextmanager
def without_chatter() -> Iterator[None]:
    """Processes started inside write to pipes whose useful lines reach our own streams."""
    if os.environ.get(LOG_LEVEL):
        yield
        return
    with ExitStack() as streams:
        streams.enter_context(_sifted(1, "headrace-jvm-output"))
        streams.enter_context(_sifted(2, "headrace-jvm-messages"))
        yield


@contextmanager
def _sifted(stream: int, name: str) -> Iterator[None]:
    _flush()
    try:
        saved = os.dup(stream)
    except OSError:  # a program without such a stream: nobody reads it
        yield
        return
    reading, writing = os.pipe()
    os.dup2(writing, stream)
    os.close(writing)
    try:
        yield
    finally:
        _flush()
        os.dup2(saved, stream)
        threading.Thread(target=_pass_on, args=(reading, saved), daemon=True, name=name).start()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _pass_on(reading: int, to: int) -> None:
    sieve = Sieve(lambda line: os.write(to, line))
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            sieve.take(line)
        sieve.end()


class Sieve:
    """Hands on the lines that neither Java nor Spark's Python processes have written."""

    def __init__(self, write: Callable[[bytes], object]):
        self._write = write
        self._dropped = False
        """Whether the line before was not passed on."""
        self._thrown = False
        """Whether it was part of what Java shows of an exception."""
        self._crashed = False
        self._traceback: list[bytes] = []
        """A traceback of Python's, until it is known whose it is; or several, of processes that
        write at the same time."""
        self._open = 0
        """How many of them have not come to their last line."""
        self._spark_speaks = False
        """Whether the traceback that comes next is Spark's own."""

    def take(self, line: bytes) -> None:
        text = line.decode(errors="replace").rstrip("\r\n")
        if self._traceback:
            self._go_on_with_traceback(line, text)
        elif text.startswith(_TRACEBACK):
            self._open = 1
            self._traceback.append(line)
        elif self._is_noise(text):
            self._dropped = True
        else:
            self._dropped = self._spark_speaks = False
            self._write(line)

    def end(self) -> None:
        """What is still waiting when the JVM has gone."""
        self._decide()

    def _is_noise(self, text: str) -> bool:
        if self._crashed or text.startswith("# A fatal error has been detected by the Java"):
            self._crashed = bool(_CRASH.match(text))
            return self._crashed
        was_thrown, self._thrown = self._thrown, bool(_THROWN.match(text))
        if self._thrown or _IN_A_STACK.match(text):
            self._thrown = True
            return True
        if was_thrown and text.startswith((" ", "\t")):
            self._thrown = True  # a message of several lines
            return True
        if text.startswith(_WORKER_FAILED):
            self._spark_speaks = True
            return True
        if self._dropped and (not text.strip() or text.startswith(_CHAINED)):
            return True
        return text.startswith(_CHATTER) or bool(_JAVA_WARNS.match(text))

    def _go_on_with_traceback(self, line: bytes, text: str) -> None:
        self._traceback.append(line)
        if text.startswith(_TRACEBACK):
            self._open += 1
        elif not text.startswith(" "):
            self._open -= 1  # its last line says what was raised
        if not self._open:
            self._decide()

    def _decide(self) -> None:
        lines, self._traceback = self._traceback, []
        self._dropped = self._spark_speaks or _is_sparks_own(lines)
        self._spark_speaks = self._dropped and self._spark_speaks
        if not self._dropped:
            self._write(b"".join(lines))


def _is_sparks_own(lines: list[bytes]) -> bool:
    """Whether a traceback begins in Spark; of several at once, whether none leaves it."""
    texts = [line.decode(errors="replace") for line in lines]
    frames = [text for text in texts if text.lstrip().startswith("File ")]
    if sum(text.startswith(_TRACEBACK) for text in texts) == 1:
        frames = frames[:1]
    return bool(frames) and all(_SPARKS_OWN.match(frame) for frame in frames)
