"""What the job of the savepoint in `v2/` does with streams; see make_v1.py for all state types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headrace.cep import CEP, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler
from headrace.common import Time, Types
from headrace.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    DataStream,
    KeyedCoProcessFunction,
    KeyedStream,
    OutputTag,
    ProcessWindowFunction,
    RuntimeContext,
)
from headrace.datastream.functions import ProcessJoinFunction
from headrace.datastream.state import (
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from headrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)
from tests.savepoints.v2_records import Of, Record

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
GIVEN_UP = OutputTag("given up", Types.STRING())
Pair = tuple[str, int]


class KeyOf:
    def __call__(self, record: Any) -> str:
        return str(record[2])


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Record, accumulator: int) -> int:
        return accumulator + value[4]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class Later:
    """Of two records the later one, with both values."""

    def __call__(self, a: Record, b: Record) -> Record:
        return (*b[:4], a[4] + b[4], b[5])


class Told(ProcessWindowFunction):
    """What a window holds; counts per key, and per window if that stays, how often it was told."""

    def __init__(self, *, merging: bool = False):
        self.merging = merging

    def process(self, key: str, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        told = ValueStateDescriptor("told", Types.INT())
        counts = []
        kept = [] if self.merging else [context.window_state()]
        for state in (*kept, context.global_state()):
            count = state.get_state(told)
            count.update((count.value() or 0) + 1)
            counts.append(count.value())
        held = [each[3] if isinstance(each, tuple) else each for each in elements]
        yield f"{key} {context.window()} {held} {counts}"


class ThirdValue(Trigger[Any, TimeWindow]):
    """Fires at the third record of a window and at its end; counts in state of its own."""

    _SEEN = ReducingStateDescriptor("seen", lambda a, b: a + b, Types.LONG())

    def on_element(self, element: Any, timestamp: int, window: TimeWindow, ctx: Any) -> Any:
        ctx.register_event_time_timer(window.max_timestamp())
        seen = ctx.get_partitioned_state(self._SEEN)
        seen.add(1)
        return TriggerResult.FIRE if seen.get() == 3 else TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Any) -> Any:
        return TriggerResult.FIRE_AND_PURGE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Any) -> Any:
        return TriggerResult.CONTINUE

    def clear(self, window: TimeWindow, ctx: Any) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())
        ctx.get_partitioned_state(self._SEEN).clear()

    def on_merge(self, window: TimeWindow, ctx: Any) -> None:
        raise NotImplementedError


class Both(ProcessJoinFunction):
    def process_element(self, left: Record, right: Record, ctx: Any) -> Iterator[str]:
        yield f"{left[2]} {left[3]} {right[3]}"


class Balance(KeyedCoProcessFunction):
    """What was ordered and not paid; told a while after the last order."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.open_sum = runtime_context.get_state(ValueStateDescriptor("open", Types.LONG()))

    def process_element1(self, value: Record, ctx: Any) -> Iterator[str]:
        self.open_sum.update((self.open_sum.value() or 0) + value[4])
        ctx.timer_service().register_event_time_timer(value[5] + 9000)
        yield f"{value[2]} ordered, open {self.open_sum.value()}"

    def process_element2(self, value: Record, ctx: Any) -> Iterator[str]:
        self.open_sum.update((self.open_sum.value() or 0) - value[4])
        yield f"{value[2]} paid, open {self.open_sum.value()}"

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        yield f"{ctx.get_current_key()} at {timestamp}: {self.open_sum.value()}"


