"""The functions that transcripts name.

Most of them do what their records say: a record is (key, operation, operands...), so that a
transcript shows in one place what is done to state and timers and what comes of it.
"""

from __future__ import annotations

from headrace.common import Time
from headrace.datastream import (
    AggregateFunction,
    BroadcastProcessFunction,
    CoMapFunction,
    CoProcessFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    TimeDomain,
)
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.testing.transcripts import RULES


class ValueOperations(KeyedProcessFunction):
    def open(self, runtime_context):
        self.state = runtime_context.get_state(ValueStateDescriptor("value"))

    def process_element(self, value, ctx):
        key, operation, *operands = value
        if operation == "update":
            self.state.update(operands[0])
        elif operation == "clear":
            self.state.clear()
        else:
            yield key, self.state.value()


class ListOperations(KeyedProcessFunction):
    def open(self, runtime_context):
        self.state = runtime_context.get_list_state(ListStateDescriptor("list"))

    def process_element(self, value, ctx):
        key, operation, *operands = value
        if operation == "get":
            yield (key, *self.state.get())
        elif operation == "add":
            self.state.add(operands[0])
        elif operation == "clear":
            self.state.clear()
        else:
            getattr(self.state, operation)(operands)


class MapOperations(KeyedProcessFunction):
    def open(self, runtime_context):
        self.state = runtime_context.get_map_state(MapStateDescriptor("map"))

    def process_element(self, value, ctx):
        key, operation, *operands = value
        state = self.state
        if operation == "put_all":
            state.put_all(dict(operands))
        elif operation in ("items", "keys", "values"):
            yield (key, *sorted(getattr(state, operation)()))
        elif operation in ("get", "contains", "is_empty"):
            yield key, getattr(state, operation)(*operands)
        else:
            getattr(state, operation)(*operands)


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class CombiningOperations(KeyedProcessFunction):
    """Reducing and aggregating state side by side: the largest value and the average."""

    def open(self, runtime_context):
        self.largest = runtime_context.get_reducing_state(ReducingStateDescriptor("largest", max))
        self.average = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("average", Average())
        )

    def process_element(self, value, ctx):
        key, operation, *operands = value
        if operation == "get":
            yield key, self.largest.get(), self.average.get()
            return
        for state in (self.largest, self.average):
            getattr(state, operation)(*operands)


def _ttl(milliseconds, update_type, visibility):
    config = StateTtlConfig.new_builder(Time.milliseconds(milliseconds))
    config.set_update_type(StateTtlConfig.UpdateType[update_type])
    config.set_state_visibility(StateTtlConfig.StateVisibility[visibility])
    return config.build()


class ExpiringOperations(KeyedProcessFunction):
    """A value, a list and a map that expire."""

    def __init__(self, milliseconds, update_type, visibility):
        self.ttl = milliseconds, update_type, visibility

    def open(self, runtime_context):
        value = ValueStateDescriptor("value")
        items = ListStateDescriptor("list")
        entries = MapStateDescriptor("map")
        for descriptor in (value, items, entries):
            descriptor.enable_time_to_live(_ttl(*self.ttl))
        self.value = runtime_context.get_state(value)
        self.items = runtime_context.get_list_state(items)
        self.entries = runtime_context.get_map_state(entries)

    def process_element(self, value, ctx):
        key, operation, *operands = value
        if operation == "write":
            self.value.update(operands[0])
            self.items.add(operands[0])
            self.entries.put(operands[0], operands[0])
        else:
            yield key, self.value.value(), (*self.items.get(),), (*sorted(self.entries.keys()),)


class TimerOperations(KeyedProcessFunction):
    """Sets and deletes timers; a timer that fires gives (key, domain, time, record time)."""

    def process_element(self, value, ctx):
        _, operation, time = value
        getattr(ctx.timer_service(), f"{operation}_timer")(time)

    def on_timer(self, timestamp, ctx):
        domain = "event" if ctx.time_domain() is TimeDomain.EVENT_TIME else "processing"
        yield ctx.get_current_key(), domain, timestamp, ctx.timestamp()


