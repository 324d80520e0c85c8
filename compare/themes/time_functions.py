"""The functions and triggers of the cases about time and state; they travel to workers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pyflink.common import Time, Types
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream.functions import (
    AggregateFunction,
    FlatMapFunction,
    KeyedProcessFunction,
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
from pyflink.datastream.window import ContinuousEventTimeTrigger, Trigger, TriggerResult

FOREVER = 2**63 - 1


class Numbered(FlatMapFunction):
    """The event of a number, which may be none."""

    def __init__(self, events: Sequence[Any]) -> None:
        self._events = events

    def flat_map(self, value: Any) -> Iterable[Any]:
        event = self._events[value[0]]
        return [] if event is None else [event]


class LastField(TimestampAssigner):
    """The time of an event is its last field."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[-1]


def moment(number: int) -> str:
    """A time; the ends of time by name."""
    return {FOREVER: "forever", -(2**63): "never"}.get(number, str(number))


class TellWindow(ProcessWindowFunction):
    """A window, what it holds, and the watermark, below a name.

    What merged windows held comes in any order.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        window = context.window()
        bounds = (getattr(window, "start", None), getattr(window, "end", None))
        held = sorted(e[1] for e in elements)
        yield self._name, str((key, bounds, held, moment(context.current_watermark())))


class Told(Trigger):
    """Writes every call to a file; what it does then is a subclass's."""

    def __init__(self, file: str) -> None:
        self._file = file

    def tell(self, call: str, window: Any, ctx: Any, detail: Any = "") -> None:
        bounds = (getattr(window, "start", None), getattr(window, "end", None))
        line = f"{call} {detail} of {bounds} at {moment(ctx.get_current_watermark())}\n"
        with Path(self._file).open("a", encoding="utf-8") as lines:
            lines.write(line)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        self.tell("element", window, ctx, element[1])
        return self.seen(timestamp, window, ctx) or TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        self.tell("event time", window, ctx, time)
        return self.due(time, window, ctx) or TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        self.tell("merge", window, ctx)
        self.merged(window, ctx)

    def clear(self, window: Any, ctx: Any) -> None:
        self.tell("clear", window, ctx)

    def seen(self, timestamp: int, window: Any, ctx: Any) -> TriggerResult | None:
        ctx.register_event_time_timer(window.max_timestamp())
        return None

    def due(self, time: int, window: Any, ctx: Any) -> TriggerResult | None:
        return TriggerResult.FIRE if time == window.max_timestamp() else None

    def merged(self, window: Any, ctx: Any) -> None:
        ctx.register_event_time_timer(window.max_timestamp())

    def can_merge(self) -> bool:
        return True


class SetsWhenDue(Told):
    """A timer a second after each record; when it is due, one at a distance from it."""

    def __init__(self, file: str, distance: int) -> None:
        super().__init__(file)
        self._distance = distance

    def seen(self, timestamp: int, window: Any, ctx: Any) -> TriggerResult | None:
        ctx.register_event_time_timer(timestamp + 1000)
        return None

    def due(self, time: int, window: Any, ctx: Any) -> TriggerResult | None:
        if time % 1000 == 0:
            ctx.register_event_time_timer(time + self._distance)
        return TriggerResult.FIRE

    def merged(self, window: Any, ctx: Any) -> None:
        return None


class SetsAtItsEnd(Told):
    """When the window ends, a timer at a distance from its end."""

    def __init__(self, file: str, distance: int) -> None:
        super().__init__(file)
        self._distance = distance

    def due(self, time: int, window: Any, ctx: Any) -> TriggerResult | None:
        if time == window.max_timestamp():
            ctx.register_event_time_timer(time + self._distance)
        return TriggerResult.FIRE


class EverySecond(Told):
    """Fires each second, each timer sets the next."""

    def seen(self, timestamp: int, window: Any, ctx: Any) -> TriggerResult | None:
        ctx.register_event_time_timer(timestamp - timestamp % 1000 + 1000)
        return None

    def due(self, time: int, window: Any, ctx: Any) -> TriggerResult | None:
        if time < window.max_timestamp():
            ctx.register_event_time_timer(min(time + 1000, window.max_timestamp()))
        return TriggerResult.FIRE

    def merged(self, window: Any, ctx: Any) -> None:
        ctx.register_event_time_timer(window.start + 1000)