class Matched(CoFlatMapFunction):
    """Orders since the last payment."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.since = runtime_context.get_state(ValueStateDescriptor("since", Types.INT()))

    def flat_map1(self, value: Record) -> Iterator[str]:
        self.since.update((self.since.value() or 0) + 1)
        return iter(())

    def flat_map2(self, value: Record) -> Iterator[str]:
        yield f"{value[2]} {self.since.value()}"
        self.since.clear()


class Judged(BroadcastProcessFunction):
    def process_element(self, value: Record, ctx: Any) -> Iterator[str]:
        yield f"{value[3]}: {sorted(ctx.get_broadcast_state(RULES).items())}"

    def process_broadcast_element(self, value: Record, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value[2], value[4])


class Asked(AsyncFunction):
    async def async_invoke(self, value: Record) -> list[str]:
        return [f"{value[2]} {value[3]}"]


class Found(PatternProcessFunction[Any, str], TimedOutPartialMatchHandler):
    def process_match(self, match: Any, ctx: Any) -> Iterator[str]:
        yield str({name: [event[3] for event in events] for name, events in match.items()})

    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        yield GIVEN_UP, str({name: [e[3] for e in events] for name, events in match.items()})


class Cheap:
    def __call__(self, event: Record) -> bool:
        return event[4] < 25


class Dear:
    def __call__(self, event: Record) -> bool:
        return event[4] >= 30


def streams(records: DataStream) -> dict[str, DataStream]:
    """Every operator of streams that has state, by name."""
    orders = records.filter(Of("orders")).uid("ordered")
    payments = records.filter(Of("payments")).uid("paid")
    by_order, by_payment = (each.key_by(KeyOf(), Types.STRING()) for each in (orders, payments))
    pattern = (
        Pattern.begin("cheap").where(Cheap()).one_or_more()
        .followed_by("dear").where(Dear()).within(Time.seconds(15))
    )  # fmt: skip
    matches = CEP.pattern(by_order, pattern).process(Found(), Types.STRING()).uid("patterns")
    window = TumblingEventTimeWindows.of(Time.seconds(10))
    return {
        **windows(by_order),
        "reduced": by_order.reduce(Later()).uid("reduced"),
        "summed": orders.map(_pair, _PAIR).uid("pairs").key_by(_first).sum(1).uid("summed"),
        "interval": by_order.interval_join(by_payment).between(Time.seconds(-2), Time.seconds(9))
        .process(Both(), Types.STRING()).uid("interval"),
        "joined": orders.join(payments).where(KeyOf()).equal_to(KeyOf()).window(window)
        .apply(_joined, Types.STRING()).uid("joined"),
        "connected": by_order.connect(by_payment).process(Balance(), Types.STRING())
        .uid("connected"),
        "mapped": by_order.connect(by_payment).flat_map(Matched(), Types.STRING()).uid("mapped"),
        "judged": orders.connect(payments.broadcast(RULES)).process(Judged(), Types.STRING())
        .uid("judged"),
        "asked": AsyncDataStream.ordered_wait(orders, Asked(), Time.seconds(60), 2, Types.STRING())
        .uid("asked"),
        "patterns": matches,
        "given up": matches.get_side_output(GIVEN_UP),
    }  # fmt: skip


def windows(orders: KeyedStream) -> dict[str, DataStream]:
    ten, five = Time.seconds(10), Time.seconds(5)
    tumbling = orders.window(TumblingEventTimeWindows.of(ten))
    sliding = orders.window(SlidingEventTimeWindows.of(ten, five))
    sessions = orders.window(EventTimeSessionWindows.with_gap(ten))
    return {
        "tumbling": tumbling.aggregate(Sum(), Told()).uid("tumbling"),
        "tumbling lists": tumbling.process(Told(), Types.STRING()).uid("tumbling lists"),
        "late": tumbling.allowed_lateness(20_000).reduce(Later(), Told()).uid("late"),
        "sliding": sliding.allowed_lateness(20_000).aggregate(Sum(), Told()).uid("sliding"),
        "sliding lists": sliding.process(Told(), Types.STRING()).uid("sliding lists"),
        "sessions": sessions.aggregate(Sum(), Told(merging=True)).uid("sessions"),
        "session lists": sessions.evictor(CountEvictor.of(2))
        .process(Told(merging=True), Types.STRING()).uid("session lists"),
        "triggered": tumbling.trigger(ThirdValue()).process(Told(), Types.STRING())
        .uid("triggered"),
        "counted": orders.count_window(3).reduce(Later()).uid("counted"),
        "sliding counts": orders.count_window(3, 2).process(Told(), Types.STRING())
        .uid("sliding counts"),
        "global": orders.window(GlobalWindows.create())
        .trigger(PurgingTrigger.of(CountTrigger.of(2))).reduce(Later()).uid("global"),
    }  # fmt: skip


_PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


def _pair(record: Record) -> Pair:
    return record[2], record[4]


def _first(pair: Pair) -> str:
    return pair[0]


def _joined(order: Record, payment: Record) -> str:
    return f"{order[2]} {order[3]} {payment[3]}"
