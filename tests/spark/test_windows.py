"""Windows on Spark: random programs as batches and streams, and what only a real job shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.datastream import StreamExecutionEnvironment
from tests.windows.comparison import assert_as_foretold
from tests.windows.oracle import Oracle
from tests.windows.programs import Program, programs
from tests.windows.scripted_jobs import scripted_job

AT_ONCE = 25
"""Programs that run as one job on Spark, where a job costs seconds whatever it does."""


def run_on_spark(many: Sequence[Program], *, cut: bool) -> list[list[Any]]:
    """The results of each program."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    job = scripted_job(env, [program.script(cut=cut) for program in many])
    found = list(job.execute_and_collect())
    return [[result for result in found if result[0] == number] for number in range(len(many))]


@pytest.mark.slow
@settings(max_examples=2, suppress_health_check=list(HealthCheck))
@given(many=st.lists(programs(), min_size=AT_ONCE, max_size=AT_ONCE))
def test_random_programs(many: list[Program]) -> None:
    """As one Spark batch, in which nothing is late, and as one stream with the programs' cuts."""
    for program, results in zip(many, run_on_spark(many, cut=False), strict=True):
        assert_as_foretold(results, program, Oracle(program.spec).run(program.records()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADRACE_MODE", "stream")
        for program, results in zip(many, run_on_spark(many, cut=True), strict=True):
            assert_as_foretold(results, program, Oracle(program.spec).run(program.steps()))
