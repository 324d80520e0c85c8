"""join and co_group: windows over two streams."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Time, Types
from headrace.datastream import OutputTag
from headrace.datastream.functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    RuntimeContext,
    TaggedUnion,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.errors import UserFunctionFailed
from headrace.testing import OperatorHarness

RECORD = Types.TUPLE([Types.STRING(), Types.LONG()])
LATE = OutputTag("late first"), OutputTag("late second", RECORD)
MANY = OutputTag("many")
TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))


def first(record: Any) -> Any:
    return record[0]


def harness(method: str, function: Any, assigner: Any = TEN, options: Any = None) -> Any:
    def build(one: Any, two: Any) -> Any:
        keys = getattr(one, method)(two).where(first, Types.STRING()).equal_to(first)
        windowed = keys.window(assigner)
        return (windowed if options is None else options(windowed)).apply(function)

    return OperatorHarness(build, inputs=2)


def send(harness: OperatorHarness, side: int, *records: tuple[str, int]) -> None:
    harness.send_all(records, [stamp for _, stamp in records], side)


class Times(JoinFunction[Any, Any, Any]):
    def join(self, first: Any, second: Any) -> Any:
        return first[0], first[1], second[1]


class UpTo(FlatJoinFunction[Any, Any, Any]):
    def join(self, first: Any, second: Any) -> Any:
        return range(first[1], second[1]) if first[1] < second[1] else None


def test_join_makes_every_pair_of_a_window() -> None:
    with harness("join", Times()) as run:
        send(run, 0, ("a", 1), ("a", 2), ("b", 3), ("a", 11))
        send(run, 1, ("a", 4), ("c", 4), ("a", 5))
        run.advance_watermark(8)
        assert run.take_outputs() == []
        run.advance_watermark(9)
        assert run.take_records() == [
            (("a", 1, 4), 9), (("a", 1, 5), 9), (("a", 2, 4), 9), (("a", 2, 5), 9)
        ]  # fmt: skip
        run.finish()
        assert run.outputs == []


def test_callables_and_flat_join_functions() -> None:
    for function, expected in ((lambda x, y: x[1] + y[1], [8]), (UpTo(), [3, 4])):
        with harness("join", function) as run:
            send(run, 0, ("a", 3))
            send(run, 1, ("a", 5))
            run.finish()
            assert run.outputs == expected


class Groups(CoGroupFunction[Any, Any, Any]):
    def co_group(self, first: list[Any], second: list[Any]) -> Any:
        yield [record[1] for record in first], [record[1] for record in second]


def test_co_group_sees_groups_without_a_partner() -> None:
    with harness("co_group", Groups()) as run:
        send(run, 0, ("a", 1), ("b", 2), ("a", 3))
        send(run, 1, ("a", 4), ("c", 5))
        run.finish()
        assert sorted(run.outputs) == [([], [5]), ([1, 3], [4]), ([2], [])]


def test_co_group_may_have_nothing_to_say() -> None:
    with harness("co_group", lambda x, y: None) as run:
        send(run, 0, ("a", 1))
        run.finish()
        assert run.outputs == []


class Rich(CoGroupFunction[Any, Any, Any]):
    """Numbers a key's windows, and has a life and a side output."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def co_group(self, first: list[Any], second: list[Any]) -> Any:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        if len(first) + len(second) > 2:
            yield MANY, count
        else:
            yield count


def test_functions_have_keyed_state_and_side_outputs() -> None:
    with harness("co_group", Rich()) as run:
        send(run, 0, ("a", 1), ("a", 11), ("a", 12), ("a", 21))
        send(run, 1, ("a", 1), ("a", 11))
        run.advance_watermark(9)
        run.crash()
        run.finish()
        assert run.outputs == [1, 3]
        assert run.side_output(MANY) == [2]


def test_sessions_span_both_streams() -> None:
    sessions = EventTimeSessionWindows.with_gap(Time.milliseconds(5))
    with harness("co_group", Groups(), sessions) as run:
        send(run, 0, ("a", 1), ("a", 9), ("a", 20))
        send(run, 1, ("a", 5))
        run.finish()
        assert run.outputs == [([1, 9], [5]), ([20], [])]


class GapOfSide(SessionWindowTimeGapExtractor):
    def extract(self, element: TaggedUnion) -> int:
        return 10 if element.is_one() else 2


def test_assigners_see_which_stream_a_record_is_of() -> None:
    assigner = DynamicEventTimeSessionWindows.with_dynamic_gap(GapOfSide())
    with harness("co_group", Groups(), assigner) as run:
        send(run, 0, ("a", 1))
        send(run, 1, ("a", 10), ("a", 13))
        run.finish()
        assert run.outputs == [([1], [10]), ([], [13])]


def test_tagged_records() -> None:
    one, two = TaggedUnion(0, "x"), TaggedUnion(1, "y")
    assert (one.is_one(), one.is_two(), one.get_one(), one.get_two()) == (True, False, "x", None)
    assert (two.is_one(), two.is_two(), two.get_one(), two.get_two()) == (False, True, None, "y")
    assert repr(two) == "TaggedUnion(second, 'y')"


