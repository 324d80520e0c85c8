"""Functions that take part in checkpoints, driven by the harness."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from headrace.common import Time, Types
from headrace.datastream import (
    CheckpointedFunction,
    CheckpointListener,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors import Sink, SinkWriter
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import HeadraceError, StateAccessError, Unsupported, UserFunctionFailed
from headrace.testing import JobHarness, OperatorHarness


class Pairs(ProcessFunction, CheckpointedFunction):
    """Emits records two at a time; one that waits for the next is kept in a field."""

    def initialize_state(self, context):
        store = context.get_operator_state_store()
        self.state = store.get_list_state(ListStateDescriptor("waiting", Types.STRING()))
        self.waiting = list(self.state.get())
        self.start = (context.is_restored(), context.get_restored_checkpoint_id())

    def open(self, runtime_context):
        self.opened_with = list(self.waiting)

    def snapshot_state(self, context):
        self.state.update(self.waiting)

    def process_element(self, value, ctx):
        if value == "start":
            yield self.start, self.opened_with
            return
        self.waiting.append(value)
        if len(self.waiting) == 2:
            yield "".join(self.waiting)
            self.waiting = []


def test_fields_survive_a_crash():
    harness = OperatorHarness.process(Pairs())
    harness.send_all(["a", "b", "c"])
    assert harness.take_outputs() == ["ab"]
    assert harness.operator_state("waiting") == ["c"]
    for compact in (False, True):
        harness.crash(compact=compact)
        assert harness.operator_state("waiting") == ["c"]
    harness.send("d")
    assert harness.take_outputs() == ["cd"]
    assert harness.operator_state("waiting") == []


def test_state_is_there_before_open_and_says_where_it_is_from():
    harness = OperatorHarness.process(Pairs())
    harness.send_all(["start", "a"])
    assert harness.take_outputs() == [((False, None), [])]
    harness.restore(harness.snapshot())
    harness.send("start")
    assert harness.take_outputs() == [((True, 1), ["a"])]


def test_every_subtask_has_its_own_state():
    harness = OperatorHarness(lambda s: s.rebalance().process(Pairs()), parallelism=3)
    for value in "abc":
        harness.send(value)
    assert sorted(harness.operator_state("waiting")) == ["a", "b", "c"]
    assert harness.outputs == []
    harness.crash()
    assert sorted(harness.operator_state("waiting")) == ["a", "b", "c"]


class Numbered(Pairs):
    """Every instance writes one element, whether or not it had records."""

    def snapshot_state(self, context):
        self.state.update([context.get_checkpoint_id()])


def test_slots_beyond_the_parallelism_leave_no_state():
    def build(stream):
        narrow = stream.process(Numbered()).set_parallelism(2)
        return narrow.rebalance().map(lambda v: v).set_parallelism(4)

    harness = OperatorHarness(build, parallelism=4)
    harness.send("a")
    assert harness.operator_state("waiting") == [1, 1]


class Kinds(ProcessFunction, CheckpointedFunction):
    """Says what its state store knows."""

    def initialize_state(self, context):
        store = context.get_operator_state_store()
        self.before = store.get_registered_state_names()
        self.union = store.get_union_list_state(ListStateDescriptor("all"))
        store.get_list_state(ListStateDescriptor("some"))
        self.rules = store.get_broadcast_state(MapStateDescriptor("rules"))
        self.names = (
            store.get_registered_state_names(), store.get_registered_broadcast_state_names()
        )  # fmt: skip

    def snapshot_state(self, context):
        self.union.add(context.get_checkpoint_timestamp())

    def process_element(self, value, ctx):
        self.rules.put("seen", value)
        yield self.before, *self.names


def test_each_kind_is_registered_by_name():
    harness = OperatorHarness.process(Kinds(), processing_time=7)
    harness.send("a")
    assert harness.take_outputs() == [(set(), {"all", "some"}, {"rules"})]
    assert harness.operator_state("all") == [7]
    assert harness.broadcast_state("rules") == {"seen": "a"}
    harness.crash()
    harness.send("b")
    assert harness.take_outputs() == [({"all"}, {"all", "some"}, {"rules"})]


class WithKeys(KeyedProcessFunction, CheckpointedFunction):
    def initialize_state(self, context):
        self.sums = context.get_keyed_state_store().get_state(ValueStateDescriptor("sum"))
        self.kept = context.get_operator_state_store().get_list_state(ListStateDescriptor("n"))
        self.count = sum(self.kept.get())

    def snapshot_state(self, context):
        self.kept.update([self.count])

    def process_element(self, value, ctx):
        self.count += 1
        self.sums.update((self.sums.value() or 0) + value)
        yield self.sums.value(), self.count


def test_a_keyed_function_may_have_both():
    harness = OperatorHarness.keyed(WithKeys(), lambda v: v % 2)
    harness.send_all([1, 2, 3])
    harness.crash()
    harness.send_all([4])
    assert harness.take_outputs() == [(1, 1), (2, 2), (4, 3), (6, 4)]
    assert harness.state_of("sum") == {0: 6, 1: 4}


class CountedWindows(ProcessWindowFunction, CheckpointedFunction):
    def initialize_state(self, context):
        self.kept = context.get_operator_state_store().get_list_state(ListStateDescriptor("n"))
        self.count = sum(self.kept.get())

    def snapshot_state(self, context):
        self.kept.update([self.count])

    def process(self, key, context, elements):
        self.count += 1
        yield self.count


def test_a_window_function_may_take_part():
    windows = TumblingEventTimeWindows.of(Time.milliseconds(10))
    harness = OperatorHarness(
        lambda s: s.key_by(lambda v: 0).window(windows).process(CountedWindows())
    )
    harness.send("a", timestamp=5)
    harness.advance_watermark(10)
    harness.crash()
    harness.send("b", timestamp=15)
    harness.advance_watermark(20)
    assert harness.take_outputs() == [1, 2]


class Listening(ProcessFunction, CheckpointListener):
    def __init__(self):
        self.heard = []

    def notify_checkpoint_complete(self, checkpoint_id):
        self.heard.append(checkpoint_id)

    def process_element(self, value, ctx):
        yield list(self.heard)


def test_the_next_batch_tells_that_the_one_before_is_complete():
    harness = OperatorHarness.process(Listening())
    for value in "abc":
        harness.send(value)
    assert harness.take_outputs() == [[], [1], [1, 2]]


class Asking(ProcessFunction, CheckpointedFunction):
    def __init__(self, ask):
        self.ask = ask

    def initialize_state(self, context):
        self.ask(context)

    def snapshot_state(self, context):
        raise ValueError("disk full")

    def process_element(self, value, ctx):
        yield value


def ask_twice(context: Any) -> None:
    store = context.get_operator_state_store()
    store.get_list_state(ListStateDescriptor("x"))
    store.get_union_list_state(ListStateDescriptor("x"))


def ask_for_young_state(context: Any) -> None:
    descriptor = ListStateDescriptor("x")
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
    context.get_operator_state_store().get_list_state(descriptor)


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (ask_twice, HeadraceError, "'x' is a list state already, not a union list state"),
        (ask_for_young_state, HeadraceError, "'x' cannot have a time to live"),
        (lambda c: c.get_operator_state_store().get_list_state(MapStateDescriptor("x")),
         HeadraceError, "a ListStateDescriptor was expected"),
        (lambda c: c.get_keyed_state_store().get_state(ValueStateDescriptor("x")),
         StateAccessError, "on a stream that is not keyed"),
        (lambda c: 1 / 0, UserFunctionFailed, "in initialize_state of operator"),
        (lambda c: None, UserFunctionFailed, "disk full(.|\n)*in snapshot_state of operator"),
    ],
)  # fmt: skip
def test_mistakes_are_named(ask, error, message):
    with pytest.raises(error, match=message):
        OperatorHarness.process(Asking(ask)).send("a")


class Chunks(Sink, CheckpointedFunction):
    """Writes three records at a time; the rest waits, as long as it takes."""

    written: ClassVar[list[Any]] = []

    def __init__(self):
        self.waiting: list[Any] = []

    def initialize_state(self, context):
        store = context.get_operator_state_store()
        self.state = store.get_list_state(ListStateDescriptor("waiting"))
        self.waiting = list(self.state.get())

    def snapshot_state(self, context):
        self.state.update(self.waiting)

    def create_writer(self, task):
        return ChunkWriter(self)


class ChunkWriter(SinkWriter):
    def __init__(self, sink):
        self.sink = sink

    def write(self, value, timestamp):
        self.sink.waiting.append(value)
        if len(self.sink.waiting) == 3:
            Chunks.written.append(tuple(self.sink.waiting))
            self.sink.waiting = []


def test_a_sink_keeps_what_it_has_not_written(monkeypatch):
    written: list[Any] = []
    monkeypatch.setattr(Chunks, "written", written)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(list(range(8))).sink_to(Chunks())
    JobHarness().run(env, batches=[2, 2, 2], crash_after=[1, 2])
    assert written == [(0, 1, 2), (3, 4, 5)]


def test_a_function_used_twice_is_two_functions():
    same = Pairs()
    harness = OperatorHarness(
        lambda s: s.process(same).uid("one").union(s.process(same).uid("two"))
    )  # fmt: skip
    harness.send("a")
    harness.crash()
    harness.send("b")
    assert harness.take_outputs() == ["ab", "ab"]


class KeepingWriter(ChunkWriter, CheckpointedFunction):
    def initialize_state(self, context):
        pass

    def snapshot_state(self, context):
        pass


class WithKeepingWriter(Chunks):
    def create_writer(self, task):
        return KeepingWriter(self)


def test_a_writer_is_told_to_leave_state_to_the_sink():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).sink_to(WithKeepingWriter())
    with pytest.raises(Unsupported, match="KeepingWriter is a CheckpointedFunction"):
        JobHarness().run(env)
