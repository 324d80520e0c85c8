"""Testing jobs and functions in the test's own process, without Spark."""

from headrace.testing.asserts import assert_same_records, difference
from headrace.testing.harness import OperatorHarness
from headrace.testing.job_harness import JobHarness, JobOutput
from headrace.testing.sources import ScriptedSource

__all__ = [
    "JobHarness",
    "JobOutput",
    "OperatorHarness",
    "ScriptedSource",
    "assert_same_records",
    "difference",
]