class SetsForThePast(Told):
    """Timers for times that have passed, by records and by merging."""

    def seen(self, timestamp: int, window: Any, ctx: Any) -> TriggerResult | None:
        ctx.register_event_time_timer(timestamp - 100000)
        ctx.register_event_time_timer(window.max_timestamp())
        return None

    def due(self, time: int, window: Any, ctx: Any) -> TriggerResult | None:
        return TriggerResult.FIRE

    def merged(self, window: Any, ctx: Any) -> None:
        ctx.register_event_time_timer(window.start - 100000)
        ctx.register_event_time_timer(window.max_timestamp())


class Deletes(Told):
    """The first timer deletes the second, and the one at the window's end."""

    def seen(self, timestamp: int, window: Any, ctx: Any) -> TriggerResult | None:
        for distance in (100, 200, 300):
            ctx.register_event_time_timer(timestamp + distance)
        return None

    def due(self, time: int, window: Any, ctx: Any) -> TriggerResult | None:
        if time % 1000 == 100:
            ctx.delete_event_time_timer(time + 100)
        return TriggerResult.FIRE

    def merged(self, window: Any, ctx: Any) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class PurgesAndSets(Told):
    """Fires and purges at a timer, and sets another one, which finds nothing."""

    def seen(self, timestamp: int, window: Any, ctx: Any) -> TriggerResult | None:
        ctx.register_event_time_timer(timestamp + 100)
        return None

    def due(self, time: int, window: Any, ctx: Any) -> TriggerResult | None:
        if time % 1000 == 100:
            ctx.register_event_time_timer(time + 100)
        return TriggerResult.FIRE_AND_PURGE


class SetsWhenCleared(Told):
    """A timer that is set while the window is cleared."""

    def clear(self, window: Any, ctx: Any) -> None:
        super().clear(window, ctx)
        ctx.register_event_time_timer(window.max_timestamp() + 3000)


