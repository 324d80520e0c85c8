"""Timers of triggers, times before 1970, keys of every kind, state that expires."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compare.case import Case, Outcome, Rows, Session, Setting
from compare.packing import by_halves, queries
from compare.themes.time_functions import (
    FOREVER,
    TRIGGERS,
    CountByKey,
    Expires,
    LastField,
    Numbered,
    SumOfAll,
    TellTime,
    TellWindow,
)

if TYPE_CHECKING:
    from pyflink.datastream import DataStream, StreamExecutionEnvironment

_START = [("start", 0, -50000), *[None] * 10]  # and time in which PyFlink starts its workers
_EVENTS = [("a", 1, 1000), ("a", 2, 2500), ("a", 3, 5200), ("a", 4, 4100), ("a", 5, 12000)]
_MERGED = [("a", 1, 1000), ("a", 2, 3500), ("a", 3, 2200), ("a", 4, 9000), ("a", 5, 20000)]
_EARLY = [("a", 1, -12000), ("b", 2, -5000), ("a", 3, -1), ("a", 4, 0), ("b", 5, 2500)]
_WINDOWS = ("tumbling", "sliding", "sessions")
_LIVES = 2400
_STEPS = [  # what to do, and how long to wait before
    (0, "write"),
    (400, "read"),
    (1200, "write"),
    (1400, "read"),  # 2600 after the first, 1400 after the second
    (1400, "entries"),
    (400, "read"),
    (400, "read"),
    (0, "write"),
    (400, "replace"),
    (2200, "read"),
    (1200, "read"),
    (0, "write"),
    (400, "clear"),
    (0, "read"),
]


def cases() -> list[Case]:
    late = ("sets at its end for after", "every second", "keeps count")
    return [
        Case("triggers of windows", _triggered(TRIGGERS, "tumbling", _EVENTS)),
        Case("triggers of sessions", _triggered(TRIGGERS, "sessions", _MERGED)),
        Case(
            "triggers of windows with lateness",
            _triggered({name: TRIGGERS[name] for name in late}, "tumbling", _EVENTS, 3000),
        ),
        Case("sessions that merge", _merged),
        Case("windows before 1970", _early),
        Case("timers before 1970", _timed),
        Case("keys", _keyed),
        Case("time to live", _expire),
        _early_queries(),
    ]


def _step_by_step(session: Session, events: Sequence[tuple[Any, ...]], late: int = 0) -> DataStream:
    """Events with a watermark after each of them; PyFlink sends these by the clock."""
    from pyflink.common import Duration, Types, WatermarkStrategy

    env = session.streams()
    env.get_config().set_auto_watermark_interval(1 if session.is_flink else 0)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(late))
    strategy = strategy.with_timestamp_assigner(LastField())
    kind = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
    spaced = [each for event in events for each in (event, None)]
    stream = _one_a_second(session, env, [*_START, *spaced], kind)
    return stream.assign_timestamps_and_watermarks(strategy)


def _one_a_second(
    session: Session, env: StreamExecutionEnvironment, events: Sequence[Any], kind: Any
) -> DataStream:
    """Events one after the other; PyFlink would take all of a collection in one bundle."""
    from pyflink.table import StreamTableEnvironment

    if not session.is_flink:
        return env.from_collection([event for event in events if event is not None], kind)
    _configure(env, {"python.fn-execution.bundle.time": "10"})
    tables = StreamTableEnvironment.create(env)
    last = len(events) - 1
    tables.execute_sql(
        "CREATE TABLE numbers (i INT) WITH ('connector' = 'datagen', 'rows-per-second' = '1',"
        f" 'fields.i.kind' = 'sequence', 'fields.i.start' = '0', 'fields.i.end' = '{last}')"
    )
    return tables.to_data_stream(tables.from_path("numbers")).flat_map(Numbered(events), kind)


def _configure(env: StreamExecutionEnvironment, options: Mapping[str, str]) -> None:
    from pyflink.common import Configuration

    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(key, value)
    env.configure(configuration)


def _collect(session: Session, streams: Sequence[DataStream]) -> dict[str, list[str]]:
    """What streams of pairs of a name and a text give, by name."""
    found: dict[str, list[str]] = {}
    union = streams[0].union(*streams[1:]) if len(streams) > 1 else streams[0]
    with session.running(), union.execute_and_collect() as records:
        for name, text in records:
            found.setdefault(name, []).append(text)
    return found


def _assigner(kind: str) -> Any:
    from pyflink.common import Time
    from pyflink.datastream import window as windows

    if kind == "sessions":
        return windows.EventTimeSessionWindows.with_gap(Time.seconds(2))
    if kind == "sliding":
        return windows.SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5))
    return windows.TumblingEventTimeWindows.of(Time.seconds(5))


def _triggered(
    triggers: Mapping[str, Callable[[str], Any]],
    kind: str,
    events: Sequence[tuple[Any, ...]],
    lateness: int = 0,
) -> Callable[[Session], Outcome]:
    """The panes that triggers fire, and their calls."""

    def run(session: Session) -> Outcome:
        folder = session.new_folder()
        keyed = _by_text(_step_by_step(session, events, late=1500))
        streams = []
        for name, trigger in triggers.items():
            windowed = keyed.window(_assigner(kind)).trigger(trigger(str(folder / name)))
            windowed = windowed.allowed_lateness(lateness) if lateness else windowed
            streams.append(windowed.process(TellWindow(name)))
        panes = _collect(session, streams)
        outcome: Outcome = {f"{name}, panes": panes[name] for name in triggers}
        return {**outcome, **{f"{name}, calls": _calls(folder / name) for name in triggers}}

    return run


def _merged(session: Session) -> Outcome:
    windowed = _by_text(_step_by_step(session, _MERGED, late=1500)).window(_assigner("sessions"))
    reduced = windowed.reduce(lambda a, b: (a[0], a[1] + b[1], b[2]))
    streams = [
        reduced.map(lambda event: ("reduced", str(event))),
        windowed.aggregate(SumOfAll()).map(lambda total: ("aggregated", str(total))),
    ]
    return dict(_collect(session, streams))


def _calls(file: Path) -> list[str]:
    """The calls of a trigger; windows that merge are cleared in any order."""
    lines = file.read_text(encoding="utf-8").splitlines()
    groups = groupby(lines, key=lambda line: line.split()[0])
    return [
        line for call, group in groups for line in (sorted(group) if call == "clear" else group)
    ]


def _by_text(stream: DataStream) -> Any:
    from pyflink.common import Types

    return stream.key_by(lambda event: event[0], key_type=Types.STRING())


def _early(session: Session) -> Outcome:
    keyed = _by_text(_step_by_step(session, _EARLY))
    streams = [keyed.window(_assigner(kind)).process(TellWindow(kind)) for kind in _WINDOWS]
    return _sorted(_collect(session, streams))


def _timed(session: Session) -> Outcome:
    keyed = _by_text(_step_by_step(session, _EARLY))
    streams = [keyed.process(TellTime(name, *timers)) for name, timers in _TIMERS.items()]
    return _sorted(_collect(session, streams))


def _sorted(found: Mapping[str, list[str]]) -> Outcome:
    """Timers of different keys at the same time fire in any order."""
    return {name: sorted(texts) for name, texts in found.items()}


_TIMERS: dict[str, tuple[Sequence[int], Sequence[int]]] = {
    "before 1970": ((), (1, 1000)),
    "long before 1970": ((-1000000, -(2**62)), ()),
    "at 1970": ((-1, 0, 1), ()),
    "at the end of time": ((FOREVER,), ()),
    "at the beginning of time": ((-(2**63), -(2**63) + 1), ()),
}


def _keyed(session: Session) -> Outcome:
    """Every kind of key in one job, in more where one fails."""
    from pyflink.common import Types, WatermarkStrategy

    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(LastField())

    def together(names: Sequence[str]) -> Outcome:
        env = session.streams()
        kind = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
        events = [("a", 1, 1000), ("b", 2, 2000), ("a", 3, 3000)]
        stream = env.from_collection(events, kind).assign_timestamps_and_watermarks(strategy)
        streams = []
        for name in names:
            choose, declared = _KEYS[name]()
            streams.append(stream.key_by(choose, key_type=declared).process(CountByKey(name)))
        return {name: sorted(texts) for name, texts in _collect(session, streams).items()}

    return by_halves(list(_KEYS), together)


def _types() -> Any:
    from pyflink.common import Types

    return Types


def _row(event: Any) -> Any:
    from pyflink.common import Row

    return Row(event[0], 1)


_KEYS: dict[str, Callable[[], tuple[Callable[[Any], Any], Any]]] = {
    "a list": lambda: (lambda e: [e[0], 1], None),
    "a list with its type": lambda: (lambda e: [e[0]], _types().LIST(_types().STRING())),
    "an array": lambda: (lambda e: [e[0]], _types().BASIC_ARRAY(_types().STRING())),
    "numbers": lambda: (lambda e: [len(e[0]), 2], _types().PRIMITIVE_ARRAY(_types().INT())),
    "objects": lambda: (lambda e: [e[0]], _types().OBJECT_ARRAY(_types().STRING())),
    "a list in a tuple": lambda: (lambda e: (e[0], [1]), None),
    "a dict": lambda: (lambda e: {e[0]: 1}, None),
    "a map": lambda: (lambda e: {e[0]: 1}, _types().MAP(_types().STRING(), _types().INT())),
    "a set": lambda: (lambda e: {e[0]}, None),
    "a row": lambda: (_row, _types().ROW([_types().STRING(), _types().INT()])),
    "a row without its type": lambda: (_row, None),
    "a tuple": lambda: (lambda e: (e[0], 1), _types().TUPLE([_types().STRING(), _types().INT()])),
    "bytes": lambda: (lambda e: e[0].encode(), _types().PRIMITIVE_ARRAY(_types().BYTE())),
    "a float": lambda: (lambda e: float(e[1] % 2), _types().FLOAT()),
    "a bool": lambda: (lambda e: e[1] > 2, _types().BOOLEAN()),
    "None": lambda: (lambda e: None, None),
    "None with a type": lambda: (lambda e: None, _types().STRING()),
    "a number for a text": lambda: (lambda e: e[1] % 2, _types().STRING()),
}


def _expire(session: Session) -> Outcome:
    """State with a time to live, without PyFlink's cache, which would go on giving it."""
    from pyflink.common import Types

    env = session.streams()
    _configure(env, {"python.fn-execution.bundle.size": "1", "python.state.cache-size": "0"})
    kind = Types.TUPLE([Types.STRING(), Types.INT(), Types.INT(), Types.STRING()])
    steps = [("a", number, pause, what) for number, (pause, what) in enumerate(_STEPS, 1)]
    keyed = _by_text(env.from_collection(steps, kind))
    return dict(_collect(session, [keyed.process(Expires(_LIVES))]))


def _early_queries() -> Case:
    times = ("1969-12-31 23:59:48", "1969-12-31 23:59:55", "1970-01-01 00:00:00")
    lines = tuple(f"{number},{text}" for number, text in enumerate(times, 1))
    column = "ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE"
    table = Rows("t", f"a INT, {column}", lines)
    shapes = {
        "TUMBLE": "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)",
        "HOP": "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)",
        "CUMULATE": "CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)",
        "SESSION": "SESSION(TABLE t, DESCRIPTOR(ts), INTERVAL '6' SECOND)",
    }
    texts = {
        name: "SELECT window_start AS ws, window_end AS we, COUNT(*) AS n, MIN(a) AS a"
        f" FROM TABLE({shape}) GROUP BY window_start, window_end"
        for name, shape in shapes.items()
    }
    return queries("windows of SQL before 1970", texts, Setting((table,)), final=True)
