"""The functions of the streams' cases; a module of their own, because they travel to workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyflink.common import Time, Types
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import OutputTag
from pyflink.datastream.functions import (
    AggregateFunction,
    BroadcastProcessFunction,
    CoMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessWindowFunction,
)
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)


class SecondField(TimestampAssigner):
    """The time of an event is its third field."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[2]


class SplitByParity(ProcessFunction):
    """Odd numbers go aside."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if value % 2:
            yield OutputTag("odd", Types.INT()), value
        else:
            yield value


class SumByWindow(ProcessWindowFunction):
    """A window's bounds, if it has any, and what it holds."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        window = context.window()
        bounds = (getattr(window, "start", None), getattr(window, "end", None))
        yield key, bounds, [element[1] for element in elements], context.current_watermark() > 0


class TellBroadcast(BroadcastProcessFunction):
    """Broadcast state is there on the side that is broadcast, and read on the other."""

    def __init__(self, rules: Any) -> None:
        self._rules = rules

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield "record", value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        state = ctx.get_broadcast_state(self._rules)
        state.put(value[0], value[1])
        yield "rule", value, sorted(state.items())


class TellRules(BroadcastProcessFunction):
    """What broadcast state a record finds. In batch mode all that is broadcast is there."""

    def __init__(self, rules: Any) -> None:
        self._rules = rules

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, sorted(ctx.get_broadcast_state(self._rules).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.get_broadcast_state(self._rules).put(value[0], value[1])
        return ()


class _Tell(CoMapFunction):
    def map1(self, value: Any) -> str:
        return f"first {value!r}"

    def map2(self, value: Any) -> str:
        return f"second {value!r}"


class _CountBothSides(KeyedCoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield f"first {ctx.get_current_key()} {value!r} {ctx.timestamp()}"

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        self._count.update((self._count.value() or 0) + 1)
        yield f"second {value!r} {ctx.timestamp()} {self._count.value()}"


class _TellOrder(KeyedCoProcessFunction):
    """Which records of both sides came before each."""

    def open(self, runtime_context: Any) -> None:
        self._seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))

    def _told(self, side: str, value: Any) -> Iterable[Any]:
        yield side, value, list(self._seen.get())
        self._seen.add(value[1])

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self._told("first", value)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        return self._told("second", value)


class ValueState(KeyedProcessFunction):
    """A sum in value state, from None on."""

    def open(self, runtime_context: Any) -> None:
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        before = self._sum.value()
        self._sum.update((before or 0) + value[1])
        yield ctx.get_current_key(), before, self._sum.value(), ctx.timestamp()
        if self._sum.value() > 10:
            self._sum.clear()


class ListState(KeyedProcessFunction):
    """What list state gives, also when it is empty."""

    def open(self, runtime_context: Any) -> None:
        self._seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        before = list(self._seen.get())
        self._seen.add(value[1])
        self._seen.add_all([0, value[1]])
        yield before, list(self._seen.get())
        if len(before) > 2:
            self._seen.update([9])


class MapState(KeyedProcessFunction):
    """What map state gives for keys that are there and are not."""

    def open(self, runtime_context: Any) -> None:
        descriptor = MapStateDescriptor("seen", Types.INT(), Types.STRING())
        self._seen = runtime_context.get_map_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        missing, empty = self._seen.get(-1), self._seen.is_empty()
        self._seen.put(value[1], value[0])
        self._seen.put_all({value[1] + 100: "more"}.items())
        self._seen.remove(value[1] + 50)
        there = self._seen.contains(value[1])
        keys, values = sorted(self._seen.keys()), sorted(self._seen.values())
        yield missing, empty, there, keys, values, sorted(self._seen.items())


class MapStateOfDict(KeyedProcessFunction):
    """What becomes of a dictionary that is put into map state."""

    def open(self, runtime_context: Any) -> None:
        descriptor = MapStateDescriptor("seen", Types.INT(), Types.STRING())
        self._seen = runtime_context.get_map_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self._seen.put_all({value[1]: value[0]})
        yield sorted(self._seen.items())


class FoldedState(KeyedProcessFunction):
    """Reducing and aggregating state."""

    def open(self, runtime_context: Any) -> None:
        largest = ReducingStateDescriptor("largest", max, Types.INT())
        mean = AggregatingStateDescriptor("mean", Mean(), Types.TUPLE([Types.INT(), Types.INT()]))
        self._largest = runtime_context.get_reducing_state(largest)
        self._mean = runtime_context.get_aggregating_state(mean)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        before = self._largest.get(), self._mean.get()
        self._largest.add(value[1])
        self._mean.add(value[1])
        yield before, self._largest.get(), self._mean.get()


class TimeToLive(KeyedProcessFunction):
    """State with a time to live that does not pass within the run."""

    def open(self, runtime_context: Any) -> None:
        descriptor = ValueStateDescriptor("sum", Types.INT())
        live = StateTtlConfig.new_builder(Time.hours(1)).build()
        descriptor.enable_time_to_live(live)
        self._sum = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self._sum.update((self._sum.value() or 0) + value[1])
        yield value[0], self._sum.value()


class EventTimers(KeyedProcessFunction):
    """Timers: doubles are one, deleted ones do not fire, those in the past fire."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        timers = ctx.timer_service()
        for time in (value[2] + 5000, value[2] + 5000, value[2] - 100000, value[2] + 7000):
            timers.register_event_time_timer(time)
        timers.delete_event_time_timer(value[2] + 7000)
        yield "record", value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield "timer", ctx.get_current_key(), timestamp, ctx.timestamp(), str(ctx.time_domain())


class TimersOfTimers(KeyedProcessFunction):
    """A timer that sets another, three times."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(value[2])
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        if timestamp % 10:
            return
        if timestamp < 40000:
            ctx.timer_service().register_event_time_timer(timestamp + 10000)
        yield ctx.get_current_key(), timestamp


class Watermarks(KeyedProcessFunction):
    """The watermark at the end of time."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(2**62)
        return []

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark()


class Largest(KeyedProcessFunction):
    """A function that returns a list, not a generator."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return [value[1], value[0]]


class Mean(AggregateFunction):
    """Sum and count."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> tuple[int, int]:
        number = value[1] if isinstance(value, tuple) else value
        return accumulator[0] + number, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def merge(self, acc_a: Any, acc_b: Any) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


PROCESSES: dict[str, Callable[[], Any]] = {
    "value state": ValueState,
    "list state": ListState,
    "map state": MapState,
    "a dict in map state": MapStateOfDict,
    "reducing and aggregating state": FoldedState,
    "time to live": TimeToLive,
    "event timers": EventTimers,
    "timers of timers": TimersOfTimers,
    "the last watermark": Watermarks,
}
CO_PROCESSES: dict[str, Callable[[], Any]] = {
    "map": _Tell,
    "process": _CountBothSides,
    "order": _TellOrder,
}
AGGREGATES: dict[str, Callable[[], Any]] = {"mean": Mean}
