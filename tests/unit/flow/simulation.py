"""A job in a network where anything may happen next: the model of the checkpoint protocol.

Records are counted by key twice, behind two exchanges. Whatever the order of events, and wherever
the job is thrown away and started again, each count must come out exactly once.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from headrace.common import Time, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.core.sink import Committer, Sink, SinkWriter
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader
from headrace.datastream import (
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.memory.network import Disk, Network
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.runtime.flow.coordinator import CheckpointSettings
from headrace.runtime.flow.master import Savepoint
from headrace.runtime.flow.messages import Alignment
from headrace.runtime.flow.windows import Windows
from headrace.runtime.outbox import Outbox

ALIGNED = Alignment()
KEYS = 5
WINDOW = 3
_PAIR = Types.TUPLE([Types.INT(), Types.INT()])
_TRIPLE = Types.TUPLE([Types.INT(), Types.INT(), Types.INT()])


class Numbers(Source[Any]):
    """Splits of so many numbers each."""

    def __init__(
        self, splits: int, size: int, *, counted: bool, come_and_go: bool = False,
        timed: bool = False,
    ):  # fmt: skip
        """`timed`: each with its place in its split."""
        self.shape = splits, size
        self.counted = counted
        self.timed = timed
        self.splits_end = come_and_go

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return _Enumerator(*self.shape, self.counted)

    def create_reader(self) -> SplitReader[Any]:
        return _Reader(self.timed)


class _Enumerator(SplitEnumerator):
    def __init__(self, splits: int, size: int, counted: bool):
        self._splits, self._size = splits, size
        self.positions_count_records = counted

    def splits(self) -> list[Split]:
        return [Split(f"part-{number}", number) for number in range(self._splits)]

    def latest_position(self, split: Split, start: Any) -> Any:
        return min(start + 3, self._size)

    def cuts(self, split: Split, start: Any, end: Any) -> list[Any]:
        return list(range(start + 2, end, 2))


class _Reader(SplitReader[Any]):
    def __init__(self, timed: bool):
        self._timed = timed

    def read(self, split: Split, start: Any, end: Any) -> Iterable[Any]:
        found = [((split.info * 7 + number) % KEYS, number) for number in range(start, end)]
        return found if self._timed else [key for key, _ in found]


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield ctx.get_current_key(), count


class Kept(Sink[Any]):
    """Prepares what it was given."""

    def create_writer(self, task: Any) -> SinkWriter[Any]:
        return _Writer()

    def create_committer(self) -> Committer[Any]:
        raise AssertionError("the simulation commits")


class _Writer(SinkWriter[Any]):
    def __init__(self) -> None:
        self._values: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        self._values.append(value)

    def prepare_commit(self) -> list[Any]:
        values, self._values = self._values, []
        return values

    def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True)
class Shape:
    """What the job reads, and how."""

    splits: int = 3
    size: int = 17
    counted: bool = True
    come_and_go: bool = False
    more: int = 0
    """Numbers of another source, of one split."""
    timed: bool = False
    """Whether records have times, and windows of them are counted."""


def counting(shape: Shape, parallelism: int = 2) -> PhysicalPlan:
    """The plan of the job."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    if shape.timed:
        _count_windows(env, shape)
        return plan(env.builder.peek("windows", parallelism=parallelism, max_parallelism=8))
    how = {"counted": shape.counted, "come_and_go": shape.come_and_go}
    numbers = _read(env, Numbers(shape.splits, shape.size, **how), "numbers")
    if shape.more:
        numbers = numbers.union(_read(env, Numbers(1, shape.more, counted=True), "more"))
    once = numbers.key_by(lambda number: number).process(Count(), _PAIR).uid("once")
    twice = once.key_by(lambda pair: pair[0] % 2).process(Count(), _PAIR).uid("twice")
    once.sink_to(Kept()).uid("first")
    twice.sink_to(Kept()).uid("second")
    return plan(env.builder.peek("counting", parallelism=parallelism, max_parallelism=8))


def _read(env: StreamExecutionEnvironment, source: Numbers, uid: str) -> Any:
    no_time = WatermarkStrategy.no_watermarks()
    return env.from_source(source, no_time, uid, type_info=Types.INT()).uid(uid)


def _count_windows(env: StreamExecutionEnvironment, shape: Shape) -> None:
    """Numbers of each key in windows of time, behind an exchange by hand and two by key."""
    source = Numbers(shape.splits, shape.size, counted=shape.counted, timed=True)
    numbers = _read_timed(env, source, "numbers")
    if shape.more:
        more = Numbers(1, shape.more, counted=True, timed=True)
        numbers = numbers.union(_read_timed(env, more, "more"))
    checked = numbers.key_by(lambda pair: pair[0]).process(Punctual(), _PAIR).uid("punctual")
    spread = checked.rebalance().map(lambda pair: pair, _PAIR).uid("spread")
    windows = spread.key_by(lambda pair: pair[0] % 2).window(
        TumblingEventTimeWindows.of(Time.milliseconds(WINDOW))
    )
    windows.process(CountWindow(), _TRIPLE).uid("windows").sink_to(Kept()).uid("second")


def _read_timed(env: StreamExecutionEnvironment, source: Numbers, uid: str) -> Any:
    time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(_Place())
    return env.from_source(source, time, uid, type_info=_PAIR).uid(uid)


