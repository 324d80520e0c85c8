"""What Spark says of full disks and other troubles, said so that it helps."""

from __future__ import annotations

import pytest

from headrace.errors import JobFailed
from headrace.spark.failures import from_spark

PLAN = "+- ~Project [slot#374, blob#375] org.apache.spark.sql.execution"


def spark_says(*lines: str) -> Exception:
    return Exception("\n".join(["[JOB_FAILED] Job aborted", *lines, "\tat Some.java", PLAN]))


@pytest.mark.parametrize(
    "cause",
    [
        "Caused by: java.net.ConnectException: Connection refused",
        "java.io.FileNotFoundException: /data/input.csv does not exist",
    ],
)
def test_troubles_that_may_pass(cause: str) -> None:
    assert type(from_spark(spark_says(cause))) is JobFailed


def test_a_full_disk() -> None:
    error = from_spark(spark_says("java.io.IOException: No space left on device /data/shuffle-1"))
    assert type(error) is JobFailed
    assert "the disk is full" in error.message
    assert "/data/shuffle-1" in error.message
    assert "make space" in str(error.hint)
    assert "the disk is full" in from_spark(OSError(28, "No space left on device")).message
