"""What the operators of the DataStream API do, as a Spark batch and as a Spark stream."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.common import Types
from headrace.datastream import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor

Collect = Callable[[DataStream], Counter[Any]]
ODD = OutputTag("odd", Types.INT())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


def labelled(label: str, stream: DataStream) -> DataStream:
    """The stream with a label on each record: several checks share one job."""
    return stream.map(lambda record: (label, record))


def united(**streams: DataStream) -> DataStream:
    first, *others = [labelled(label, stream) for label, stream in streams.items()]
    return first.union(*others)


def by_label(records: Counter[Any]) -> dict[str, Counter[Any]]:
    found: dict[str, Counter[Any]] = defaultdict(Counter)
    for (label, record), count in records.items():
        found[label][record] += count
    return dict(found)


class Repeated(FlatMapFunction):
    def flat_map(self, value: int) -> Iterator[int]:
        yield from [value] * value


class OddAside(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2:
            yield ODD, value
        else:
            yield value


class Subtask(MapFunction):
    """Tells which subtask saw a record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._index = runtime_context.get_index_of_this_subtask()

    def map(self, value: Any) -> Any:
        return self._index, value


@pytest.mark.smoke
def test_each_record(env: StreamExecutionEnvironment, mode: str, collected: Collect) -> None:
    numbers = env.from_collection([1, 2, 3, 4], Types.INT())
    divided = numbers.process(OddAside(), Types.INT())
    pairs = numbers.map(lambda n: (n, n * n), Types.TUPLE([Types.INT(), Types.INT()]))
    found = by_label(collected(united(
        mapped=numbers.map(lambda n: n * 10),
        flat=numbers.flat_map(Repeated()),
        kept=numbers.filter(lambda n: n > 2),
        even=divided,
        odd=divided.get_side_output(ODD),
        both=divided.union(divided.get_side_output(ODD)),
        twice=numbers.union(numbers),
        projected=pairs.project(1),
    )))  # fmt: skip
    assert found == {
        "mapped": Counter([10, 20, 30, 40]),
        "flat": Counter({1: 1, 2: 2, 3: 3, 4: 4}),
        "kept": Counter([3, 4]),
        "even": Counter([2, 4]),
        "odd": Counter([1, 3]),
        "both": Counter([1, 2, 3, 4]),
        "twice": Counter({1: 2, 2: 2, 3: 2, 4: 2}),
        "projected": Counter([(1,), (4,), (9,), (16,)]),
    }


class Named(CoMapFunction):
    def map1(self, value: int) -> str:
        return f"number {value}"

    def map2(self, value: str) -> str:
        return f"text {value}"


class Spread(CoFlatMapFunction):
    def flat_map1(self, value: int) -> Iterator[str]:
        yield from ["number"] * value

    def flat_map2(self, value: str) -> Iterator[str]:
        yield from value