class _Place(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Punctual(KeyedProcessFunction):
    """Lets everything through; of what is late, a mark."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        is_late = value[1] <= ctx.timer_service().current_watermark()
        yield (-1, -1) if is_late else value


class CountWindow(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        yield key, context.window().start, len(list(elements))


def _expected_windows(shape: Shape) -> Counter[Any]:
    counts = Counter(
        ((part * 7 + number) % KEYS % 2, number // WINDOW * WINDOW)
        for part in range(shape.splits)
        for number in range(shape.size)
    )
    counts.update((number % KEYS % 2, number // WINDOW * WINDOW) for number in range(shape.more))
    return Counter(("second", (*window, count)) for window, count in counts.items())


def expected(shape: Shape) -> Counter[Any]:
    """What comes out, whatever happens on the way."""
    if shape.timed:
        return _expected_windows(shape)
    numbers = Counter(
        (part * 7 + number) % KEYS for part in range(shape.splits) for number in range(shape.size)
    )
    numbers.update(number % KEYS for number in range(shape.more))
    halves: Counter[int] = Counter()
    for key, count in numbers.items():
        halves[key % 2] += count
    found: Counter[Any] = Counter()
    for uid, counts in (("first", numbers), ("second", halves)):
        found.update((uid, (key, n)) for key, count in counts.items() for n in range(1, count + 1))
    return found


DEFAULT = Shape()


class Outside:
    """What the world sees: output is noted when it is prepared, and shown when it is committed."""

    def __init__(self, physical: PhysicalPlan):
        self._plan = physical
        self._noted: dict[int, list[Any]] = {}
        self.shown: list[Any] = []

    def begun(self, number: int) -> None:
        """Nobody has to know."""

    def failed(self, number: int, reason: str) -> None:
        """Nobody has to know."""

    def told(self, items: list[Any]) -> None:
        """Nobody has to know."""

    def arrived(self, number: int, items: list[Any]) -> None:
        assert number not in self._noted
        self._noted[number] = [
            (self._plan.vertices[vertex].uid, value)
            for vertex, _, kind, values in items
            if kind == "commit"
            for value in values
        ]

    def committed(self, number: int) -> None:
        for ready in sorted(n for n in self._noted if n <= number):
            self.shown += self._noted.pop(ready)

    def recover(self, last: int | None) -> None:
        """What a crash has left: commit what is part of a checkpoint, forget the rest."""
        if last is not None:
            self.committed(last)
        self._noted.clear()


@contextmanager
def little_room(room: int) -> Iterator[None]:
    """Let no more than so many bytes be on their way between two tasks, in parcels of any size."""
    with (
        patch("headrace.runtime.flow.windows.FIRST_WINDOW", room),
        patch("headrace.runtime.flow.output.FIRST_WINDOW", room),
        patch.object(Windows, "_fitting", lambda self: room),
        patch.object(Outbox, "_LEAST_RECORDS", 1),
    ):
        yield


def simulate(
    seed: int | random.Random, shape: Shape = DEFAULT, *,
    crashes: int = 2, alignment: Alignment = ALIGNED, room: int = 120,
) -> Counter[Any]:  # fmt: skip
    """Run the job in a random order of events, crash it now and then; what was shown in the end.

    `room`: how many bytes may be on their way between two tasks.
    """
    with little_room(room):
        chance = seed if isinstance(seed, random.Random) else random.Random(seed)
        return _simulate(chance, counting(shape), crashes, alignment)


def _simulate(
    chance: random.Random, physical: PhysicalPlan, crashes: int, alignment: Alignment
) -> Counter[Any]:
    disk, outside = Disk(), Outside(physical)
    for _ in range(crashes):
        flow_until_crash(physical, disk, outside, alignment, chance)
    disk.on_save = lambda: None
    start(physical, disk, outside, alignment).run_to_end()
    return Counter(outside.shown)


def flow_until_crash(
    physical: PhysicalPlan,
    disk: Disk,
    outside: Outside,
    alignment: Alignment,
    chance: random.Random,
    begun_with: Savepoint | None = None,
) -> None:
    """Run the job in real time for a while, and throw it away."""
    network = start(physical, disk, outside, alignment, begun_with)
    disk.on_save = lambda: perhaps_die(chance)
    with suppress(Died):
        for _ in range(chance.randrange(20, 1200)):
            if network.master.ended:
                break
            _step(network, chance)


class Died(Exception):
    """The driver is gone while it saved a checkpoint."""


def perhaps_die(chance: random.Random) -> None:
    if chance.random() < 0.25:
        raise Died


def start(
    physical: PhysicalPlan, disk: Disk, outside: Outside, alignment: Alignment,
    begun_with: Savepoint | None = None,
) -> Network:  # fmt: skip
    last = disk.last()
    outside.recover(None if last is None else last.number)
    patient = CheckpointSettings(
        at_most=3 if alignment == ALIGNED else 1, tolerable_failures=1 << 30, alignment=alignment
    )
    clock = itertools.count().__next__
    return Network(physical, disk, outside, settings=patient, clock=clock, begun_with=begun_with)


def _step(network: Network, chance: random.Random) -> None:
    coordinator = network.master.coordinator
    if coordinator.may_trigger and chance.random() < 0.08:
        network.master.trigger(0.0, is_exact=chance.random() < 0.2)
        return
    if coordinator.under_way and chance.random() < 0.005:
        coordinator.decline(chance.choice(coordinator.under_way))
    network.master.discover()
    network.happen(chance.choice(list(network.events())))
