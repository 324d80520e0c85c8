"""Interval joins, step by step: what meets, what is late, what is forgotten."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Duration, Time, Types, WatermarkStrategy
from headrace.core.metrics import MetricGroup
from headrace.core.operator import MIN_TIMESTAMP, Batch
from headrace.datastream import OutputTag, StreamExecutionEnvironment
from headrace.datastream.functions import ProcessJoinFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import InvalidGraph, UserFunctionFailed
from headrace.operators.interval_join import Interval, IntervalJoinOperator
from headrace.runtime.subtask_state import SubtaskState
from headrace.testing import JobHarness, OperatorHarness, ScriptedSource

LATE_LEFT = OutputTag("late left")
LATE_RIGHT = OutputTag("late right")
FAR_APART = OutputTag("far apart")

Options = Callable[[Any], Any]


class Pairs(ProcessJoinFunction[Any, Any, Any]):
    """Shows the pair and the times the context tells."""

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        yield left, right
        assert (left[1], right[1]) == (ctx.get_left_timestamp(), ctx.get_right_timestamp())
        assert ctx.get_timestamp() == max(left[1], right[1])


def first(record: Any) -> Any:
    return record[0]


def joined(
    lower: int, upper: int, options: Options = lambda join: join,
    function: ProcessJoinFunction[Any, Any, Any] | None = None, **harness: Any,
) -> OperatorHarness:  # fmt: skip
    def build(left: Any, right: Any) -> Any:
        join = left.key_by(first).interval_join(right.key_by(first))
        between = join.between(Time.milliseconds(lower), Duration.of_millis(upper))
        return options(between).process(function or Pairs())

    return OperatorHarness(build, inputs=2, **harness)


def late_to_tags(join: Any) -> Any:
    return join.side_output_left_late_data(LATE_LEFT).side_output_right_late_data(LATE_RIGHT)


def send(harness: OperatorHarness, side: int, *records: tuple[str, int]) -> None:
    harness.send_all(records, [stamp for _, stamp in records], side)


def test_pairs_within_the_bounds_carry_the_later_time() -> None:
    with joined(-2, 3) as harness:
        send(harness, 0, ("a", 10))
        send(harness, 1, ("a", 7), ("a", 8), ("a", 13), ("a", 14), ("b", 10))
        assert harness.take_records() == [
            ((("a", 10), ("a", 8)), 10),
            ((("a", 10), ("a", 13)), 13),
        ]
        send(harness, 0, ("a", 11))
        assert harness.take_outputs() == [(("a", 11), ("a", 13)), (("a", 11), ("a", 14))]


@pytest.mark.parametrize(
    ("options", "rights"),
    [
        (lambda join: join, [8, 9, 10]),
        (lambda join: join.lower_bound_exclusive(), [9, 10]),
        (lambda join: join.upper_bound_exclusive(), [8, 9]),
        (lambda join: join.lower_bound_exclusive().upper_bound_exclusive(), [9]),
    ],
)
def test_bounds_may_be_excluded(options: Options, rights: list[int]) -> None:
    with joined(-2, 0, options) as harness:
        send(harness, 0, ("a", 10))
        send(harness, 1, *(("a", stamp) for stamp in (7, 8, 9, 10, 11)))
        assert [right[1] for _, right in harness.outputs] == rights


def test_records_at_one_time_all_meet() -> None:
    with joined(0, 0) as harness:
        send(harness, 0, ("a", 5), ("a", 5))
        send(harness, 1, ("a", 5), ("a", 5))
        assert len(harness.outputs) == 4


def test_late_records_reach_their_tags() -> None:
    with joined(-5, 5, late_to_tags) as harness:
        harness.advance_watermark(10)
        send(harness, 0, ("a", 9), ("a", 10))
        send(harness, 1, ("a", 8), ("a", 10))
        assert harness.take_outputs() == [(("a", 10), ("a", 10))]
        assert harness.take_side_output(LATE_LEFT) == [("a", 9)]
        assert harness.take_side_output(LATE_RIGHT) == [("a", 8)]


def test_the_slower_side_decides_what_is_late() -> None:
    with joined(-5, 5, late_to_tags) as harness:
        harness.advance_watermark(100, side=0)
        send(harness, 0, ("a", 3))
        send(harness, 1, ("a", 4))
        assert len(harness.outputs) == 1
        assert harness.side_outputs() == []


def test_late_records_without_a_tag_are_counted() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()

    def timed(*batches: list[tuple[str, int]]) -> Any:
        source = ScriptedSource(batches, timestamp=lambda record: record[1])
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        return env.from_source(source, strategy, "script").key_by(first)

    left = timed([("a", 10)], [("a", 3), ("a", 20)], [("a", 4)])
    right = timed([("a", 10)], [("a", 11)], [("a", 1)])
    between = left.interval_join(right).between(Time.seconds(-1), Time.seconds(1))
    output = JobHarness().run(between.process(Pairs()).name("pairs"))
    (metrics,) = (m for m in output.metrics().values() if "numLateRecordsDropped" in m)
    assert metrics["numLateRecordsDropped"]["count"] == 3
    assert len(output.values) == 4


@pytest.mark.parametrize(
    ("lower", "upper", "left_until", "right_until"),
    [(-2, 3, 13, 12), (1, 3, 13, 10), (-3, -1, 10, 13), (0, 0, 10, 10)],
)
def test_records_are_kept_while_partners_may_come(
    lower: int, upper: int, left_until: int, right_until: int
) -> None:
    for side, name, until in ((0, "left-buffer", left_until), (1, "right-buffer", right_until)):
        with joined(lower, upper) as harness:
            send(harness, side, ("a", 10))
            assert harness.timers() == [(until, "a")]
            harness.advance_watermark(until - 1)
            assert harness.state_of(name) == {"a": {10: [("a", 10)]}}
            harness.advance_watermark(until)
            assert harness.state_of(name) == {}
            assert harness.timers() == []


def test_the_end_of_time_is_no_trap() -> None:
    end = 2**63 - 1
    with joined(-5, 5) as harness:
        send(harness, 0, ("a", end), ("a", end - 2))
        send(harness, 1, ("a", end - 1))
        assert len(harness.outputs) == 2
        harness.finish()
        assert (harness.state_of("left-buffer"), harness.state_of("right-buffer")) == ({}, {})


class Careless(ProcessJoinFunction[Any, Any, Any]):
    """Gives a buffered record away, whose receiver then changes it."""

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        yield left


def test_results_are_not_what_the_buffer_keeps() -> None:
    def change(record: dict[str, Any]) -> int:
        record["seen"] += 1
        return int(record["seen"])

    def build(left: Any, right: Any) -> Any:
        join = left.key_by(lambda r: r["key"]).interval_join(right.key_by(first))
        between = join.between(Time.seconds(-1), Time.seconds(1))
        return between.process(Careless()).map(change)

    with OperatorHarness(build, inputs=2) as harness:
        harness.send({"key": "a", "seen": 0}, 1)
        send(harness, 1, ("a", 1), ("a", 2), ("a", 3))
        assert harness.outputs == [1, 1, 1]


class CountAndSplit(ProcessJoinFunction[Any, Any, Any]):
    """Numbers the pairs of a key; those far apart go elsewhere."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        if abs(ctx.get_left_timestamp() - ctx.get_right_timestamp()) > 2:
            yield FAR_APART, count
        else:
            yield left[0], count


