"""Spark's own words about a failure, without Java and without headrace's frames."""

from __future__ import annotations

import pytest

from headrace.errors import InvalidArgument, JobFailed, UserFunctionFailed
from headrace.spark import essence
from headrace.spark.failures import from_spark

DIVISION = (
    "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0. If necessary "
    'set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22012\n'
    "== SQL (line 1, position 1) ==\nCAST(c0 / c1 AS INT)"
)
CAST = (
    '[CAST_INVALID_INPUT] The value \'a\' of the type "STRING" cannot be cast to "INT" because it '
    "is malformed. Correct the value. SQLSTATE: 22018"
)
OVERFLOW = (
    '[CAST_OVERFLOW] The value 3000000000L of the type "BIGINT" cannot be cast to "INT" due to an '
    "overflow. Use `try_cast` to tolerate overflow and return NULL instead. SQLSTATE: 22003"
)
LOST = """An error occurred while calling o123.collect.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 \
times, most recent failure: Lost task 0.3 in stage 1.0 (TID 7) (localhost executor driver): \
java.io.IOException: Connection reset
\tat java.base/java.io.Reader.read(Reader.java:1)
Caused by: java.net.SocketException: by the peer
\t... 12 more

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.abort(DAGScheduler.scala:1)"""
DIED = "Lost task 0.3: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (DIVISION, "division by zero", "NULLIF"),
        (CAST, "'a' cannot be cast to INT", "TRY_CAST"),
        (OVERFLOW, "3000000000 does not fit into INT", "TRY_CAST"),
        (LOST, "Connection reset\nCaused by: by the peer", None),
        ("[STREAM_FAILED] Query [id = 8f2e, runId = cf6b] terminated with exception: No space",
         "No space", None),
        (DIED, "a Python worker died, and again when its task was tried anew", "memory"),
    ],
)  # fmt: skip
def test_it_says_what_is_wrong(text: str, message: str, hint: str | None) -> None:
    error = from_spark(Exception(text))
    about_values = text in (DIVISION, CAST, OVERFLOW)
    assert type(error) is (InvalidArgument if about_values else JobFailed)
    assert error.message == message
    assert (hint or "") in (error.hint or "")


def test_a_traceback_of_a_worker_becomes_the_users_line() -> None:
    own = essence.__file__
    error = from_spark(
        Exception(
            "An exception was thrown from the Python worker. Please see the stack trace below.\n"
            "Traceback (most recent call last):\n"
            '  File "/lib/site-packages/pyspark/worker.py", line 9, in main\n    process()\n'
            '  File "/srv/jobs/job.py", line 3, in shout\n    return s + 1\n'
            f'  File "{own}", line 3, in g\n    b()\n'
            "ZeroDivisionError: division by zero\n"
        )
    )
    assert type(error) is UserFunctionFailed
    assert str(error) == (
        "[user-function-failed] ZeroDivisionError: division by zero\n  at /srv/jobs/job.py:3"
    )


def test_a_traceback_without_a_line_of_the_user() -> None:
    error = from_spark(
        Exception(
            "Traceback (most recent call last):\n"
            '  File "/lib/site-packages/pyspark/worker.py", line 9, in main\n    process()\n'
            "ModuleNotFoundError: No module named 'prices'\n"
        )
    )
    assert type(error) is JobFailed
    assert error.message == "ModuleNotFoundError: No module named 'prices'"
    assert error.origin is None
