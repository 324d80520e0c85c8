"""Joining two streams by key, window by window.

Both streams become one stream of tagged records, which one window operator gathers; when a window
is evaluated its records are divided by their tags again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from headrace.core.evictors import Evictor
from headrace.core.functions import Function, KeySelector, RuntimeContext
from headrace.core.join_functions import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    TaggedUnion,
)
from headrace.core.output_tag import OutputTag
from headrace.core.time import Duration, Time
from headrace.core.triggers import Trigger
from headrace.core.types import TypeInformation
from headrace.core.window_functions import WindowFunction
from headrace.core.windows import WindowAssigner
from headrace.datastream.checks import function_or_callable, instance_of, key_function, type_info
from headrace.datastream.stream import DataStream
from headrace.errors import InvalidGraph, TypeMismatch
from headrace.operators.stateless import FlatMapOperator, MapOperator
from headrace.origin import calling_origin

if TYPE_CHECKING:
    from headrace.datastream.windowed_stream import WindowedStream

__all__ = ["CoGroupedStreams", "CoGroupedWindows", "JoinedStreams", "JoinedWindows"]

Selector = Callable[[Any], Any] | KeySelector
LateTags = tuple[OutputTag | None, OutputTag | None]
Streams = tuple[DataStream, DataStream]
_WINDOW_CALLS = frozenset(
    {"trigger", "evictor", "allowed_lateness", "side_output_late_data", "apply"}
)
_LATE = OutputTag("late records of a join")


class Step:
    """One step of a chain of calls. A method of a later step says what is missing before it."""

    _chain: ClassVar[str] = "where(key).equal_to(key).window(assigner).apply(function)"
    """The chain, as a user writes it."""
    _missing: ClassVar[str]
    """The call that leads to the next step."""
    _later: ClassVar[frozenset[str]]
    """The methods of the steps after this one."""

    if not TYPE_CHECKING:  # a type checker knows the methods of each step

        def __getattr__(self, name: str) -> Any:
            if name in self._later:
                raise InvalidGraph(
                    f"{name}(...) comes too early: {self._missing} is missing before it",
                    origin=calling_origin(), hint=f"The order is {self._chain}.",
                )  # fmt: skip
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")


def common_key_type(
    first: TypeInformation | None, second: TypeInformation | None
) -> TypeInformation | None:
    """The type of the keys of two streams that are to meet; an error if two are declared."""
    if first is not None and second is not None and first != second:
        raise TypeMismatch(
            f"the keys of the two streams are of different types: {first} and {second}",
            origin=calling_origin(), hint="Let both key selectors return the same type.",
        )  # fmt: skip
    return second if first is None else first


class _DivideByTag(WindowFunction[TaggedUnion, Any, Any, Any]):
    """Hands the two groups of a window to the user's function."""

    def __init__(self, function: Any):
        self._function = function

    @property
    def wrapped(self) -> Any:
        """The user's function, which may take part in checkpoints."""
        return self._function

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self._function, Function):
            self._function.open(runtime_context)

    def close(self) -> None:
        if isinstance(self._function, Function):
            self._function.close()

    def apply(self, key: Any, window: Any, inputs: Iterable[TaggedUnion]) -> Iterable[Any]:
        groups: tuple[list[Any], list[Any]] = ([], [])
        for side, value in inputs:
            groups[side].append(value)
        return self.results(*groups) or ()

    def results(self, first: list[Any], second: list[Any]) -> Iterable[Any] | None:
        """What becomes of two groups."""
        if isinstance(self._function, CoGroupFunction):
            return self._function.co_group(first, second)
        found: Iterable[Any] | None = self._function(first, second)
        return found


class _Pairs(_DivideByTag):
    """Hands each pair of a window to the user's function."""

    def results(self, first: list[Any], second: list[Any]) -> Iterable[Any]:
        pairs = product(first, second)
        if isinstance(self._function, FlatJoinFunction):
            return (item for pair in pairs for item in self._function.join(*pair) or ())
        join = self._function.join if isinstance(self._function, JoinFunction) else self._function
        return (join(*pair) for pair in pairs)


class _WithLateRecords(DataStream):
    """The results of a join whose late records were sent to tags, one for each stream."""

    def __init__(self, results: DataStream, tags: LateTags, types: dict[str, Any]):
        super().__init__(results.get_execution_environment(), results.node_id)
        self._late_types = types
        self._tags = tags

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        chosen = super().get_side_output(output_tag)
        sides = [side for side, tag in enumerate(self._tags) if tag == output_tag]
        if not sides:
            return chosen
        late = super().get_side_output(_LATE)
        untag = FlatMapOperator(lambda tagged: [tagged[1]] if tagged[0] in sides else [])
        # The function itself may have sent something to the tag, too.
        return chosen.union(late._then("Late records", untag, self.builder[chosen.node_id].type))


def late_types(tags: LateTags, streams: Streams) -> dict[str, TypeInformation | None]:
    """The types of late records by tag: those of their streams, unless two share a tag."""
    types: dict[str, TypeInformation | None] = {}
    for tag, stream in zip(tags, streams, strict=True):
        if tag is not None:
            kind = stream.builder[stream.node_id].type
            types[tag.tag_id] = kind if types.get(tag.tag_id, kind) == kind else None
    return types