def test_functions_have_keyed_state_and_side_outputs() -> None:
    with joined(-5, 5, function=CountAndSplit()) as harness:
        send(harness, 0, ("a", 10), ("b", 10))
        send(harness, 1, ("a", 11), ("a", 14), ("b", 12), ("a", 9))
        harness.crash()
        send(harness, 1, ("a", 10))
        assert harness.outputs == [("a", 1), ("b", 1), ("a", 3), ("a", 4)]
        assert harness.side_output(FAR_APART) == [2]


class Failing(ProcessJoinFunction[Any, Any, Any]):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        yield left[1] / 0


def test_a_failing_function_is_reported_with_its_pair() -> None:
    message = (
        r"(?s)division by zero.*process_element.*Interval Join.*key: +'a'.*\('a', 1\), \('a', 2\)"
    )
    with joined(-5, 5, function=Failing()) as harness:
        send(harness, 0, ("a", 1))
        with pytest.raises(UserFunctionFailed, match=message):
            send(harness, 1, ("a", 2))


@pytest.mark.parametrize(("side", "name"), [(0, "left"), (1, "right")])
def test_records_need_timestamps(side: int, name: str) -> None:
    message = rf"(?s)the {name} stream of an interval join has no timestamp.*assign_timestamps"
    with joined(-5, 5) as harness, pytest.raises(InvalidGraph, match=message):
        harness.send(("a", 1), side=side)


