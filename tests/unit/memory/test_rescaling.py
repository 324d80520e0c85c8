"""Going on at another parallelism in this process: each kind of state, timers, event time."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Row, Time, Types
from headrace.datastream import (
    CheckpointedFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessWindowFunction,
)
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import IncompatibleState, InvalidArgument
from headrace.testing import OperatorHarness, assert_same_records

RULES = MapStateDescriptor("rules", Types.STRING(), Types.STRING())


class Kept(ProcessFunction, CheckpointedFunction):
    """Keeps its records as list or union list state, and says what it was given."""

    def __init__(self, union: bool):
        self.union = union

    def initialize_state(self, context):
        store = context.get_operator_state_store()
        get = store.get_union_list_state if self.union else store.get_list_state
        self.state = get(ListStateDescriptor("kept", Types.STRING()))
        self.given = list(self.state.get())
        self.new: list[str] = [] if self.union else list(self.given)

    def snapshot_state(self, context):
        self.state.update(self.new)

    def process_element(self, value, ctx):
        if value == "given":
            yield tuple(sorted(self.given))
        else:
            self.new.append(value)


def kept(union: bool, parallelism: int) -> OperatorHarness:
    return OperatorHarness(lambda s: s.rebalance().process(Kept(union)), parallelism=parallelism)


def ask_all(harness: OperatorHarness, subtasks: int) -> list[Any]:
    for _ in range(subtasks):
        harness.send("given")  # each goes to the next subtask
    return harness.take_outputs()


def test_list_state_is_dealt_out_evenly():
    harness = kept(False, 2)
    harness.send_all(["a", "b", "c", "d"])
    for parallelism, share in ((4, 1), (1, 4), (2, 2)):
        harness.rescale(parallelism)
        given = ask_all(harness, parallelism)
        assert [len(part) for part in given] == [share] * parallelism
        assert sorted(value for part in given for value in part) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("renew", [lambda h: h.rescale(3), lambda h: h.crash()])
def test_union_state_is_given_to_all(renew):
    """Also when the parallelism stays what it was."""
    harness = kept(True, 3)
    harness.send_all(["a", "b", "c", "d"])
    renew(harness)
    assert ask_all(harness, 3) == [("a", "b", "c", "d")] * 3


def test_operators_with_fewer_subtasks_than_the_job():
    def build(stream):
        narrow = stream.rebalance().process(Kept(False)).uid("narrow").set_parallelism(2)
        return narrow.key_by(lambda v: len(v)).map(lambda v: v)

    harness = OperatorHarness(build, parallelism=4)
    harness.send_all(["a", "b", "c"])
    for parallelism in (1, 5, 3):
        harness.rescale(parallelism)
        assert sorted(harness.operator_state("kept")) == ["a", "b", "c"]
        given = ask_all(harness, 4)
        assert sorted(v for part in {*given} for v in part) == ["a", "b", "c"]


class Judged(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        yield value, dict(rules.items())

    def process_broadcast_element(self, value, ctx):
        name, rule = value
        rules = ctx.get_broadcast_state(RULES)
        if rule is None:
            rules.remove(name)
        else:
            rules.put(name, rule)


def test_broadcast_state_is_the_same_everywhere_and_what_was_removed_stays_so():
    def build(data, rules):
        keyed = data.key_by(lambda v: v)
        # Fewer subtasks than slots: those beyond hear of no rule, and must not bring one back.
        judged = keyed.connect(rules.broadcast(RULES)).process(Judged()).set_parallelism(2)
        return judged.key_by(lambda v: v[0]).map(lambda v: v)

    harness = OperatorHarness(build, inputs=2, parallelism=4)
    harness.send_all([("a", "yes"), ("b", "no")], side=1)
    for parallelism in (3, 2, 5):
        harness.rescale(parallelism)
        harness.send_all(range(6))
        assert {str(rules) for _, rules in harness.take_outputs()} == {"{'a': 'yes', 'b': 'no'}"}
    harness.send(("b", None), side=1)
    for parallelism in (4, 1, 3):
        harness.rescale(parallelism)
        harness.send_all(range(6))
        assert {str(rules) for _, rules in harness.take_outputs()} == {"{'a': 'yes'}"}


class Everything(KeyedProcessFunction):
    """Values of all sorts, with and without a time to live, and timers of both domains."""

    def open(self, runtime_context):
        young = StateTtlConfig.new_builder(Time.milliseconds(100)).build()
        aging = ValueStateDescriptor("aging", Types.STRING())
        aging.enable_time_to_live(young)
        items = ListStateDescriptor("items")
        items.enable_time_to_live(young)
        self.aging = runtime_context.get_state(aging)
        self.items = runtime_context.get_list_state(items)
        self.row = runtime_context.get_state(
            ValueStateDescriptor("row", Types.ROW_NAMED(["n", "s"], [Types.INT(), Types.STRING()]))
        )
        self.mixed = runtime_context.get_map_state(MapStateDescriptor("mixed"))

    def process_element(self, value, ctx):
        key, what = value
        if what == "tell":
            row, items = self.row.value(), list(self.items.get() or ())
            yield key, self.aging.value(), items, row, list(self.mixed.items())
            return
        self.aging.update(what)
        self.items.add((key, what))
        self.row.update(Row(n=len(what), s=None))
        self.mixed.put((key, 1), {what: [1.5, None]})
        self.mixed.put("plain", what)
        timers = ctx.timer_service()
        timers.register_event_time_timer(1000)
        timers.register_processing_time_timer(2000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, str(ctx.time_domain())


KEYS = ["a", "b", 3, (4, "x"), -5, 2.5]


def told(harness: OperatorHarness) -> list[Any]:
    harness.send_all([(key, "tell") for key in KEYS])
    return harness.take_outputs()


def test_keyed_state_of_all_sorts_follows_its_keys():
    harness = OperatorHarness.keyed(Everything(), lambda v: v[0], parallelism=2)
    harness.send_all([(key, f"of {key}") for key in KEYS])
    before = told(harness)
    for parallelism in (5, 1, 3, 2):
        harness.rescale(parallelism)
        assert_same_records(told(harness), before)
    harness.advance_processing_time(60)
    harness.send(("a", "younger"))
    harness.rescale(4)
    harness.advance_processing_time(120)
    old = {repr(key): (aging, len(items)) for key, aging, items, _, _ in told(harness)}
    assert old.pop("'a'") == ("younger", 1)
    assert set(old.values()) == {(None, 0)}
    harness.rescale(3)
    harness.advance_watermark(1000)
    harness.advance_processing_time(2000)
    fired = harness.take_outputs()
    assert_same_records([key for key, *_ in fired], KEYS * 2)


class SameName(ProcessWindowFunction):
    """A state of the window and one of its key, of one name."""

    def process(self, key, context, elements):
        of_window = context.window_state().get_state(ValueStateDescriptor("n", Types.INT()))
        of_key = context.global_state().get_list_state(ListStateDescriptor("n", Types.STRING()))
        of_window.update((of_window.value() or 0) + 1)
        of_key.add(key)
        yield key, of_window.value(), len(list(of_key.get()))


def test_states_of_one_name_in_two_scopes():
    windows = TumblingEventTimeWindows.of(Time.milliseconds(10))
    harness = OperatorHarness(
        lambda s: s.key_by(lambda v: v).window(windows).allowed_lateness(100).process(SameName()),
        parallelism=2,
    )
    harness.send_all(["a", "b", "c"], [5, 5, 5])
    harness.advance_watermark(10)
    assert_same_records(harness.take_outputs(), [(key, 1, 1) for key in "abc"])
    for n, parallelism in enumerate((3, 1, 2), start=2):
        harness.rescale(parallelism)
        harness.send_all(["a", "b", "c"], [5, 5, 5])  # late, but not too late
        assert_same_records(harness.take_outputs(), [(key, n, n) for key in "abc"])


def test_what_was_late_stays_late():
    windows = TumblingEventTimeWindows.of(Time.milliseconds(10))
    harness = OperatorHarness(
        lambda s: s.key_by(lambda v: v).window(windows).reduce(lambda a, b: a), parallelism=2
    )
    harness.send("a", 5)
    harness.advance_watermark(100)
    assert harness.take_outputs() == ["a"]
    for parallelism in (3, 1, 2):
        harness.rescale(parallelism)
        harness.send_all(["a", "b", "c"], [7, 7, 7])
    harness.finish()
    assert harness.take_outputs() == []


def test_a_snapshot_of_another_graph_is_refused():
    def build(uid):
        return lambda s: s.key_by(lambda v: v[0]).process(Everything()).uid(uid)

    harness = OperatorHarness(build("one"))
    harness.send(("a", "x"))
    other = OperatorHarness(build("other"))
    with pytest.raises(IncompatibleState, match="an operator that this job lacks: uid 'one'"):
        other.restore(harness.snapshot())


class NamedLikeTimers(KeyedProcessFunction):
    def open(self, runtime_context):
        runtime_context.get_state(ValueStateDescriptor("_timers"))

    def process_element(self, value, ctx):
        yield value


def test_the_name_of_timers_is_taken():
    with pytest.raises(InvalidArgument, match="cannot be called '_timers'"):
        OperatorHarness.keyed(NamedLikeTimers(), lambda v: v)


class Counting(KeyedProcessFunction):
    """Counts by key, for a time or for ever."""

    def __init__(self, ages: bool):
        self.ages = ages

    def open(self, runtime_context):
        descriptor = ValueStateDescriptor("count", Types.INT())
        if self.ages:
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self.count = runtime_context.get_state(descriptor)

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value, count


def test_state_that_follows_a_changed_program_is_as_it_wants_it_for_good():
    """Also that of keys which do not come again before the next restore."""
    before = OperatorHarness.keyed(Counting(ages=False), lambda v: v)
    before.send_all(["a", "b"])
    changed = OperatorHarness.keyed(Counting(ages=True), lambda v: v)
    changed.restore(before.snapshot())
    changed.send("a")
    changed.crash()
    changed.send("b")
    assert changed.take_outputs() == [("a", 2), ("b", 2)]