class WithWindow:
    """Two streams, their keys and their windows; ends with `apply`."""

    def __init__(self, streams: Streams, windowed: WindowedStream):
        self._streams = streams
        self._windowed = windowed
        self._late_tags: LateTags | None = None

    def trigger(self, trigger: Trigger[Any, Any]) -> Self:
        """When windows are evaluated; it sees records as TaggedUnion."""
        self._windowed = self._windowed.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor[Any, Any]) -> Self:
        """What is taken out of a window when it is evaluated; it sees records as TaggedUnion."""
        self._windowed = self._windowed.evictor(evictor)
        return self

    def allowed_lateness(self, time: int | Time | Duration) -> Self:
        """How long after its end a window still takes records, in milliseconds or as a time."""
        self._windowed = self._windowed.allowed_lateness(time)
        return self

    def side_output_late_data(self, first_tag: OutputTag, second_tag: OutputTag) -> Self:
        """Send late records of each stream to a side output, not just to a counter."""
        tags = [instance_of(tag, OutputTag, "side_output_late_data")
                for tag in (first_tag, second_tag)]  # fmt: skip
        self._late_tags = (tags[0], tags[1])
        self._windowed = self._windowed.side_output_late_data(_LATE)
        return self

    def _evaluate(self, function: _DivideByTag, output_type: TypeInformation | None) -> DataStream:
        results = self._windowed.apply(function, type_info(output_type, "apply"))
        if self._late_tags is None:
            return results
        types = late_types(self._late_tags, self._streams)
        return _WithLateRecords(results, self._late_tags, types)


class JoinedWindows(WithWindow):
    """Windows in which each record meets all those of the other stream."""

    def apply(
        self, function: JoinFunction[Any, Any, Any] | FlatJoinFunction[Any, Any, Any]
        | Callable[[Any, Any], Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:  # fmt: skip
        """Make results of each pair; a callable is used like a JoinFunction."""
        if not isinstance(function, FlatJoinFunction):
            function = function_or_callable(function, JoinFunction, "apply")
        return self._evaluate(_Pairs(function), output_type)


class CoGroupedWindows(WithWindow):
    """Windows of which the records of both streams are seen together."""

    def apply(
        self, function: CoGroupFunction[Any, Any, Any] | Callable[[list[Any], list[Any]], Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:  # fmt: skip
        """Make results of the two groups of a key, of which one may be empty."""
        checked = function_or_callable(function, CoGroupFunction, "apply")
        return self._evaluate(_DivideByTag(checked), output_type)


W = TypeVar("W", bound=WithWindow)


class _Start(Step, Generic[W]):
    _missing = "where(key_selector)"
    _later = frozenset({"equal_to", "window"}) | _WINDOW_CALLS
    _windows: type[W]

    def __init__(self, first: DataStream, second: DataStream):
        self._streams = (first, second)

    def where(self, key_selector: Selector, key_type: TypeInformation | None = None) -> Where[W]:
        """The key of the first stream's records."""
        key = key_function(key_selector, "where")
        return Where(self._windows, self._streams, key, type_info(key_type, "where"))


class JoinedStreams(_Start[JoinedWindows]):
    """Two streams about to be joined; next comes `where`."""

    _windows = JoinedWindows


class CoGroupedStreams(_Start[CoGroupedWindows]):
    """Two streams about to be grouped together; next comes `where`."""

    _windows = CoGroupedWindows


class Where(Step, Generic[W]):
    """The key of the first stream is known; next comes `equal_to`."""

    _missing = "equal_to(key_selector)"
    _later = frozenset({"window"}) | _WINDOW_CALLS

    def __init__(
        self, windows: type[W], streams: Streams,
        key: Callable[[Any], Any], key_type: TypeInformation | None,
    ):  # fmt: skip
        self._windows = windows
        self._streams = streams
        self._key = key
        self._key_type = key_type

    def equal_to(
        self, key_selector: Selector, key_type: TypeInformation | None = None
    ) -> EqualTo[W]:
        """The key of the second stream's records."""
        keys = (self._key, key_function(key_selector, "equal_to"))
        common = common_key_type(self._key_type, type_info(key_type, "equal_to"))
        return EqualTo(self._windows, self._streams, keys, common)


class EqualTo(Step, Generic[W]):
    """The keys of both streams are known; next comes `window`."""

    _missing = "window(assigner)"
    _later = _WINDOW_CALLS

    def __init__(
        self, windows: type[W], streams: Streams,
        keys: tuple[Callable[[Any], Any], Callable[[Any], Any]], key_type: TypeInformation | None,
    ):  # fmt: skip
        self._windows = windows
        self._streams = streams
        self._keys = keys
        self._key_type = key_type

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> W:
        """Which records are seen together; it sees records as TaggedUnion."""
        assigner = instance_of(window_assigner, WindowAssigner, "window")
        keys = self._keys
        first, second = (_tagged(stream, side) for side, stream in enumerate(self._streams))
        keyed = first.union(second).key_by(lambda tag: keys[tag[0]](tag[1]), self._key_type)
        return self._windows(self._streams, keyed.window(assigner))


def _tagged(stream: DataStream, side: int) -> DataStream:
    operator = MapOperator(partial(TaggedUnion, side))
    tagged = stream._then(f"Tag {('first', 'second')[side]}", operator)
    operator.reuses_objects = True  # it wraps a record that is nobody else's
    return tagged
