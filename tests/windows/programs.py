"""Random windowed programs: as data, as what the oracle takes, and as headrace jobs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from hypothesis import strategies as st

from headrace.common import Time, Types
from headrace.datastream import AggregateFunction, DataStream, ProcessWindowFunction, WindowFunction
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
)
from tests.windows.oracle import GLOBAL, Pane, Part, Record, Spec, dynamic_gap
from tests.windows.scripted_jobs import LATE, Advance, Script, Send

FUNCTIONS = (
    "reduce", "reduce and process", "aggregate", "aggregate and process", "apply", "process",
    "process with state",
)  # fmt: skip
MicroBatch = tuple[Record | int, ...]


@dataclass(frozen=True)
class Program:
    """What is done with which input; a micro-batch holds records and ends with a watermark."""

    spec: Spec
    function: str
    late_output: bool
    micro_batches: tuple[MicroBatch, ...]

    @property
    def order_is_open(self) -> bool:
        """Whether a window may combine records in another order than they came in.

        In which order sessions are put together nobody says; and an aggregate over sliding
        windows is put together slice by slice.
        """
        spec = self.spec
        sliced = self.function.startswith("aggregate") and spec.assigner[0] == "sliding"
        by_default = spec.trigger == ("default",) and not spec.purging and spec.evictor is None
        return spec.merges or (sliced and by_default)

    def steps(self) -> list[Record | int]:
        return [step for batch in self.micro_batches for step in batch]

    def records(self) -> list[Record]:
        return [step for step in self.steps() if isinstance(step, Record)]

    def script(self, *, cut: bool = True) -> Script:
        """The program as a part of a job; without `cut` all its records come at once."""
        batches = self.micro_batches if cut else (tuple(self.records()),)
        steps = [[_step(step) for step in batch] for batch in batches]
        return Script(steps, partial(windowed, self))

    def script_in_one_piece(self) -> Script:
        """The same steps in one micro-batch, for a job whose watermarks follow each record."""
        return Script([[_step(step) for step in self.steps()], []], partial(windowed, self))

    def result(self, pane: Pane) -> tuple[Any, int]:
        """The record that tells of a pane, and its timestamp."""
        numbers = _ordered(pane.numbers, self.order_is_open)
        window = None if pane.window == GLOBAL else pane.window
        told: dict[str, Any] = {
            "reduce": (pane.key, numbers),
            "aggregate": numbers,
            "apply": (pane.key, window, numbers),
            "process with state": (pane.key, window, numbers, pane.watermark, pane.evaluation),
        }
        return told.get(self.function, (pane.key, window, numbers, pane.watermark)), pane.timestamp

    def settled(self, value: Any) -> Any:
        """A job's record in the form of `result`: what a reduction gives has no defined order."""
        if self.function == "reduce":
            return value[0], _ordered(value[1], self.order_is_open)
        return value


def _step(step: Record | int) -> Send | Advance:
    if isinstance(step, Record):
        return Send((step.key, (step.number,)), step.time)
    return Advance(step)


# What programs there are.


def programs() -> st.SearchStrategy[Program]:
    return specs().flatmap(_with_spec)


def _with_spec(spec: Spec) -> st.SearchStrategy[Program]:
    # State of a window that may be merged away is refused; that is a test of its own.
    functions = [name for name in FUNCTIONS if not (spec.merges and name.endswith("with state"))]
    return st.builds(
        Program, st.just(spec), st.sampled_from(functions), st.booleans(), micro_batches()
    )


def specs() -> st.SearchStrategy[Spec]:
    """Assigners with the triggers and evictors whose results Flink defines for them."""
    fixed = st.builds(
        Spec, st.one_of(_tumbling(), _sliding()), _trigger(merging=False), st.booleans(),
        st.one_of(st.none(), _evictor("count", "time")), _lateness(),
    )  # fmt: skip
    sessions = st.builds(
        Spec, _session(), _trigger(merging=True), st.booleans(),
        st.one_of(st.none(), _evictor("time")), _lateness(),
    )  # fmt: skip
    endless = st.builds(
        Spec, st.just(("global",)), _counting(), st.booleans(),
        st.one_of(st.none(), _evictor("count", "time")),
    )  # fmt: skip
    return st.one_of(fixed, sessions, endless)


