"""Running transcripts: one by one on the harness, all of them in one job on Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import zip_longest
from types import ModuleType
from typing import Any, Literal

from headrace.core.operator import MIN_TIMESTAMP
from headrace.core.output_tag import OutputTag
from headrace.core.time import Duration
from headrace.core.watermarks import TimestampAssigner, WatermarkStrategy
from headrace.datastream.data_stream import DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.testing.asserts import assert_same_records
from headrace.testing.harness import OperatorHarness
from headrace.testing.sources import ScriptedSource
from headrace.testing.transcripts import RULES, Step, Transcript, frozen

__all__ = ["run_in_memory", "transcripts_job"]

Crashes = Literal["none", "logged", "compact"]

_FAR_BEHIND = 2**40
"""How far watermarks trail the records on Spark, so that only control records move them."""


def run_in_memory(
    transcript: Transcript, functions: ModuleType, *, crashes: Crashes = "none",
    parallelism: int = 1, rescales: Sequence[int] = (),
) -> None:  # fmt: skip
    """Do what a transcript says and fail where it is not so; crash after every step if asked, or
    go on at the next of the parallelisms in `rescales`, again and again."""
    build = partial(transcript.build, functions)
    with OperatorHarness(build, inputs=transcript.inputs, parallelism=parallelism) as harness:
        for number, step in enumerate(transcript.steps, start=1):
            where = f"{transcript.name}, step {number} ({step.action})"
            _do(harness, step)
            _check(harness, step, where, ordered=parallelism == 1 and not rescales)
            if rescales and step.action != "finish":
                harness.rescale(rescales[number % len(rescales)])
            if crashes != "none" and step.action != "finish":
                harness.crash(compact=crashes == "compact")


def _do(harness: OperatorHarness, step: Step) -> None:
    match step.action:
        case "send":
            harness.send_all(step.argument, step.at, step.input or 0)
        case "watermark":
            harness.advance_watermark(step.argument, step.input)
        case "processing_time":
            harness.advance_processing_time(step.argument)
        case "crash":
            harness.crash()
        case _:
            harness.finish()


def _check(harness: OperatorHarness, step: Step, where: str, *, ordered: bool) -> None:
    def same(actual: Iterable[Any], expected: Iterable[Any], what: str) -> None:
        given, wanted = frozen(list(actual)), tuple(expected)
        assert_same_records(given, wanted, f"{where}: {what}")
        assert not ordered or given == wanted, f"{where}: {what} came in the order {given}"

    same(harness.take_outputs(), step.expect, "output")
    sides = step.side_outputs or {}
    for tag in {*sides, *harness.side_outputs()}:
        same(harness.take_side_output(tag), sides.get(tag, ()), f"side output {tag!r}")
    for domain, timers in (step.timers or {}).items():
        same(harness.timers(domain), timers, f"{domain}-time timers")
    for name, expected in (step.state or {}).items():
        actual = frozen(harness.state_of(name))
        assert actual == expected, f"{where}: state {name!r} is {actual}, not {expected}"
    if step.broadcast_state is not None:
        actual = frozen(harness.broadcast_state(RULES.name))
        expected = step.broadcast_state
        assert actual == expected, f"{where}: broadcast state is {actual}, not {expected}"


# A job for all of them: each record says which transcript and which of its inputs it is for.

_Addressed = tuple[int, int, int | None, Any, bool]
"""(transcript, input, time, value, whether it only moves the watermark)"""


def transcripts_job(
    env: StreamExecutionEnvironment, transcripts: Sequence[Transcript], functions: ModuleType
) -> DataStream:
    """One stream of (transcript, tag or None, record), with one micro-batch for each step."""
    scripts = [[_script(number, transcript, step) for step in transcript.steps]
               for number, transcript in enumerate(transcripts)]  # fmt: skip
    batches = [[record for part in parts for record in part]
               for parts in zip_longest(*scripts, fillvalue=[])]  # fmt: skip
    source = env.from_source(
        ScriptedSource(batches), WatermarkStrategy.no_watermarks(), "Transcripts"
    )
    outputs = [output for number, transcript in enumerate(transcripts)
               for output in _branch(source, number, transcript, functions)]  # fmt: skip
    return outputs[0].union(*outputs[1:])


def _script(number: int, transcript: Transcript, step: Step) -> list[_Addressed]:
    if step.action == "send":
        times = step.at or (None,) * len(step.argument)
        return [(number, step.input or 0, time, value, False)
                for value, time in zip(step.argument, times, strict=True)]  # fmt: skip
    if step.action == "watermark":
        inputs = range(transcript.inputs) if step.input is None else [step.input]
        return [(number, side, step.argument, None, True) for side in inputs]
    return []  # the job's own end is the finish; crashes on Spark have tests of their own


def _branch(
    source: DataStream, number: int, transcript: Transcript, functions: ModuleType
) -> list[DataStream]:
    inputs = [_input(source, number, side) for side in range(transcript.inputs)]
    output = transcript.build(functions, *inputs)
    tags = [tag for tag in transcript.results() if tag is not None]
    return [
        output.map(partial(_labelled, number, None)),
        *(output.get_side_output(OutputTag(tag)).map(partial(_labelled, number, tag))
          for tag in tags),
    ]  # fmt: skip


def _input(source: DataStream, number: int, side: int) -> DataStream:
    behind = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(_FAR_BEHIND))
    own = source.filter(partial(_is_for, number, side))
    timed = own.assign_timestamps_and_watermarks(behind.with_timestamp_assigner(_StepTime()))
    return timed.filter(_carries_a_value).map(_value)


class _StepTime(TimestampAssigner):
    """The time a step gives; a control record's is so late that the watermark reaches it."""

    def extract_timestamp(self, value: _Addressed, record_timestamp: int) -> int:
        _, _, time, _, is_control = value
        if time is None:
            return MIN_TIMESTAMP
        return time + _FAR_BEHIND + 1 if is_control else time


def _is_for(number: int, side: int, record: _Addressed) -> bool:
    return record[:2] == (number, side)


def _carries_a_value(record: _Addressed) -> bool:
    return not record[4]


def _value(record: _Addressed) -> Any:
    return record[3]


def _labelled(number: int, tag: str | None, record: Any) -> tuple[int, str | None, Any]:
    return number, tag, record