# Random programs against the rules, written down plainly.

RECORD = st.tuples(st.sampled_from("ab"), st.integers(0, 30))
STEP = st.one_of(
    st.tuples(st.just("left"), st.lists(RECORD, min_size=1, max_size=4)),
    st.tuples(st.just("right"), st.lists(RECORD, min_size=1, max_size=4)),
    st.tuples(st.just("watermark"), st.integers(0, 6)),
    st.tuples(st.just("crash"), st.booleans()),
)


def oracle(steps: list[Any], lower: int, upper: int) -> tuple[Counter[Any], Counter[Any]]:
    """Pairs and late records of a run, by looking at everything that is still there."""
    pairs: Counter[Any] = Counter()
    late: Counter[Any] = Counter()
    waiting: dict[str, list[Any]] = {"left": [], "right": []}
    keep = {"left": max(upper, 0), "right": max(-lower, 0)}
    watermark = None
    for step, content in steps:
        if step == "watermark" and content:
            watermark = (watermark or 0) + content
            for side, records in waiting.items():
                waiting[side] = [r for r in records if r[1] + keep[side] > watermark]
        elif step in waiting:
            for record in content:
                if watermark is not None and record[1] < watermark:
                    late[step, record] += 1
                    continue
                waiting[step].append(record)
                for other in waiting["right" if step == "left" else "left"]:
                    left, right = (record, other) if step == "left" else (other, record)
                    if left[0] == right[0] and lower <= right[1] - left[1] <= upper:
                        pairs[left, right, max(left[1], right[1])] += 1
    return pairs, late


def run(harness: OperatorHarness, steps: list[Any]) -> Iterator[Any]:
    watermark = 0
    for step, content in steps:
        if step == "watermark" and content:
            watermark += content
            harness.advance_watermark(watermark)
        elif step == "crash":
            harness.crash(compact=content)
        elif step in ("left", "right"):
            send(harness, int(step == "right"), *content)
    yield Counter((*pair, stamp) for pair, stamp in harness.take_records())
    late = [("left", r) for r in harness.side_output(LATE_LEFT)]
    yield Counter(late + [("right", r) for r in harness.side_output(LATE_RIGHT)])


@given(
    steps=st.lists(STEP, max_size=14), lower=st.integers(-6, 6), width=st.integers(0, 8),
    parallelism=st.integers(1, 2),
)  # fmt: skip
def test_random_runs_agree_with_the_rules(
    steps: list[Any], lower: int, width: int, parallelism: int
) -> None:
    with joined(lower, lower + width, late_to_tags, parallelism=parallelism) as harness:
        pairs, late = run(harness, steps)
        assert (pairs, late) == oracle(steps, lower, lower + width)


