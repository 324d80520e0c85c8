"""A job that looks for a pattern and is disturbed while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from headrace.cep import (
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
)
from headrace.common import Duration, Time, Types, WatermarkStrategy
from headrace.datastream import (
    DataStream,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.testing import JobHarness
from tests.cep import streams
from tests.spark.fault_jobs import EventTime, Numbers, files
from tests.spark.forgetful_workers import Forgetful

TIMED_OUT = OutputTag("timed-out", Types.STRING())
MATCH, TIMEOUT = "match", "timeout"
Found = tuple[str, Any]
"""MATCH or TIMEOUT, and what was found."""


class Label(ProcessFunction):
    """Says what results are; the workers it runs in may have to be forgetful."""

    def __init__(self, kind: str, forgetful: Forgetful | None):
        self._kind, self._forgetful = kind, forgetful

    def open(self, runtime_context: RuntimeContext) -> None:
        if self._forgetful is not None:
            self._forgetful.open_in_worker()

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Found]:
        yield self._kind, value


def labelled(results: DataStream, forgetful: Forgetful | None) -> DataStream:
    """The results of a case and what timed out, in one stream."""
    timed_out = results.get_side_output(streams.TIMED_OUT).process(Label(TIMEOUT, forgetful))
    return results.process(Label(MATCH, forgetful)).union(timed_out)


class Told(PatternProcessFunction[Any, str], TimedOutPartialMatchHandler):
    """Matches as lines; disturbs the job at a number."""

    def __init__(self, disturb: Callable[[], None] | None, at: int):
        self._disturb, self._at = disturb, at

    def process_match(
        self, match: Any, ctx: PatternProcessFunction.Context
    ) -> Iterable[str] | None:
        if self._disturb is not None and ctx.timestamp() >= self._at:
            self._disturb()
        yield line("match", match, ctx)

    def process_timed_out_match(
        self, match: Any, ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        yield TIMED_OUT, line("timed out", match, ctx)


def line(kind: str, match: Any, ctx: PatternProcessFunction.Context) -> str:
    numbers = [event[1] for events in match.values() for event in events]
    return f"{kind} {numbers} at {ctx.timestamp()}"


def pattern() -> Pattern:
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    begun = Pattern.begin("first", skip).where(lambda event: event[1] % 3 == 0)
    more = begun.followed_by("more").where(_is_more).times(1, 3).greedy()
    last = more.followed_by("last").where(lambda event: event[1] % 3 == 2)
    return last.within(Time.milliseconds(60))


def _is_more(event: Any, context: Any) -> bool:
    first = next(iter(context.get_events_for_pattern("first")))
    return event[1] % 3 == 1 and event[1] - first[1] < 50


def matched(
    numbers: DataStream, disturb: Callable[[], None] | None = None, at: int = 0
) -> DataStream:
    behind = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(20))
    timed = numbers.assign_timestamps_and_watermarks(behind.with_timestamp_assigner(EventTime()))
    found = CEP.pattern(timed.key_by(lambda event: event[0]), pattern())
    return found.process(Told(disturb, at), Types.STRING()).uid("pattern")


def build(
    env: StreamExecutionEnvironment, source: Numbers, output: Path,
    disturb: Callable[[], None] | None = None, at: int = 0,
) -> None:  # fmt: skip
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    found = matched(numbers, disturb, at)
    found.sink_to(files(output / "matches"))
    found.get_side_output(TIMED_OUT).sink_to(files(output / "timed-out"))


def expected(source: Numbers) -> dict[str, Counter[str]]:
    """What the job gives in process; it does not depend on where micro-batches are cut."""
    env = StreamExecutionEnvironment.get_execution_environment()
    events = [(f"key-{n % 7}", n * source.count + split)
              for n in range(source.limit) for split in range(source.count)]  # fmt: skip
    run = JobHarness().run(matched(env.from_collection(events)))
    return {"matches": Counter(run.values), "timed-out": Counter(run.side_output(TIMED_OUT))}
