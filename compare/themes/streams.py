"""DataStream programs: operators, state, timers, windows, side outputs."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from compare.case import BATCH, STREAMING, Case, Outcome, Session
from compare.describing import describe
from compare.themes.stream_functions import (
    AGGREGATES,
    CO_PROCESSES,
    PROCESSES,
    Largest,
    SecondField,
    SplitByParity,
    SumByWindow,
    TellBroadcast,
    TellRules,
)

if TYPE_CHECKING:
    from pyflink.datastream import DataStream, KeyedStream, StreamExecutionEnvironment

_EVENTS = [("a", 1, 1000), ("b", 5, 2000), ("a", 3, 3000), ("a", 2, 12000), ("b", 7, 11000)]


_CORE = frozenset(
    (
        "sum",
        "sliding",
        "sessions",
        "side output",
        "connected",
        "float for INT",
        "list state, streaming",
        "map state, streaming",
        "event timers, streaming",
        "timers of timers, streaming",
        "broadcast state, in batch mode",
        "two inputs, in batch mode",
        "what a key has seen, in batch mode",
    )
)
"""One or two of each kind, for the test suite."""


def cases() -> list[Case]:
    found = []
    for name, build in (_PLAIN | _KEYED | _WINDOWED | _JOINED).items():
        found.append(Case(name, _collect(build, STREAMING)))
    for name, function in PROCESSES.items():
        found.append(Case(f"{name}, streaming", _collect(_processed(function), STREAMING)))
    for name, function in AGGREGATES.items():
        found.append(Case(f"{name} over windows", _collect(_aggregated(function), STREAMING)))
    found += [Case(name, run) for name, run in _ERRORS.items()]
    for name, build in {**_KEYED, **_BY_TIME}.items():
        found.append(Case(f"{name}, in batch mode", _collect(build, BATCH)))
    for name, function in PROCESSES.items():
        found.append(Case(f"{name}, batch", _collect(_processed(function), BATCH)))
    # The last ones: some of these never end in PyFlink.
    for name, build in _WINDOWED.items():
        found.append(Case(f"{name}, in batch mode", _collect(build, BATCH)))
    return [replace(case, core=case.name in _CORE) for case in found]


def _collect(
    build: Callable[[StreamExecutionEnvironment], DataStream], mode: str
) -> Callable[[Session], Outcome]:
    def run(session: Session) -> Outcome:
        stream = build(session.streams(mode))
        with session.running(), stream.execute_and_collect() as records:
            return {"records": sorted(describe(record) for record in records)}

    return run


def _numbers(env: StreamExecutionEnvironment) -> DataStream:
    from pyflink.common import Types

    return env.from_collection([1, 2, 3, 4, 5, 6], Types.INT())


def _events(env: StreamExecutionEnvironment) -> DataStream:
    from pyflink.common import Types, WatermarkStrategy

    kind = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_collection(_EVENTS, kind).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(SecondField())
    )


def _keyed(env: StreamExecutionEnvironment) -> KeyedStream:
    from pyflink.common import Types

    return _events(env).key_by(lambda event: event[0], key_type=Types.STRING())


def _processed(function: Callable[[], Any]) -> Callable[[StreamExecutionEnvironment], DataStream]:
    return lambda env: _keyed(env).process(function())


def _aggregated(function: Callable[[], Any]) -> Callable[[StreamExecutionEnvironment], DataStream]:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        return _tumbling(env).aggregate(function())

    return build


def _tumbling(env: StreamExecutionEnvironment) -> Any:
    from pyflink.common import Time
    from pyflink.datastream.window import TumblingEventTimeWindows

    return _keyed(env).window(TumblingEventTimeWindows.of(Time.seconds(5)))


def _window(name: str, *arguments: int) -> Callable[[StreamExecutionEnvironment], DataStream]:
    """Windows of an assigner by name, with times in seconds; what each holds is told."""

    def build(env: StreamExecutionEnvironment) -> DataStream:
        from pyflink.common import Time
        from pyflink.datastream import window as windows

        times = [Time.seconds(seconds) for seconds in arguments]
        assigner = getattr(windows, name)
        chosen = assigner.with_gap(*times) if "Session" in name else assigner.of(*times)
        return _keyed(env).window(chosen).process(SumByWindow())

    return build


def _counted(size: int, slide: int = 0) -> Callable[[StreamExecutionEnvironment], DataStream]:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        windowed = (
            _keyed(env).count_window(size, slide) if slide else _keyed(env).count_window(size)
        )
        return windowed.process(SumByWindow())

    return build


def _with_trigger(env: StreamExecutionEnvironment) -> DataStream:
    from pyflink.datastream.window import CountTrigger

    return _tumbling(env).trigger(CountTrigger.of(1)).process(SumByWindow())


def _with_purging(env: StreamExecutionEnvironment) -> DataStream:
    from pyflink.datastream.window import CountTrigger, PurgingTrigger

    return _tumbling(env).trigger(PurgingTrigger.of(CountTrigger.of(1))).process(SumByWindow())


def _of_all(env: StreamExecutionEnvironment) -> DataStream:
    from pyflink.common import Time
    from pyflink.datastream.window import TumblingEventTimeWindows

    windows = _events(env).window_all(TumblingEventTimeWindows.of(Time.seconds(5)))
    return windows.reduce(lambda a, b: (a[0] + b[0], a[1] + b[1], max(a[2], b[2])))


def _split(env: StreamExecutionEnvironment) -> DataStream:
    from pyflink.common import Types
    from pyflink.datastream import OutputTag

    tag = OutputTag("odd", Types.INT())
    kept = _numbers(env).process(SplitByParity(), Types.INT())
    return kept.map(lambda x: x * 10, Types.INT()).union(kept.get_side_output(tag))


def _connected(env: StreamExecutionEnvironment) -> DataStream:
    from pyflink.common import Types

    texts = env.from_collection(["a", "b"], Types.STRING())
    return _numbers(env).connect(texts).map(CO_PROCESSES["map"](), Types.STRING())


def _connected_by_key(env: StreamExecutionEnvironment) -> DataStream:
    from pyflink.common import Types

    others = env.from_collection([("a", 100), ("c", 1)], Types.TUPLE([Types.STRING(), Types.INT()]))
    connected = _keyed(env).connect(others.key_by(lambda pair: pair[0], Types.STRING()))
    return connected.process(CO_PROCESSES["process"](), Types.STRING())


def _broadcast(env: StreamExecutionEnvironment) -> DataStream:
    from pyflink.common import Types
    from pyflink.datastream.state import MapStateDescriptor

    rules = MapStateDescriptor("rules", Types.STRING(), Types.INT())
    none = env.from_collection([("x", 1)], Types.TUPLE([Types.STRING(), Types.INT()]))
    return _numbers(env).connect(none.broadcast(rules)).process(TellBroadcast(rules))


def _broadcast_first(env: StreamExecutionEnvironment) -> DataStream:
    from pyflink.common import Types
    from pyflink.datastream.state import MapStateDescriptor

    rules = MapStateDescriptor("rules", Types.STRING(), Types.INT())
    kind = Types.TUPLE([Types.STRING(), Types.INT()])
    some = env.from_collection([("x", 1), ("y", 2)], kind)
    return _numbers(env).connect(some.broadcast(rules)).process(TellRules(rules))


def _merged_by_time(env: StreamExecutionEnvironment) -> DataStream:
    connected = _keyed(env).connect(_keyed(env))
    return connected.process(CO_PROCESSES["order"]())


def _partitioned(method: str) -> Callable[[StreamExecutionEnvironment], DataStream]:
    return lambda env: getattr(_numbers(env), method)().map(lambda x: x + 1)


def _bare_tuples(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([("a", 1), ("b", 2)]).map(lambda pair: (pair[1], pair[0]))


def _rows(env: StreamExecutionEnvironment) -> DataStream:
    from pyflink.common import Row, Types

    kind = Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()])
    return _numbers(env).map(lambda x: Row(x=x, y=str(x)), kind)


def _projected(env: StreamExecutionEnvironment) -> DataStream:
    return _events(env).project(1, 0)


def _typed(kind: str, value: Any) -> Callable[[StreamExecutionEnvironment], DataStream]:
    """What becomes of a value that is not of the declared type."""

    def build(env: StreamExecutionEnvironment) -> DataStream:
        from pyflink.common import Types

        return _numbers(env).map(lambda _: value, getattr(Types, kind)())

    return build


def _field(method: str, *arguments: Any) -> Callable[[StreamExecutionEnvironment], DataStream]:
    return lambda env: getattr(_keyed(env), method)(*arguments)


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "map": lambda env: _numbers(env).map(lambda x: x * 2),
    "map to a tuple": lambda env: _numbers(env).map(lambda x: (x, str(x))),
    "flat_map": lambda env: _numbers(env).flat_map(lambda x: range(x % 3)),
    "flat_map to None": lambda env: _numbers(env).flat_map(lambda x: [None] if x == 1 else []),
    "filter": lambda env: _numbers(env).filter(lambda x: x > 3),
    "map to None": lambda env: _numbers(env).map(lambda x: None),
    "union": lambda env: _numbers(env).union(_numbers(env)),
    "union with itself": lambda env: (lambda s: s.union(s))(_numbers(env)),
    "bare tuples": _bare_tuples,
    "rows": _rows,
    "project": _projected,
    "text for INT": _typed("INT", "a"),
    "float for INT": _typed("INT", 1.5),
    "int for STRING": _typed("STRING", 1),
    "int for DOUBLE": _typed("DOUBLE", 1),
    "too large for BYTE": _typed("BYTE", 300),
    "bool for INT": _typed("INT", True),
    "Decimal for INT": _typed("INT", Decimal("2.7")),
    "infinity for INT": _typed("INT", float("inf")),
    "float for LONG": _typed("LONG", -1.9),
    "int for BOOLEAN": _typed("BOOLEAN", 2),
    "fraction for BOOLEAN": _typed("BOOLEAN", 0.5),
    "large int for BOOLEAN": _typed("BOOLEAN", 256),
    "text for BOOLEAN": _typed("BOOLEAN", "a"),
    "bool for DOUBLE": _typed("DOUBLE", True),
    "text for DOUBLE": _typed("DOUBLE", "1"),
    "int for FLOAT": _typed("FLOAT", 1),
    "int for BIG_DEC": _typed("BIG_DEC", 1),
    "float for BIG_INT": _typed("BIG_INT", 1.5),
    "datetime for SQL_DATE": _typed("SQL_DATE", datetime.datetime(2020, 2, 29, 1)),
    "a sequence": lambda env: env.from_collection(range(3)),
    "mixed values": lambda env: env.from_collection([1, "a", None, [1]]),
    **{m: _partitioned(m) for m in ("rebalance", "rescale", "shuffle", "forward", "broadcast")},
    "side output": _split,
}
_KEYED: dict[str, Callable[[Any], Any]] = {
    "reduce": lambda env: _keyed(env).reduce(lambda a, b: (a[0], a[1] + b[1], b[2])),
    "sum": _field("sum", 1),
    "min": _field("min", 1),
    "max": _field("max", 1),
    "min_by": _field("min_by", 1),
    "max_by": _field("max_by", 1),
    "sum of a text": _field("sum", 0),
    "sum by a wrong field": _field("sum", 7),
    "keyed map": lambda env: _keyed(env).map(lambda event: event[1]),
    "keyed filter": lambda env: _keyed(env).filter(lambda event: event[1] > 2),
    "a key of a tuple": lambda env: (
        _events(env).key_by(lambda e: (e[0], e[1] % 2)).reduce(lambda a, b: b)
    ),
    "a key of a list": lambda env: _events(env).key_by(lambda e: [e[0]]).reduce(lambda a, b: b),
    "a key that is None": lambda env: _events(env).key_by(lambda e: None).reduce(lambda a, b: b),
    "a keyed stream itself": _keyed,
}
_WINDOWED: dict[str, Callable[[Any], Any]] = {
    "tumbling": _window("TumblingEventTimeWindows", 5),
    "tumbling with offset": _window("TumblingEventTimeWindows", 5, 2),
    "sliding": _window("SlidingEventTimeWindows", 10, 5),
    "sliding with offset": _window("SlidingEventTimeWindows", 10, 5, 1),
    "sessions": _window("EventTimeSessionWindows", 5),
    "sessions that touch": _window("EventTimeSessionWindows", 2),
    "counted": _counted(2),
    "counted sliding": _counted(2, 1),
    "with a trigger": _with_trigger,
    "with a purging trigger": _with_purging,
    "of all keys": _of_all,
}
_BY_TIME: dict[str, Callable[[Any], Any]] = {
    "broadcast state": _broadcast_first,
    "two inputs": _merged_by_time,
    "what a key has seen": lambda env: (
        _events(env).key_by(lambda e: 1).reduce(lambda a, b: (a[0] + b[0], a[1], b[2]))
    ),
}
_JOINED: dict[str, Callable[[Any], Any]] = {
    "connected": _connected,
    "connected by key": _connected_by_key,
    "broadcast state": _broadcast,
}


def _refused(action: Callable[[StreamExecutionEnvironment], Any]) -> Callable[[Session], Outcome]:
    def run(session: Session) -> Outcome:
        action(session.streams())
        return {"accepted": "yes"}

    return run


def _fails(_value: Any) -> Any:
    raise ValueError("no")


_ERRORS: dict[str, Callable[[Session], Outcome]] = {
    "a function that fails": _collect(lambda env: _numbers(env).map(_fails), STREAMING),
    "map of no function": _refused(lambda env: _numbers(env).map(5)),
    "filter of no function": _refused(lambda env: _numbers(env).filter("a")),
    "key_by of no function": _refused(lambda env: _numbers(env).key_by(0)),
    "process of a map function": _refused(lambda env: _numbers(env).process(lambda x: x)),
    "an empty collection": _refused(lambda env: env.from_collection([])),
    "parallelism of zero": _refused(lambda env: _numbers(env).map(lambda x: x).set_parallelism(0)),
    "a name": _refused(lambda env: _numbers(env).name("x").uid("y")),
    "the same uid twice": _collect(
        lambda env: _numbers(env).map(lambda x: x).uid("u").map(lambda x: x).uid("u"), STREAMING
    ),
    "no sink": _refused(lambda env: env.execute()),
    "flat_map of no iterable": _collect(lambda env: _numbers(env).flat_map(lambda x: 5), STREAMING),
    "largest": _collect(lambda env: _keyed(env).process(Largest()), STREAMING),
}
