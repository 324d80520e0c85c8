"""Random windowed programs give what the oracle says, wherever they are cut and restored."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.datastream import StreamExecutionEnvironment
from headrace.testing import JobHarness, JobOutput
from tests.windows.comparison import assert_as_foretold, dropped
from tests.windows.oracle import Oracle, Record, Spec
from tests.windows.programs import Program, programs
from tests.windows.scripted_jobs import scripted_job


def run_in_process(
    program: Program, *, cut: bool = True, crash_after: Collection[int] = (),
    rescale_after: Mapping[int, int] | None = None,
) -> JobOutput:  # fmt: skip
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    job = scripted_job(env, [program.script(cut=cut)])
    return JobHarness().run(job, crash_after=crash_after, rescale_after=rescale_after)


@settings(max_examples=300)
@given(program=programs(), crash_after=st.sets(st.integers(1, 8)))
def test_panes_late_records_and_drops(program: Program, crash_after: set[int]) -> None:
    """A micro-batch ends with each watermark; after some of them a new operator goes on."""
    oracle = Oracle(program.spec).run(program.steps())
    output = run_in_process(program, crash_after=crash_after)
    assert_as_foretold(output.values, program, oracle)
    assert dropped(output.metrics()) == (0 if program.late_output else len(oracle.late))


@settings(max_examples=150)
@given(program=programs(), parallelisms=st.lists(st.integers(1, 5), min_size=8, max_size=8))
def test_another_parallelism_after_each_batch(program: Program, parallelisms: list[int]) -> None:
    """What is late stays late, and what is open stays open, however keys are distributed."""
    oracle = Oracle(program.spec).run(program.steps())
    output = run_in_process(program, rescale_after=dict(enumerate(parallelisms, start=1)))
    assert_as_foretold(output.values, program, oracle)
    assert dropped(output.metrics()) == (0 if program.late_output else len(oracle.late))


AT_THE_LAST_MILLISECOND = Program(
    Spec(("session", 1), ("continuous", 1)), "reduce", False,
    ((Record("a", 0, 17), Record("a", 0, 18)),),
)  # fmt: skip
"""A continuous trigger whose interval begins at its window's end, before windows merge."""


@settings(max_examples=100)
@given(program=programs())
@example(AT_THE_LAST_MILLISECOND)
def test_all_at_once(program: Program) -> None:
    """A bounded input in one piece: nothing is late, and the end fires what is open."""
    oracle = Oracle(program.spec).run(program.records())
    output = run_in_process(program, cut=False)
    assert_as_foretold(output.values, program, oracle)
    assert dropped(output.metrics()) == len(oracle.late) == 0


@settings(max_examples=150)
@given(program=programs())
def test_watermarks_that_follow_each_record(program: Program) -> None:
    """With an interval of 0, what is late does not depend on where micro-batches are cut."""
    oracle = Oracle(program.spec).run(program.steps())
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.get_config().set_auto_watermark_interval(0)
    output = JobHarness().run(scripted_job(env, [program.script_in_one_piece()]))
    assert_as_foretold(output.values, program, oracle)
    assert dropped(output.metrics()) == (0 if program.late_output else len(oracle.late))


@settings(max_examples=150)
@given(program=programs(), parallelisms=st.lists(st.integers(1, 5), min_size=8, max_size=8))
def test_watermarks_that_follow_each_record_through_rescales(
    program: Program, parallelisms: list[int]
) -> None:
    oracle = Oracle(program.spec).run(program.steps())
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.get_config().set_auto_watermark_interval(0)
    rescales = dict(enumerate(parallelisms, start=1))
    output = JobHarness().run(scripted_job(env, [program.script()]), rescale_after=rescales)
    assert_as_foretold(output.values, program, oracle)
    assert dropped(output.metrics()) == (0 if program.late_output else len(oracle.late))