@given(steps=st.lists(STEP, max_size=14), lower=st.integers(-6, 6), width=st.integers(0, 8))
def test_nothing_stays_behind(steps: list[Any], lower: int, width: int) -> None:
    with joined(lower, lower + width) as harness:
        for _ in run(harness, steps):
            pass
        harness.advance_watermark(1000)
        assert harness.timers() == []
        assert (harness.state_of("left-buffer"), harness.state_of("right-buffer")) == ({}, {})


STAMPS = st.lists(st.integers(0, 12), max_size=4)


@given(batches=st.lists(st.tuples(STAMPS, STAMPS, STAMPS), min_size=1, max_size=4))
def test_sides_may_alternate_within_a_micro_batch(batches: list[Any]) -> None:
    """The left stream comes from two sources, so left, right and left follow each other."""
    env = StreamExecutionEnvironment.get_execution_environment()
    streams: list[Any] = []
    for number in range(3):
        records = [[("a", stamp, number) for stamp in batch[number]] for batch in batches]
        source = ScriptedSource(records, timestamp=lambda record: record[1])
        streams.append(env.from_source(source, WatermarkStrategy.no_watermarks(), "script"))
    left = streams[0].union(streams[2]).key_by(first)
    join = left.interval_join(streams[1].key_by(first))
    stream = join.between(Time.milliseconds(-1), Time.milliseconds(2)).process(Pairs())
    lefts = [stamp for batch in batches for stamp in batch[0] + batch[2]]
    rights = [stamp for batch in batches for stamp in batch[1]]
    expected = Counter((x, y) for x in lefts for y in rights if -1 <= y - x <= 2)
    found = JobHarness().run(stream).values
    assert Counter((x[1], y[1]) for x, y in found) == expected


class Worker:
    """An operator over a slot's state in one worker process."""

    def __init__(self) -> None:
        self.state = SubtaskState(logged=True, clock=int)
        self.found: list[Any] = []
        self._operator = IntervalJoinOperator(Pairs(), Interval(-5, 5))
        context: Any = SimpleNamespace(
            scope=self.state.scope("join"), timers=self.state.timers("join"),
            keyed_state=lambda descriptor: self.state.keyed("join", descriptor),
            metrics=MetricGroup(), watermark=MIN_TIMESTAMP,
            emit=lambda values, stamps: self.found.extend(values),
        )  # fmt: skip
        self._operator.open(context)

    def run(self, side: int, record: tuple[str, int]) -> Any:
        """One micro-batch; its changes."""
        self._operator.receive(side, Batch([record], [record[1]], [record[0]]))
        self._operator.end_batch()
        return self.state.take_changes()


def test_what_another_worker_did_to_the_state_is_seen() -> None:
    """A worker that catches up with the log keeps its operators."""
    one, other = Worker(), Worker()
    other.state.apply(one.run(1, ("a", 1)))
    one.state.apply(other.run(0, ("a", 2)))
    one.run(1, ("a", 3))
    assert other.found == [(("a", 2), ("a", 1))]
    assert one.found == [(("a", 2), ("a", 3))]


def test_a_large_buffer_is_not_scanned() -> None:
    """40 000 waiting records of one key: each new one looks only at its own neighbours."""
    stamps, new = range(40_000), range(0, 40_000, 20)
    with joined(-1, 1) as harness:
        send(harness, 0, *(("a", stamp) for stamp in stamps))
        begin = time.thread_time()  # others may be busy, too
        send(harness, 1, *(("a", stamp) for stamp in new))
        elapsed = time.thread_time() - begin
        assert len(harness.outputs) == 3 * len(new) - 1
    # What scans would take, and no more than that, on this machine as it is now.
    begin = time.thread_time()
    found = [stamp for middle in new[::50] for stamp in stamps if -1 <= stamp - middle <= 1]
    scans = 50 * (time.thread_time() - begin)
    assert len(found) == 3 * len(new[::50]) - 1
    assert elapsed < scans / 2