def _tumbling() -> st.SearchStrategy[Part]:
    return st.integers(1, 20).flatmap(
        lambda size: st.tuples(
            st.just("tumbling"), st.just(size), st.integers(1 - size, size - 1)
        )
    )  # fmt: skip


def _sliding() -> st.SearchStrategy[Part]:
    return st.integers(1, 10).flatmap(
        lambda slide: st.tuples(
            st.just("sliding"), st.integers(1, 25), st.just(slide),
            st.integers(1 - slide, slide - 1),
        )
    )  # fmt: skip


def _session() -> st.SearchStrategy[Part]:
    fixed_gap = st.tuples(st.just("session"), st.integers(1, 10))
    return st.one_of(fixed_gap, st.just(("dynamic session",)))


def _counting() -> st.SearchStrategy[Part]:
    kinds = st.sampled_from(("count", "delta"))
    return st.tuples(kinds, st.integers(1, 5))


def _trigger(*, merging: bool) -> st.SearchStrategy[Part]:
    kinds = ["count", "continuous"] + ([] if merging else ["delta"])
    other = st.tuples(st.sampled_from(kinds), st.integers(1, 5))
    return st.one_of(st.just(("default",)), other)


def _evictor(*kinds: str) -> st.SearchStrategy[Part]:
    return st.tuples(st.sampled_from(kinds), st.integers(1, 8), st.booleans())


def _lateness() -> st.SearchStrategy[int]:
    return st.one_of(st.just(0), st.integers(1, 15))


def micro_batches() -> st.SearchStrategy[tuple[MicroBatch, ...]]:
    record = st.builds(
        Record, st.sampled_from(("a", "b", "c")), st.integers(0, 9), st.integers(0, 60)
    )
    batch = st.tuples(st.lists(record, max_size=5), st.none() | st.integers(-5, 70))
    cut = batch.map(lambda pair: (*pair[0], *(() if pair[1] is None else (pair[1],))))
    return st.lists(cut, min_size=1, max_size=7).map(_with_time_going_forward)


def _with_time_going_forward(batches: Iterable[MicroBatch]) -> tuple[MicroBatch, ...]:
    """Watermarks that go back are none: a stream's event time never does.

    The first one comes before any record, for until then a script's watermark trails far behind.
    The last micro-batch is empty: with the end of the input event time comes to its own end.
    """
    newest = -6
    kept: list[MicroBatch] = [(newest,)]
    for batch in batches:
        going_forward = []
        for step in batch:
            if isinstance(step, Record):
                going_forward.append(step)
            elif step > newest:
                newest = step
                going_forward.append(step)
        kept.append(tuple(going_forward))
    return (*kept, ())


# The same in headrace. A record is (key, (number,)), so that results show the order of records.


def windowed(program: Program, records: DataStream) -> DataStream:
    spec = program.spec
    stream = records.key_by(lambda record: record[0]).window(_assigner(spec.assigner))
    if spec.purging:
        stream = stream.trigger(PurgingTrigger.of(_made_trigger(spec.trigger)))
    elif spec.trigger != ("default",):
        stream = stream.trigger(_made_trigger(spec.trigger))
    if spec.evictor is not None:
        stream = stream.evictor(_made_evictor(spec.evictor))
    if spec.lateness:
        stream = stream.allowed_lateness(spec.lateness)
    if program.late_output:
        stream = stream.side_output_late_data(LATE)
    any_order = program.order_is_open
    match program.function:
        case "reduce":
            return stream.reduce(joined)
        case "reduce and process":
            return stream.reduce(joined, window_function=Tell(any_order))
        case "aggregate":
            return stream.aggregate(Gather(any_order))
        case "aggregate and process":
            return stream.aggregate(Gather(any_order), window_function=Tell(any_order))
        case "apply":
            return stream.apply(Apply(any_order))
        case "process":
            return stream.process(Tell(any_order))
        case _:
            return stream.process(TellWithState(any_order))


