"""What the JVM writes: nothing of Java and of Spark's Python processes, all of the user's."""

from __future__ import annotations

import os
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.spark.jvm_messages import Sieve, without_chatter

OVERFLOW = """\
Exception in thread "stream execution thread for [id = 1, runId = 2]" java.lang.StackOverflowError
\tat java.base/java.util.regex.Pattern$Loop.match(Pattern.java:5000)
\tat java.base/java.util.regex.Pattern$GroupTail.match(Pattern.java:4863)
Caused by: org.apache.spark.SparkException: Job aborted
  of a message with two lines
\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:2) ~[spark.jar:4.3]
\t... 12 more
\tSuppressed: java.io.IOException: gone
\t\tat java.base/java.io.Reader.read(Reader.java:1)
"""
BROKEN_PIPE = """\
PySpark daemon failed to flush the output to the worker process:
Traceback (most recent call last):
  File "/lib/site-packages/pyspark/daemon.py", line 95, in worker
    outfile.flush()
BrokenPipeError: [Errno 32] Broken pipe

Traceback (most recent call last):
  File "/lib/site-packages/pyspark/worker.py", line 5, in main
    process()
  File "/srv/jobs/job.py", line 3, in shout
    raise ValueError
ValueError

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/lib/site-packages/pyspark/daemon.py", line 95, in worker
    outfile.flush()
BrokenPipeError: [Errno 32] Broken pipe
"""
WARNINGS = """\
WARNING: Using incubator modules: jdk.incubator.vector
WARNING: A terminally deprecated method in sun.misc.Unsafe has been called
WARNING: Please consider reporting this to the maintainers of org.apache.spark.unsafe.Platform
OpenJDK 64-Bit Server VM warning: sharing is only supported for boot loader classes
[0.012s][warning][cds] shared class paths mismatch
Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties

Setting default log level to "WARN".
"""
CRASH = """\
# A fatal error has been detected by the Java Runtime Environment:
#
#  SIGSEGV (0xb) at pc=0x00007f
# JRE version: OpenJDK Runtime Environment (17.0)
"""
USERS = """\
WARNING: the amount is negative
Caused by: a missing price
at last
  at the end of the day (maybe)
# a heading
java is a fine island
Traceback (most recent call last):
  File "/srv/jobs/job.py", line 12, in parse
    json.loads(text)
  File "/lib/python3.11/json/decoder.py", line 1, in decode
    raise JSONDecodeError
json.decoder.JSONDecodeError: Expecting value
org.apache.spark is what I use

done
"""


def passed_on(text: str) -> str:
    kept: list[bytes] = []
    sieve = Sieve(kept.append)
    for line in text.encode().splitlines(keepends=True):
        sieve.take(line)
    sieve.end()
    return b"".join(kept).decode()


@pytest.mark.parametrize("noise", [OVERFLOW, BROKEN_PIPE, WARNINGS, CRASH])
def test_nothing_of_java_or_of_sparks_processes_is_passed_on(noise: str) -> None:
    assert passed_on(noise) == ""
    assert passed_on(f"one\n{noise}two\n") == "one\ntwo\n"


def test_what_the_users_functions_write_is_passed_on() -> None:
    assert passed_on(USERS) == USERS


def test_a_traceback_that_was_cut_off_is_passed_on() -> None:
    text = 'Traceback (most recent call last):\n  File "/srv/jobs/job.py", line 12, in parse\n'
    assert passed_on(text) == text


def test_both_streams_of_what_is_started_inside_are_sifted(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with without_chatter():
        os.write(1, b"SLF4J: noise\nmine\n")
        os.write(2, OVERFLOW.encode() + b"mine, too\n")
    out = err = ""
    deadline = time.monotonic() + 60
    while not (out and err) and time.monotonic() < deadline:
        time.sleep(0.01)
        new = capfd.readouterr()
        out, err = out + new.out, err + new.err
    assert (out, err) == ("mine\n", "mine, too\n")


def test_everything_is_shown_on_request(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_SPARK_LOG", "WARN")
    with without_chatter():
        os.write(2, OVERFLOW.encode())
    assert capfd.readouterr().err == OVERFLOW


_HUNG_UP = """\
Traceback (most recent call last):
  File "/x/site-packages/pyspark/daemon.py", line 264, in manager
    code = worker(sock, authenticated)
  File "/x/site-packages/pyspark/daemon.py", line 95, in worker
    outfile.flush()
BrokenPipeError: [Errno 32] Broken pipe
"""
_USERS = """\
Traceback (most recent call last):
  File "/srv/jobs/job.py", line 3, in <module>
    1 / 0
ZeroDivisionError: division by zero
"""


@given(st.integers(2, 4), st.randoms(use_true_random=False))
def test_tracebacks_that_processes_write_at_the_same_time(count, chance):
    assert passed_on(_interleaved([_HUNG_UP] * count, chance) + "done\n") == "done\n"


@given(st.randoms(use_true_random=False))
def test_the_users_own_among_them_is_not_lost(chance):
    text = _interleaved([_HUNG_UP, _USERS, _HUNG_UP], chance)
    assert "ZeroDivisionError" in passed_on(text)


def _interleaved(texts: list[str], chance: random.Random) -> str:
    waiting = [text.splitlines(keepends=True) for text in texts]
    found = ""
    while any(waiting):
        found += chance.choice([lines for lines in waiting if lines]).pop(0)
    return found