def test_triggers_and_evictors() -> None:
    counted = PurgingTrigger.of(CountTrigger.of(2))
    with harness("co_group", Groups(), options=lambda w: w.trigger(counted)) as run:
        send(run, 0, ("a", 1))
        send(run, 1, ("a", 2), ("a", 3))
        assert run.take_outputs() == [([1], [2])]
    last = CountEvictor.of(2)
    with harness("join", Times(), options=lambda w: w.evictor(last)) as run:
        send(run, 0, ("a", 1), ("a", 2))
        send(run, 1, ("a", 3))
        run.finish()
        assert run.outputs == [("a", 2, 3)]


def test_a_failing_function_is_reported_with_its_window() -> None:
    with harness("join", lambda x, y: x / y) as run:
        send(run, 0, ("a", 1))
        send(run, 1, ("a", 2))
        with pytest.raises(UserFunctionFailed, match=r"(?s)TypeError.*TimeWindow.*key: +'a'"):
            run.finish()


class KeepsWhatItSaw(JoinFunction[Any, Any, Any]):
    def join(self, first: Any, second: Any) -> Any:
        return first


def test_results_are_not_what_the_window_keeps() -> None:
    def change(record: dict[str, Any]) -> int:
        record["seen"] += 1
        return int(record["seen"])

    def build(one: Any, two: Any) -> Any:
        keys = one.join(two).where(lambda record: record["key"]).equal_to(first)
        windowed = keys.window(TEN).trigger(CountTrigger.of(1))
        return windowed.apply(KeepsWhatItSaw()).map(change)

    with OperatorHarness(build, inputs=2) as run:
        run.send({"key": "a", "seen": 0}, 1)
        send(run, 1, ("a", 1), ("a", 2))
        assert run.outputs == [1, 1, 1]


# Random programs against the rules, written down plainly.

SLIDE, SIZE = 4, 8
SLIDING = SlidingEventTimeWindows.of(Time.milliseconds(SIZE), Time.milliseconds(SLIDE))
RECORDS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30)), min_size=1, max_size=4)
STEP = st.one_of(
    st.tuples(st.sampled_from([0, 1]), RECORDS),
    st.tuples(st.just("watermark"), st.integers(1, 8)),
    st.tuples(st.just("crash"), st.booleans()),
)


class Oracle:
    """Sliding windows with allowed lateness, as a list of everything that is still open."""

    def __init__(self, lateness: int):
        self.out: Counter[Any] = Counter()
        self._lateness = lateness
        self._now = -1
        self._open: dict[tuple[str, int], tuple[list[int], list[int]]] = {}

    def add(self, side: int, key: str, stamp: int) -> None:
        latest = stamp - stamp % SLIDE + SIZE
        ends = [end for end in range(latest, stamp, -SLIDE) if not self._over(end)]
        if not ends:
            self.out["late", side, key, stamp] += 1
        for end in ends:
            groups = self._open.setdefault((key, end), ([], []))
            groups[side].append(stamp)
            if end - 1 <= self._now:
                self._fire(key, end)

    def advance(self, watermark: int) -> None:
        before, self._now = self._now, watermark
        for key, end in list(self._open):
            if before < end - 1 <= watermark:
                self._fire(key, end)
            if self._over(end):
                del self._open[key, end]

    def _over(self, end: int) -> bool:
        return end - 1 + self._lateness <= self._now

    def _fire(self, key: str, end: int) -> None:
        one, two = self._open[key, end]
        self.out[key, tuple(sorted(one)), tuple(sorted(two))] += 1


def grouped(lateness: int) -> OperatorHarness:
    def group(one: list[Any], two: list[Any]) -> Any:
        key = (one or two)[0][0]
        yield key, *(tuple(sorted(stamp for _, stamp in side)) for side in (one, two))

    def build(one: Any, two: Any) -> Any:
        windowed = one.co_group(two).where(first).equal_to(first).window(SLIDING)
        windowed = windowed.allowed_lateness(lateness).side_output_late_data(*LATE)
        results = windowed.apply(group)
        firsts, seconds = (results.get_side_output(tag) for tag in LATE)
        late = firsts.map(lambda record: ("late", 0, *record))
        late_too = seconds.map(lambda record: ("late", 1, *record))
        return results.map(lambda result: result).union(late, late_too)

    return OperatorHarness(build, inputs=2)


@given(steps=st.lists(STEP, max_size=12), lateness=st.sampled_from([0, 3, 9]))
def test_random_runs_agree_with_the_rules(steps: list[Any], lateness: int) -> None:
    oracle, watermark = Oracle(lateness), -1
    with grouped(lateness) as run:
        for step, content in [*steps, ("watermark", 1000)]:
            if step == "watermark":
                watermark += content
                oracle.advance(watermark)
                run.advance_watermark(watermark)
            elif step == "crash":
                run.crash(compact=content)
            else:
                for key, stamp in content:
                    oracle.add(step, key, stamp)
                send(run, step, *content)
        assert Counter(run.outputs) == oracle.out


def test_one_tag_may_take_the_late_records_of_both_and_of_the_function() -> None:
    late = LATE[1]

    def tell(one: list[Any], two: list[Any]) -> Any:
        yield late, ("told", len(one) + len(two))

    def build(one: Any, two: Any) -> Any:
        windowed = one.co_group(two).where(first).equal_to(first).window(TEN)
        return windowed.side_output_late_data(late, late).apply(tell).get_side_output(late)

    with OperatorHarness(build, inputs=2) as run:
        send(run, 0, ("a", 1))
        run.advance_watermark(20)
        send(run, 0, ("a", 2))
        send(run, 1, ("a", 3))
        assert run.outputs == [("told", 1), ("a", 2), ("a", 3)]