class Sides(CoProcessFunction):
    def process_element1(self, value: int, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield ODD, value

    def process_element2(self, value: str, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield value


class SumWhenAsked(KeyedCoProcessFunction):
    """Adds up the first side; each record of the second marks that its key was heard of."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.INT()))
        self._asked = runtime_context.get_state(ValueStateDescriptor("asked", Types.STRING()))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self._sum.update((self._sum.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(2**62)
        return iter(())

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self._asked.update(value[1])
        return iter(())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), self._sum.value(), self._asked.value()


class Thresholds(BroadcastProcessFunction):
    """Which rules reach this subtask is what it tells; a broadcast reaches every one."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        return iter(())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(value[0], value[1])
        yield value, len(list(ctx.get_broadcast_state(RULES)))


class Exceeding(KeyedBroadcastProcessFunction):
    """Keeps records until the end, when the rules are known."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._kept = runtime_context.get_state(ValueStateDescriptor("kept", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self._kept.update(max(value[1], self._kept.value() or 0))
        ctx.timer_service().register_event_time_timer(2**62)
        return iter(())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(value[0], value[1])
        return iter(())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        limit = ctx.get_broadcast_state(RULES).get("limit")
        if self._kept.value() > limit:
            yield ctx.get_current_key(), self._kept.value()


@pytest.mark.smoke
def test_two_inputs(env: StreamExecutionEnvironment, mode: str, collected: Collect) -> None:
    numbers = env.from_collection([1, 2])
    texts = env.from_collection(["ab", "c"])
    connected = numbers.connect(texts)
    sides = connected.process(Sides())
    amounts = env.from_collection([("a", 1), ("b", 5), ("a", 3)])
    questions = env.from_collection([("a", "why"), ("c", "never")])
    summed = amounts.connect(questions).key_by(lambda v: v[0], lambda v: v[0])
    rules = env.from_collection([("limit", 2), ("other", 9)]).broadcast(RULES)
    found = by_label(collected(united(
        mapped=connected.map(Named()),
        flat=connected.flat_map(Spread()),
        first=sides.get_side_output(ODD),
        second=sides,
        summed=summed.process(SumWhenAsked()),
        rules=amounts.connect(rules).process(Thresholds()),
        exceeding=amounts.key_by(lambda v: v[0]).connect(rules).process(Exceeding()),
    )))  # fmt: skip
    assert found == {
        "mapped": Counter(["number 1", "number 2", "text ab", "text c"]),
        "flat": Counter({"number": 3, "a": 1, "b": 1, "c": 1}),
        "first": Counter([1, 2]),
        "second": Counter(["ab", "c"]),
        "summed": Counter([("a", 4, "why"), ("b", 5, None)]),
        # Each of the two subtasks has its own copy of the broadcast state.
        "rules": Counter({(("limit", 2), 1): 2, (("other", 9), 2): 2}),
        "exceeding": Counter([("a", 3), ("b", 5)]),
    }


@pytest.mark.smoke
def test_partitioning(env: StreamExecutionEnvironment, mode: str, collected: Collect) -> None:
    many = list(range(40))
    numbers = env.from_collection(many)
    spread = numbers.rebalance().map(lambda n: n)
    found = by_label(collected(united(
        rebalance=numbers.rebalance().map(Subtask()),
        rescale=numbers.rescale().map(Subtask()),
        shuffle=numbers.shuffle().map(Subtask()),
        everywhere=numbers.broadcast().map(Subtask()),
        first=spread.global_().map(Subtask()),
        stay=spread.map(Subtask()).forward().map(Subtask()),
        custom=numbers.partition_custom(lambda key, n: key % n, lambda v: v // 10).map(Subtask()),
        single=spread.map(Subtask()).set_parallelism(1),
        keyed=numbers.key_by(lambda n: n % 5).map(Subtask()),
    )))  # fmt: skip
    for how in ("rebalance", "rescale"):
        assert Counter(subtask for subtask, _ in found[how]) == {0: 20, 1: 20}
    assert {subtask for subtask, _ in found["shuffle"]} == {0, 1}
    assert sorted(n for _, n in found["shuffle"].elements()) == many
    assert found["everywhere"] == Counter((subtask, n) for subtask in (0, 1) for n in many)
    assert found["first"] == Counter((0, n) for n in many)
    assert all(before == after for before, (after, _) in found["stay"])
    assert found["custom"] == Counter((n // 10 % 2, n) for n in many)
    assert found["single"] == Counter((0, n) for n in many)
    homes = defaultdict(set)
    for subtask, n in found["keyed"]:
        homes[n % 5].add(subtask)
    assert all(len(subtasks) == 1 for subtasks in homes.values())


RECORDS = [("a", 3, "x"), ("b", 1, "y"), ("a", 1, "z"), ("a", 2, "w")]


@pytest.mark.smoke
def test_rolling(env: StreamExecutionEnvironment, mode: str, collected: Collect) -> None:
    keyed = env.from_collection(RECORDS).key_by(lambda record: record[0])
    found = by_label(collected(united(
        reduce=keyed.reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2])),
        sum=keyed.sum(1), min=keyed.min(1), max=keyed.max(1), min_by=keyed.min_by(1),
        max_by=keyed.max_by(1),
    )))  # fmt: skip
    once = [("a", 3, "x"), ("b", 1, "y")]
    assert found == {
        "reduce": Counter([*once, ("a", 4, "xz"), ("a", 6, "xzw")]),
        "sum": Counter([*once, ("a", 4, "x"), ("a", 6, "x")]),
        "min": Counter([*once, ("a", 1, "x"), ("a", 1, "x")]),
        "max": Counter([*once, ("a", 3, "x"), ("a", 3, "x")]),
        "min_by": Counter([*once, ("a", 1, "z"), ("a", 1, "z")]),
        "max_by": Counter([*once, ("a", 3, "x"), ("a", 3, "x")]),
    }


@pytest.mark.smoke
def test_batch_mode_gives_final_results_only(
    env: StreamExecutionEnvironment, mode: str, collected: Collect
) -> None:
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    keyed = env.from_collection(RECORDS).key_by(lambda record: record[0])
    found = by_label(collected(united(sum=keyed.sum(1), max_by=keyed.max_by(1))))
    assert found == {
        "sum": Counter([("a", 6, "x"), ("b", 1, "y")]),
        "max_by": Counter([("a", 3, "x"), ("b", 1, "y")]),
    }


class Counted(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield value, count


@pytest.mark.smoke
def test_two_keyed_levels(env: StreamExecutionEnvironment, mode: str, collected: Collect) -> None:
    """Counts per word, then how many words had reached each count."""
    words = env.from_collection(["to", "be", "or", "not", "to", "be", "to"])
    counts = words.key_by(lambda word: word).process(Counted())
    found = collected(counts.key_by(lambda pair: pair[1]).process(Counted()).map(lambda r: r[1]))
    assert found == Counter([1, 2, 3, 4, 1, 2, 1])


@pytest.mark.usefixtures("mode")
@pytest.mark.smoke
def test_one_subtask_keeps_the_order(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(1)
    numbers = list(range(20_000))
    stream = env.from_collection(numbers).map(lambda n: n).rebalance().filter(lambda n: n >= 0)
    keyed = stream.key_by(lambda n: 0).process(Counted()).map(lambda pair: pair[0])
    assert list(keyed.execute_and_collect()) == numbers


@pytest.mark.usefixtures("mode")
def test_records_that_only_look_plain(env: StreamExecutionEnvironment, collected: Collect) -> None:
    """Beside plain records travel texts of a class of one's own and objects that hold themselves,
    through an operator that keeps its type, and past a level that has plain ones for the same."""

    class Text(str):
        __slots__ = ()

    class Thing:
        def __init__(self, number: int):
            self.name, self.itself = f"thing {number}", self

    def name(record: Any) -> str:
        return str(getattr(record, "name", None) or record[0])

    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    numbers = env.from_collection([1, 2], Types.LONG())
    texts = numbers.map(lambda number: (Text(f"text {number}"), number), output_type=pair)
    things = numbers.map(Thing)
    plain = numbers.map(lambda number: (f"plain {number}", number), output_type=pair)
    mixed = plain.union(texts, things).filter(lambda record: True).key_by(name)
    counted = mixed.map(lambda record: (name(record), 1), output_type=pair)
    again = counted.union(things).key_by(name).map(name, output_type=Types.STRING())
    expected = [f"{kind} {number}" for kind in ("plain", "text", "thing") for number in (1, 2)]
    assert collected(again) == Counter([*expected, "thing 1", "thing 2"])
