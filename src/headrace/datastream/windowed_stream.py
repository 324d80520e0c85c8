"""Streams divided into windows, and what can be done with each window."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Self

from headrace.core.evictors import Evictor
from headrace.core.functions import (
    AggregateFunction,
    Function,
    NullByteKeySelector,
    ReduceFunction,
)
from headrace.core.output_tag import OutputTag
from headrace.core.time import Duration, Time
from headrace.core.triggers import QuietTrigger, Trigger
from headrace.core.types import RowTypeInfo, TypeInformation
from headrace.core.window_assigners import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
)
from headrace.core.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from headrace.core.windows import (
    MergingWindowAssigner,
    WindowAssigner,
    milliseconds,
    whole_number,
)
from headrace.datastream.checks import function_or_callable, instance_of, type_info
from headrace.errors import InvalidArgument, InvalidGraph, TypeMismatch
from headrace.operators.rolling import RollingAggregate
from headrace.operators.windows import (
    Aggregating,
    Contents,
    Listing,
    Reducing,
    window_operator,
)
from headrace.origin import calling_origin

if TYPE_CHECKING:
    from headrace.datastream.keyed_stream import KeyedStream
    from headrace.datastream.stream import DataStream
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment

__all__ = ["AllWindowedStream", "WindowedStream"]


class _Called(WindowFunction[Any, Any, Any, Any]):
    """A plain function of key, window and records."""

    def __init__(self, call: Callable[[Any, Any, Iterable[Any]], Iterable[Any]]):
        self.call = call

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return self.call(key, window, inputs)


class _CalledForAll(AllWindowFunction[Any, Any, Any]):
    """A plain function of window and records."""

    def __init__(self, call: Callable[[Any, Iterable[Any]], Iterable[Any]]):
        self.call = call

    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        return self.call(window, inputs)


class _Windows(ABC):
    """What keyed and non-keyed windows have in common: all but the kinds of their functions."""

    _apply_kind: ClassVar[type[Function]]
    _process_kind: ClassVar[type[Function]]
    _called: ClassVar[type[_Called] | type[_CalledForAll]]
    _label: ClassVar[str]
    _parallel = True

    def __init__(self, keyed_stream: KeyedStream, window_assigner: Any):
        self._keyed_stream = keyed_stream
        self._assigner: WindowAssigner[Any, Any] = instance_of(
            window_assigner, WindowAssigner, "window",
            "Use for instance TumblingEventTimeWindows.of(Time.seconds(10)).",
        )  # fmt: skip
        self._trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor[Any, Any] | None = None
        self._lateness_ms = 0
        self._late_tag: OutputTag | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        return self._keyed_stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """The type of the records in the windows."""
        return self._keyed_stream.get_type()

    # When windows fire, and what becomes of late records.

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """Decide when windows fire, in place of the assigner's own trigger."""
        checked: Trigger[Any, Any] = instance_of(
            trigger, Trigger, "trigger", "Use for instance CountTrigger.of(100)."
        )
        self._check_merging(checked)
        self._trigger = checked
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """Take records out of a window when it fires, before or after its function sees them.

        All records of a window are kept then: nothing can be aggregated as they come.
        """
        self._evictor = instance_of(
            evictor, Evictor, "evictor", "Use for instance CountEvictor.of(100)."
        )
        return self

    def allowed_lateness(self, time_ms: int | Time | Duration) -> Self:
        """Keep windows for so long after their end; a record that is late by less fires them
        again. Windows of processing time know no lateness."""
        what = "the allowed lateness"
        known = isinstance(time_ms, Time | Duration)
        lateness = milliseconds(time_ms, what) if known else whole_number(time_ms, what)
        if lateness < 0:
            raise InvalidArgument(
                f"the allowed lateness is {lateness} ms, but cannot be negative",
                origin=calling_origin(), hint="0, the default, drops a window when it ends.",
            )  # fmt: skip
        self._lateness_ms = lateness
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Send records that are too late for every window to a side output, instead of only
        counting them."""
        self._late_tag = instance_of(
            output_tag, OutputTag, "side_output_late_data", 'Write OutputTag("late-data").'
        )
        return self

    # What is done with the records of a window.

    def reduce(
        self, reduce_function: Callable[[Any, Any], Any] | ReduceFunction,
        window_function: Any = None, output_type: TypeInformation | None = None,
    ) -> DataStream:  # fmt: skip
        """Combine the records of each window as they come.

        A window function is given the one combined record, and the window.
        """
        function = function_or_callable(reduce_function, ReduceFunction, "reduce")
        reduce = function.reduce if isinstance(function, ReduceFunction) else function
        declared = type_info(output_type, "reduce")
        if window_function is None and declared is None:
            declared = self._input_node_type()
        return self._result(
            Reducing(reduce), self._optional(window_function, "reduce"), declared,
            function, window_function,
        )  # fmt: skip

    def aggregate(
        self, aggregate_function: AggregateFunction, window_function: Any = None,
        accumulator_type: TypeInformation | list[TypeInformation] | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:  # fmt: skip
        """Aggregate the records of each window as they come.

        A window function is given the one result, and the window.
        """
        function = instance_of(
            aggregate_function, AggregateFunction, "aggregate",
            "For a plain function of two records use reduce(...).",
        )  # fmt: skip
        if isinstance(accumulator_type, list):
            accumulator_type = RowTypeInfo(accumulator_type)
        type_info(accumulator_type, "aggregate")
        return self._result(
            Aggregating(function), self._optional(window_function, "aggregate"),
            type_info(output_type, "aggregate"), function, window_function,
        )  # fmt: skip

    def apply(self, window_function: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Hand all records of a window that fires to a window function."""
        plain = _is_plain(window_function)
        function: Function = (
            self._called(window_function) if plain
            else self._of_kind(window_function, "apply", self._apply_kind)
        )  # fmt: skip
        return self._result(Listing(), function, type_info(output_type, "apply"), window_function)

    def process(
        self, process_window_function: Any, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Hand all records of a window that fires to a function with state and the clocks."""
        function = self._of_kind(process_window_function, "process", self._process_kind)
        return self._result(Listing(), function, type_info(output_type, "process"), function)

    # One field of the records.

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """The sum of one field; the others are those of the window's first record."""
        return self._rolling("sum", position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """The minimum of one field; the others are those of the window's first record."""
        return self._rolling("min", position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """The maximum of one field; the others are those of the window's first record."""
        return self._rolling("max", position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """The record with the smallest field; of equals, the first."""
        return self._rolling("min_by", position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """The record with the largest field; of equals, the first."""
        return self._rolling("max_by", position_to_max_by)

    def _rolling(self, kind: str, position: int | str) -> DataStream:
        if isinstance(position, bool) or not isinstance(position, int | str):
            raise TypeMismatch(
                f"{kind}() needs the position or the name of a field, not {position!r}",
                origin=calling_origin(), hint=f'Write {kind}(1) or {kind}("amount").',
            )  # fmt: skip
        return self.reduce(RollingAggregate(kind, position))

    # Making the node.

    def _input_node_type(self) -> TypeInformation | None:
        return self._keyed_stream.builder[self._keyed_stream.node_id].type

    def _result(
        self, contents: Contents, function: Function | None,
        declared: TypeInformation | None, *described: Any,
    ) -> DataStream:  # fmt: skip
        trigger = self._trigger
        if trigger is None:
            trigger = self._assigner.get_default_trigger(self.get_execution_environment())
            if type(trigger).on_merge is QuietTrigger.on_merge:
                self._check_merging(trigger)  # as in PyFlink, one that has an own on_merge may
        tag = self._late_tag
        operator = window_operator(
            self._assigner, trigger=trigger, evictor=self._evictor,
            lateness_ms=self._lateness_ms, late_tag=None if tag is None else tag.tag_id,
            contents=contents, function=function,
        )  # fmt: skip
        stream = self._keyed_stream._then(type(self._assigner).__name__, operator, declared)
        if tag is not None:
            stream._late_types[tag.tag_id] = self._input_node_type()
        names = [type(part).__name__ for part in (trigger, *described) if part is not None]
        stream.set_description(f"{self._label}({self._assigner!r}, {', '.join(names)})")
        return stream if self._parallel else stream.force_non_parallel()

    def _check_merging(self, trigger: Trigger[Any, Any]) -> None:
        if isinstance(self._assigner, MergingWindowAssigner) and not trigger.can_merge():
            raise InvalidGraph(
                f"{trigger!r} cannot be used with {type(self._assigner).__name__}: "
                "the windows merge, and the trigger does not know how to",
                origin=calling_origin(),
                hint="Use a trigger whose can_merge() is true and that has an on_merge().",
            )

    def _optional(self, function: Any, method: str) -> Function | None:
        """A window function after a reduction or an aggregation, if there is one."""
        if function is None:
            return None
        if _is_plain(function):
            return self._called(function)
        return self._of_kind(function, method, self._apply_kind, self._process_kind)

    def _of_kind(self, function: Any, method: str, *kinds: type[Function]) -> Function:
        if isinstance(function, kinds):
            return function
        wanted = " or ".join(kind.__name__ for kind in kinds)
        shown = repr(function)
        if isinstance(function, type):
            shown, hint = f"the class {function.__name__}", f"Write {function.__name__}()."
        elif isinstance(function, self._apply_kind):
            hint = "Use apply(...) for it."
        elif isinstance(function, self._process_kind):
            hint = "Use process(...) for it."
        elif isinstance(function, WindowFunction | ProcessWindowFunction):
            hint = "Its records have a key: use key_by(...).window(...)."
        elif isinstance(function, AllWindowFunction | ProcessAllWindowFunction):
            hint = "Its records have no key: use window_all(...) on a stream without keys."
        else:
            hint = f"Subclass {wanted}."
        raise TypeMismatch(
            f"{method}() needs a {wanted}, not {shown}", origin=calling_origin(), hint=hint
        )


class WindowedStream(_Windows):
    """A keyed stream in windows: each key's records are grouped by window."""

    _apply_kind = WindowFunction
    _process_kind = ProcessWindowFunction
    _called = _Called
    _label = "Window"


class AllWindowedStream(_Windows):
    """A stream without keys in windows: all records pass through one subtask."""

    _apply_kind = AllWindowFunction
    _process_kind = ProcessAllWindowFunction
    _called = _CalledForAll
    _label = "AllWindow"
    _parallel = False

    def __init__(self, data_stream: DataStream, window_assigner: Any):
        super().__init__(data_stream.key_by(NullByteKeySelector()), window_assigner)


def count_windows(size: int, slide: int) -> WindowAssigner[Any, Any]:
    """Windows of so many records; one after the other if `slide` is 0."""
    if whole_number(slide, "the slide of a count window") == 0:
        return CountTumblingWindowAssigner(size)
    return CountSlidingWindowAssigner(size, slide)


def _is_plain(function: Any) -> bool:
    """Whether something can be called and is none of the classes users derive from."""
    return callable(function) and not isinstance(function, Function | type)