class KeepsCount(Told):
    """State beside timers: how often it was called, over merges as well. Timers set some more."""

    def __init__(self, file: str, distance: int) -> None:
        super().__init__(file)
        self._distance = distance

    def _count(self, ctx: Any) -> Any:
        return ctx.get_partitioned_state(ReducingStateDescriptor("count", _add, Types.LONG()))

    def seen(self, timestamp: int, window: Any, ctx: Any) -> TriggerResult | None:
        count = self._count(ctx)
        count.add(1)
        self.tell("count", window, ctx, count.get())
        ctx.register_event_time_timer(window.max_timestamp())
        return None

    def due(self, time: int, window: Any, ctx: Any) -> TriggerResult | None:
        count = self._count(ctx)
        self.tell("count", window, ctx, count.get())
        count.add(10)
        if count.get() < 40:
            ctx.register_event_time_timer(time + self._distance)
        return TriggerResult.FIRE

    def merged(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(ReducingStateDescriptor("count", _add, Types.LONG()))
        ctx.register_event_time_timer(window.max_timestamp())


class Continuous(Told):
    """PyFlink's own trigger for every second."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self._inner: Any = ContinuousEventTimeTrigger.of(Time.seconds(1))

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        self.tell("element", window, ctx, element[1])
        return self._inner.on_element(element, timestamp, window, ctx)

    def due(self, time: int, window: Any, ctx: Any) -> TriggerResult | None:
        return self._inner.on_event_time(time, window, ctx)

    def merged(self, window: Any, ctx: Any) -> None:
        self._inner.on_merge(window, ctx)

    def clear(self, window: Any, ctx: Any) -> None:
        super().clear(window, ctx)
        self._inner.clear(window, ctx)


def _add(a: int, b: int) -> int:
    return a + b


TRIGGERS: dict[str, Callable[[str], Any]] = {
    "sets for the past": lambda file: SetsWhenDue(file, -300),
    "sets for later": lambda file: SetsWhenDue(file, 400),
    "sets for much later": lambda file: SetsWhenDue(file, 20500),
    "sets at its end for before": lambda file: SetsAtItsEnd(file, -1),
    "sets at its end for after": lambda file: SetsAtItsEnd(file, 1),
    "sets at its end for long after": lambda file: SetsAtItsEnd(file, 4000),
    "every second": EverySecond,
    "records set for the past": SetsForThePast,
    "deletes": Deletes,
    "purges and sets": PurgesAndSets,
    "sets when cleared": SetsWhenCleared,
    "keeps count": lambda file: KeepsCount(file, -1),
    "sets the same time": lambda file: KeepsCount(file, 0),
    "continuous": Continuous,
}


class TellTime(KeyedProcessFunction):
    """Times and timers, also before 1970 and at the ends of time."""

    def __init__(self, name: str, timers: Sequence[int], distances: Sequence[int]) -> None:
        self._name = name
        self._timers = timers
        self._distances = distances

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        service = ctx.timer_service()
        for timer in (*self._timers, *(ctx.timestamp() + d for d in self._distances)):
            service.register_event_time_timer(timer)
        now = moment(service.current_watermark())
        yield self._name, str(("record", value[1], ctx.timestamp(), now))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        now = ctx.timer_service().current_watermark()
        told = "timer", ctx.get_current_key(), timestamp, ctx.timestamp(), moment(now)
        yield self._name, str(told)


def _kind(value: Any) -> str:
    """Which of Python's own types a value is of."""
    return next(kind.__name__ for kind in type(value).__mro__ if kind.__module__ == "builtins")


class CountByKey(KeyedProcessFunction):
    """What a key is, and that state and timers are its own."""

    def __init__(self, name: str) -> None:
        self._name = name

    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        ctx.timer_service().register_event_time_timer(50000)
        key = ctx.get_current_key()
        yield self._name, str(("record", _kind(key), key, value[1], count))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        key = ctx.get_current_key()
        yield self._name, str(("timer", _kind(key), key, self._count.value()))


class SumOfAll(AggregateFunction):
    """Of numbers, or of the second fields of events."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + (value[1] if isinstance(value, tuple) else value)

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


_UPDATES = {
    "created": StateTtlConfig.UpdateType.OnCreateAndWrite,
    "read": StateTtlConfig.UpdateType.OnReadAndWrite,
}
_VISIBLE = {
    "": StateTtlConfig.StateVisibility.NeverReturnExpired,
    " shown": StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp,
}


class Expires(KeyedProcessFunction):
    """State of every kind with a time to live; each record says how long to wait and what to do."""

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    def open(self, runtime_context: Any) -> None:
        self._states = {}
        for update, kind in _UPDATES.items():
            for visible, shown in _VISIBLE.items():
                builder = StateTtlConfig.new_builder(Time.milliseconds(self._milliseconds))
                builder.set_update_type(kind)
                builder.set_state_visibility(shown)
                builder.disable_cleanup_in_background()
                name = f"{update}{visible}"
                self._states[name] = _states(runtime_context, name, builder.build())

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        _key, number, pause, action = value
        time.sleep(pause / 1000)
        for name, state in self._states.items():
            for kind, found in _ACTIONS[action](state, number).items():
                yield f"{name}, {kind}", f"{number} {action}: {found}"


def _states(context: Any, name: str, live: Any) -> dict[str, Any]:
    value = ValueStateDescriptor(f"v {name}", Types.LONG())
    elements = ListStateDescriptor(f"l {name}", Types.LONG())
    entries = MapStateDescriptor(f"m {name}", Types.LONG(), Types.LONG())
    total = ReducingStateDescriptor(f"r {name}", _add, Types.LONG())
    folded = AggregatingStateDescriptor(f"a {name}", SumOfAll(), Types.LONG())
    for descriptor in (value, elements, entries, total, folded):
        descriptor.enable_time_to_live(live)
    return {
        "value": context.get_state(value),
        "list": context.get_list_state(elements),
        "map": context.get_map_state(entries),
        "reducing": context.get_reducing_state(total),
        "aggregating": context.get_aggregating_state(folded),
    }


def _write(states: dict[str, Any], number: int) -> dict[str, Any]:
    states["value"].update(number)
    states["list"].add(number)
    states["map"].put(number, number)
    states["reducing"].add(number)
    states["aggregating"].add(number)
    return {}


def _read(states: dict[str, Any], number: int) -> dict[str, Any]:
    return {
        "value": states["value"].value(),
        "list": list(states["list"].get() or ()),
        "map": sorted(states["map"].items()),
        "reducing": states["reducing"].get(),
        "aggregating": states["aggregating"].get(),
    }


def _read_entries(states: dict[str, Any], number: int) -> dict[str, Any]:
    entries = states["map"]
    there = [(n, entries.contains(n), entries.get(n)) for n in range(1, number)]
    return {"map": [there, entries.is_empty(), sorted(entries.keys()), sorted(entries.values())]}


def _replace(states: dict[str, Any], number: int) -> dict[str, Any]:
    states["list"].update([number, number])
    states["map"].put(1, number)
    return {}


def _clear(states: dict[str, Any], number: int) -> dict[str, Any]:
    for state in states.values():
        state.clear()
    return {}


_ACTIONS: dict[str, Callable[[dict[str, Any], int], dict[str, Any]]] = {
    "write": _write,
    "read": _read,
    "entries": _read_entries,
    "replace": _replace,
    "clear": _clear,
}
