"""Patterns in streams: time, late events, timeouts, state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from headrace.cep import (
    CEP,
    AfterMatchSkipStrategy,
    IterativeCondition,
    Pattern,
    PatternFlatSelectFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternStream,
    PatternTimeoutFunction,
    SimpleCondition,
    TimedOutPartialMatchHandler,
)
from headrace.common import Time
from headrace.datastream import DataStream, OutputTag
from headrace.errors import InvalidGraph, UserFunctionFailed
from headrace.runtime.state_rows import RowForm
from headrace.testing import OperatorHarness

LATE, TIMED_OUT = OutputTag("late"), OutputTag("timed-out")
Change = Callable[[PatternStream], PatternStream]


def a_then_b(within: int | None = 10, contiguity: str = "followed_by") -> Pattern:
    pattern = Pattern.begin("a").where(lambda event: event[1] == "a")
    pattern = getattr(pattern, contiguity)("b").where(lambda event: event[1] == "b")
    return pattern if within is None else pattern.within(Time.milliseconds(within))


def letters(match: Any, _: int = 0) -> str:
    return " ".join(event[2] for events in match.values() for event in events)


def harness(pattern: Pattern, change: Change = lambda found: found) -> OperatorHarness:
    def build(events: DataStream) -> DataStream:
        found = change(CEP.pattern(events.key_by(lambda event: event[0]), pattern))
        return found.select(letters, timeout_function=letters, timeout_tag=TIMED_OUT)

    return OperatorHarness(build)


def event(text: str, key: str = "k") -> tuple[str, str, str]:
    return key, text[0], text


def test_events_are_matched_in_order_of_time() -> None:
    with harness(a_then_b()) as run:
        run.send(event("b1"), 5)
        run.send(event("a1"), 3)
        run.send(event("b2"), 4)
        assert run.take_outputs() == []
        run.advance_watermark(4)
        assert run.take_records() == [("a1 b2", 4)]


def test_keys_do_not_mix() -> None:
    with harness(a_then_b()) as run:
        run.send_all([event("a1", "x"), event("b1", "y"), event("b2", "x")], [1, 2, 3])
        run.finish()
        assert run.outputs == ["a1 b2"]


def test_late_events_go_to_a_side_output() -> None:
    with harness(a_then_b(), lambda found: found.side_output_late_data(LATE)) as run:
        run.advance_watermark(10)
        run.send_all([event("a1"), event("a2")], [10, 11])
        assert run.side_output(LATE) == [event("a1")]


def test_events_need_a_time() -> None:
    with harness(a_then_b()) as run, pytest.raises(InvalidGraph, match="without a timestamp"):
        run.send(event("a1"))


def test_processing_time_takes_events_as_they_come_and_times_out_by_the_clock() -> None:
    with harness(a_then_b(), lambda found: found.in_processing_time()) as run:
        run.send(event("a1"))
        run.advance_processing_time(5)
        run.send(event("b1"))
        run.send(event("a2"))
        assert run.take_records() == [("a1 b1", None)]
        run.advance_processing_time(14)
        assert run.take_side_output(TIMED_OUT) == []
        run.advance_processing_time(15)
        assert run.take_side_output(TIMED_OUT) == ["a2"]


def test_a_comparator_orders_events_of_one_time_also_in_processing_time() -> None:
    def build(events: DataStream) -> DataStream:
        keyed = events.key_by(lambda event: event[0])
        by_text = CEP.pattern(keyed, a_then_b(), lambda a, b: (a[2] > b[2]) - (a[2] < b[2]))
        return by_text.in_processing_time().select(letters)

    with OperatorHarness(build) as run:
        run.advance_watermark(1000)  # event time does not matter
        run.send_all([event("b1"), event("a1")])
        run.advance_processing_time(1)
        assert run.outputs == ["a1 b1"]


def test_time_limit() -> None:
    """Less than the limit may lie between the first and the last event."""
    with harness(a_then_b(10)) as run:
        run.send_all([event("a1"), event("a2"), event("b1")], [0, 1, 10])
        run.finish()
        assert run.outputs == ["a2 b1"]
        assert run.side_output(TIMED_OUT) == ["a1"]


def test_state_is_gone_when_the_time_limit_has_passed() -> None:
    with harness(a_then_b(10)) as run:
        run.send_all([event("a1", str(key)) for key in range(5)], range(5))
        run.advance_watermark(8)
        assert len(run.state_of("partial-matches")) == 5
        run.advance_watermark(12)
        assert list(run.state_of("partial-matches")) == ["3", "4"]
        run.advance_watermark(20)
        assert run.state_of("partial-matches") == {}
        assert run.state_of("events-waiting") == {}
        assert run.timers() == []


def test_state_holds_each_event_once_and_says_where_matches_wait() -> None:
    pattern = a_then_b(100, "followed_by_any")
    with harness(pattern.next("c").where(lambda event: event[1] == "c")) as run:
        run.send_all([event("a1"), event("a2"), event("b1")], [1, 2, 3])
        run.advance_watermark(3)
        _, events, links, waiting, complete = run.state("partial-matches", "k")
        assert [stored[2][2] for stored in events] == ["a1", "b1", "a2"]
        assert [stage for _, stage, _ in links] == ["a", "b", "a", "b"]
        assert [state for state, *_ in waiting] == ["c", "b", "c", "b"]
        assert complete == []


def test_absence_at_the_end_is_a_match_when_the_time_is_over() -> None:
    pattern = Pattern.begin("a").where(lambda event: event[1] == "a")
    quiet = pattern.not_followed_by("b").where(lambda event: event[1] == "b")
    with harness(quiet.within(Time.milliseconds(10))) as run:
        run.send_all([event("a1", "x"), event("a1", "y"), event("b1", "y")], [1, 1, 5])
        run.advance_watermark(10)
        assert run.take_outputs() == []
        run.crash()
        run.advance_watermark(1000)
        assert run.take_records() == [("a1", 11)]


def test_rescaled() -> None:
    with harness(a_then_b(100)) as run:
        run.send_all([event(f"a{key}", str(key)) for key in range(20)], [1] * 20)
        run.advance_watermark(5)
        run.rescale(3)
        run.send_all([event(f"b{key}", str(key)) for key in range(20)], [7] * 20)
        run.finish()
        assert sorted(run.outputs) == sorted(f"a{key} b{key}" for key in range(20))


class Rising(IterativeCondition[Any]):
    """More than all that were taken before; knows when it is opened."""

    def open(self, runtime_context: Any) -> None:
        self.opened = True

    def filter(self, value: Any, context: IterativeCondition.Context) -> bool:
        before = list(context.get_events_for_pattern("up"))
        assert context.timestamp() == value[1]
        return self.opened and all(value[0] > other[0] for other in before)


class IsLow(SimpleCondition[Any]):
    def filter(self, value: Any) -> bool:
        return bool(value[0] == 0)


def test_condition_classes() -> None:
    pattern = Pattern.begin("up").where(Rising()).times_or_more(3).consecutive().greedy()

    def build(events: DataStream) -> DataStream:
        return CEP.pattern(events, pattern.next("low").where(IsLow())).flat_select(
            lambda match: [event[0] for event in match["up"]]
        )

    with OperatorHarness(build) as run:
        run.send_all([(value, at) for at, value in enumerate([1, 2, 5, 0])], range(4))
        run.finish()
        assert run.outputs == [1, 2, 5]


class Told(PatternProcessFunction[Any, Any], TimedOutPartialMatchHandler):
    def process_match(
        self, match: Any, ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        ctx.output(LATE, letters(match))
        yield letters(match), ctx.timestamp(), ctx.current_processing_time()
        yield TIMED_OUT, "not really"

    def process_timed_out_match(
        self, match: Any, ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        yield TIMED_OUT, (letters(match), ctx.timestamp())


def test_process_function_with_timeouts_and_side_outputs() -> None:
    def build(events: DataStream) -> DataStream:
        return CEP.pattern(events, a_then_b(10)).process(Told())

    with OperatorHarness(build) as run:
        run.send_all([event("a1"), event("b1"), event("a2")], [1, 2, 3])
        run.finish()
        assert run.outputs == [("a1 b1", 2, 0)]
        assert run.side_output(LATE) == ["a1 b1"]
        assert run.side_output(TIMED_OUT) == ["not really", ("a2", 13)]


class First(PatternSelectFunction[Any, Any]):
    def select(self, match: Any) -> Any:
        return match["a"][0][2]


class Each(PatternFlatSelectFunction[Any, Any]):
    def flat_select(self, match: Any) -> Iterable[Any]:
        for events in match.values():
            yield from (event[2] for event in events)


class When(PatternTimeoutFunction[Any, Any]):
    def timeout(self, match: Any, timeout_timestamp: int) -> Any:
        return timeout_timestamp


@pytest.mark.parametrize("flat", [False, True])
def test_select_functions(flat: bool) -> None:
    def build(events: DataStream) -> DataStream:
        found = CEP.pattern(events, a_then_b(10))
        if flat:
            return found.flat_select(Each())
        return found.select(First(), timeout_function=When(), timeout_tag=TIMED_OUT)

    with OperatorHarness(build) as run:
        run.send_all([event("a1"), event("b1"), event("a2")], [1, 2, 3])
        run.finish()
        assert run.outputs == (["a1", "b1"] if flat else ["a1"])
        assert run.side_output(TIMED_OUT) == ([] if flat else [13])


def test_a_condition_that_fails_names_event_and_key() -> None:
    pattern = Pattern.begin("a").where(lambda event: event[5] == 1)
    with harness(pattern) as run:
        run.send(event("a1"), 1)
        with pytest.raises(UserFunctionFailed, match="condition of the pattern") as caught:
            run.advance_watermark(5)
        assert "'a1'" in str(caught.value)
        assert "test_operator.py" in str(caught.value.origin)


def test_results_do_not_change_with_later_matches() -> None:
    def build(events: DataStream) -> DataStream:
        pattern = Pattern.begin("a", AfterMatchSkipStrategy.no_skip()).one_or_more()
        return CEP.pattern(events, pattern).select(lambda match: match["a"])

    with OperatorHarness(build) as run:
        run.send_all([["x"], ["y"]], [1, 2])
        run.finish()
        assert run.outputs == [[["x"]], [["x"], ["y"]], [["y"]]]


def test_state_is_typed_in_a_savepoint() -> None:
    """What is stored becomes columns of numbers, texts and events, nothing opaque."""
    with harness(a_then_b(100)) as run:
        run.send_all([event("a1"), event("a2"), event("a3")], [1, 2, 50])
        run.advance_watermark(3)
        for name in ("partial-matches", "events-waiting"):
            items = list(run.state_of(name).items())
            assert items
            form = RowForm.observe("value", "keyed", False, [items])
            assert "Pickled" not in str(form.types["value"])


def test_a_long_match() -> None:
    """As long as it gets: links are many, and nothing recurses over them."""
    pattern = Pattern.begin("a").where(lambda event: event[1] == "a").one_or_more().greedy()
    last = pattern.consecutive().next("b").where(lambda event: event[1] == "b")

    def build(events: DataStream) -> DataStream:
        skip = CEP.pattern(events, last.within(Time.hours(1)))
        return skip.select(lambda match: len(match["a"]))

    with OperatorHarness(build) as run:
        run.send_all([event("a")] * 300, range(300))
        run.advance_watermark(300)
        run.crash()
        run.send(event("b"), 301)
        run.finish()
        assert sorted(run.outputs) == list(range(1, 301))