def joined(one: Any, other: Any) -> Any:
    return one[0], one[1] + other[1]


def _ordered(numbers: tuple[int, ...], any_order: bool) -> tuple[int, ...]:
    return tuple(sorted(numbers)) if any_order else numbers


class Gather(AggregateFunction):
    """An accumulator that is changed in place, as user code often does."""

    def __init__(self, any_order: bool):
        self._any_order = any_order

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        accumulator.extend(value[1])
        return accumulator

    def get_result(self, accumulator: list[int]) -> tuple[int, ...]:
        return _ordered(tuple(accumulator), self._any_order)

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        a.extend(b)
        return a


class Tell(ProcessWindowFunction[Any, Any, str, Any]):
    """Key, window, numbers and watermark of each evaluation."""

    def __init__(self, any_order: bool):
        self._any_order = any_order

    def process(self, key: str, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        numbers = _ordered(_numbers(elements), self._any_order)
        yield key, _bounds(context.window()), numbers, context.current_watermark()


class TellWithState(Tell):
    """The same, and how often the window was evaluated before, from a state of the window."""

    _TIMES = ValueStateDescriptor("evaluations", Types.LONG())

    def process(self, key: str, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        times = context.window_state().get_state(self._TIMES)
        before = times.value() or 0
        times.update(before + 1)
        in_all = context.global_state().get_state(self._TIMES)
        in_all.update((in_all.value() or 0) + 1)
        assert in_all.value() > before
        for told in super().process(key, context, elements):
            yield *told, before

    def clear(self, context: Any) -> None:
        context.window_state().get_state(self._TIMES).clear()


class Apply(WindowFunction[Any, Any, str, Any]):
    def __init__(self, any_order: bool):
        self._any_order = any_order

    def apply(self, key: str, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return [(key, _bounds(window), _ordered(_numbers(inputs), self._any_order))]


def _numbers(elements: Iterable[Any]) -> tuple[int, ...]:
    """Of records, of a reduced record or of an aggregate's result."""
    found: tuple[int, ...] = ()
    for element in elements:
        found += element[1] if element and isinstance(element[0], str) else element
    return found


def _bounds(window: Any) -> tuple[int, int] | None:
    return None if isinstance(window, GlobalWindow) else (window.start, window.end)


class _Gap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return dynamic_gap(element[1][0])


def _distance(one: Any, other: Any) -> float:
    return float(abs(one[1][0] - other[1][0]))


def _assigner(part: Part) -> Any:
    times = [Time.milliseconds(number) for number in part[1:]]
    match part[0]:
        case "tumbling":
            return TumblingEventTimeWindows.of(*times)
        case "sliding":
            return SlidingEventTimeWindows.of(*times)
        case "session":
            return EventTimeSessionWindows.with_gap(*times)
        case "dynamic session":
            return EventTimeSessionWindows.with_dynamic_gap(_Gap())
        case _:
            return GlobalWindows.create()


def _made_trigger(part: Part) -> Any:
    match part:
        case ("default",):
            return EventTimeTrigger.create()
        case ("count", limit):
            return CountTrigger.of(limit)
        case ("continuous", interval):
            return ContinuousEventTimeTrigger.of(Time.milliseconds(interval))
        case (_, threshold):
            return DeltaTrigger.of(threshold, _distance)
    raise AssertionError(part)


def _made_evictor(part: Part) -> Any:
    match part:
        case ("count", limit, after):
            return CountEvictor.of(limit, after)
        case (_, span, after):
            return TimeEvictor.of(Time.milliseconds(span), after)
    raise AssertionError(part)
