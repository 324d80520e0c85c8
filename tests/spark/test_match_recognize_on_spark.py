"""MATCH_RECOGNIZE on Spark: cases whose results are Flink's, with a micro-batch for each row."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import InvalidGraph
from tests.cases.loading import one_set
from tests.spark.forgetful_workers import Forgetful
from tests.spark.sql_case_jobs import Case, run_together
from tests.sql import sql_cases
from tests.sql.test_match_recognize import CASES, runnable

pytestmark = pytest.mark.slow
REFUSED = [case for case in one_set(CASES) if "expect_error" in case]
RUN = [case for case in one_set(CASES) if "expect_error" not in case]
Results = dict[str, list[str]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What each case gave as a stream; all of them are one job."""
    forgetful = Forgetful(tmp_path_factory.mktemp("rows") / "forget")
    forgetful.begin()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_MODE", "stream")
        cases = [runnable(case) for case in RUN]
        found = run_together(cases, per_record=True, parallelism=1, forgetful=forgetful)
    longest = max(len(table["rows"]) for case in cases for table in case["tables"])
    forgetful.end(at_least=longest)
    return found


@pytest.fixture(scope="module")
def results_of_a_batch() -> Results:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_MODE", "batch")
        return run_together([runnable(case) for case in RUN], per_record=False, parallelism=2)


@pytest.mark.parametrize("case", RUN, ids=lambda case: case["id"])
def test_stream(case: Case, results: Results) -> None:
    """After every row all that is known is what Spark's state store holds."""
    wrong = sql_cases.verdict(case, results[case["id"]])
    assert wrong is None, wrong


@pytest.mark.parametrize("case", RUN, ids=lambda case: case["id"])
def test_batch(case: Case, results_of_a_batch: Results) -> None:
    wrong = sql_cases.verdict(case, results_of_a_batch[case["id"]])
    assert wrong is None, wrong


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["id"])
def test_case_that_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidGraph, match="would be found for ever"):
        run_together([runnable(case)], per_record=True, parallelism=1)