class Heartbeat(KeyedProcessFunction):
    """Every timer sets the next one, ten later, up to a limit; counts the beats in state."""

    def open(self, runtime_context):
        self.beats = runtime_context.get_state(ValueStateDescriptor("beats"))

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def on_timer(self, timestamp, ctx):
        beats = (self.beats.value() or 0) + 1
        yield ctx.get_current_key(), timestamp, beats
        if beats < 3:
            self.beats.update(beats)
            ctx.timer_service().register_event_time_timer(timestamp + 10)
        else:
            self.beats.clear()


class Deadline(KeyedProcessFunction):
    """The last record of a key, once it has been silent for ten: each record moves the timer."""

    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value, ctx):
        timers = ctx.timer_service()
        before = self.last.value()
        if before is not None:
            timers.delete_event_time_timer(before[1] + 10)
        self.last.update((value[1], ctx.timestamp()))
        timers.register_event_time_timer(ctx.timestamp() + 10)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.last.value()[0], timestamp
        self.last.clear()


class BySize(ProcessFunction):
    def process_element(self, value, ctx):
        if value > 100:
            yield OutputTag("large"), value
        elif value < 0:
            yield OutputTag("negative"), (value, "refused")
        else:
            yield value


class LateToSide(KeyedProcessFunction):
    def process_element(self, value, ctx):
        if ctx.timestamp() <= ctx.timer_service().current_watermark():
            yield OutputTag("late"), value
        else:
            yield value


class TimeoutToSide(KeyedProcessFunction):
    """Side outputs from a timer."""

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key()
        yield OutputTag("timeouts"), (ctx.get_current_key(), timestamp)


class Tagged(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield "first", value, ctx.timestamp()

    def process_element2(self, value, ctx):
        yield "second", value, ctx.timestamp()


class EvenOnly(CoMapFunction):
    def map1(self, value):
        return value

    def map2(self, value):
        return value if value % 2 == 0 else None


class PriceOrders(KeyedCoProcessFunction):
    """Prices of the first input, orders of the second; an order waits for its price."""

    def open(self, runtime_context):
        self.price = runtime_context.get_state(ValueStateDescriptor("price"))
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting"))

    def process_element1(self, value, ctx):
        self.price.update(value[1])
        for amount in self.waiting.get():
            yield value[0], amount * value[1]
        self.waiting.clear()

    def process_element2(self, value, ctx):
        price = self.price.value()
        if price is None:
            self.waiting.add(value[1])
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
        else:
            yield value[0], value[1] * price

    def on_timer(self, timestamp, ctx):
        for amount in self.waiting.get():
            yield ctx.get_current_key(), amount, "unpriced"
        self.waiting.clear()


class Translate(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        yield rules.get(value) if value in rules else value

    def process_broadcast_element(self, value, ctx):
        rules = ctx.get_broadcast_state(RULES)
        word, translation = value
        if translation is None:
            rules.remove(word)
        else:
            rules.put(word, translation)


class LimitPerKey(KeyedBroadcastProcessFunction):
    """Sums per key up to the limit that was broadcast; says so in a timer when it is passed."""

    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(self, value, ctx):
        total = (self.total.value() or 0) + value[1]
        self.total.update(total)
        limit = ctx.get_broadcast_state(RULES).get("limit")
        if limit is not None and total > limit:
            ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(*value)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.total.value(), ctx.get_broadcast_state(RULES).get("limit")


class NumberPerKey(MapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def map(self, value):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return (*value, count)


class Repeat(FlatMapFunction):
    def flat_map(self, value):
        for _ in range(value):
            yield value


class FirstPerKey(FlatMapFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def flat_map(self, value):
        if not self.seen.value():
            self.seen.update(True)
            yield value


def doubled(value):
    return value * 2


def is_even(value):
    return value % 2 == 0


def add_amounts(left, right):
    return left[0], left[1] + right[1]
