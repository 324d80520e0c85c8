"""Joining two keyed streams on how far apart their records are in event time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.core.join_functions import ProcessJoinFunction
from headrace.core.output_tag import OutputTag
from headrace.core.time import Duration, Time
from headrace.core.types import TypeInformation
from headrace.core.windows import milliseconds
from headrace.datastream.checks import instance_of, type_info
from headrace.datastream.joined_streams import Step, common_key_type, late_types
from headrace.datastream.stream import DataStream
from headrace.errors import InvalidArgument
from headrace.graph.nodes import OperatorNode
from headrace.operators.interval_join import Interval, IntervalJoinOperator
from headrace.origin import calling_origin

if TYPE_CHECKING:
    from headrace.datastream.keyed_stream import KeyedStream

__all__ = ["IntervalJoin", "IntervalJoined"]

_OPTIONS = frozenset({
    "lower_bound_exclusive", "upper_bound_exclusive", "side_output_left_late_data",
    "side_output_right_late_data", "process",
})  # fmt: skip


class IntervalJoin(Step):
    """Two keyed streams about to be joined; next comes `between`."""

    _chain = "interval_join(other).between(lower, upper).process(function)"
    _missing = "between(lower, upper)"
    _later = _OPTIONS

    def __init__(self, left: KeyedStream, right: KeyedStream):
        key_type = common_key_type(left.key_type, right.key_type)
        # A type that only one side declares says what the keys of both are made into.
        self._left, self._right = (
            stream if stream.key_type == key_type else stream.key_by(stream.selector, key_type)
            for stream in (left, right)
        )

    def between(self, lower_bound: Duration | Time, upper_bound: Duration | Time) -> IntervalJoined:
        """Join records if left + lower bound <= right <= left + upper bound.

        Bounds may be negative: partners may be earlier than the left record.
        """
        lower = milliseconds(lower_bound, "the lower bound of an interval join")
        upper = milliseconds(upper_bound, "the upper bound of an interval join")
        return IntervalJoined(self._left, self._right, lower, upper)


class IntervalJoined:
    """Two keyed streams and the interval to join them by; ends with `process`."""

    def __init__(self, left: KeyedStream, right: KeyedStream, lower: int, upper: int):
        self._left = left
        self._right = right
        self._lower = lower
        self._upper = upper
        self._excluded = [0, 0]
        self._late_tags: list[OutputTag | None] = [None, None]
        self._interval()

    def lower_bound_exclusive(self) -> IntervalJoined:
        """A partner exactly at the lower bound is none."""
        self._excluded[0] = 1
        return self

    def upper_bound_exclusive(self) -> IntervalJoined:
        """A partner exactly at the upper bound is none."""
        self._excluded[1] = 1
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Send left records that come too late to a side output, not just to a counter."""
        self._late_tags[0] = instance_of(output_tag, OutputTag, "side_output_left_late_data")
        return self

    def side_output_right_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Send right records that come too late to a side output, not just to a counter."""
        self._late_tags[1] = instance_of(output_tag, OutputTag, "side_output_right_late_data")
        return self

    def process(
        self, process_join_function: ProcessJoinFunction[Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:  # fmt: skip
        """Hand each pair to a function; a result's time is the later one of its pair."""
        function = instance_of(
            process_join_function, ProcessJoinFunction, "process",
            "An interval join needs a ProcessJoinFunction.",
        )  # fmt: skip
        left_tag, right_tag = self._late_tags
        operator = IntervalJoinOperator(function, self._interval(), (left_tag, right_tag))
        env = self._left.get_execution_environment()
        operator.reuses_objects = env.get_config().is_object_reuse_enabled()
        node_id = env.builder.add(
            OperatorNode, "Interval Join", (self._left.node_id, self._right.node_id),
            operator=operator, type=type_info(output_type, "process"),
        )  # fmt: skip
        joined = DataStream(env, node_id)
        joined._late_types = late_types((left_tag, right_tag), (self._left, self._right))
        return joined

    def _interval(self) -> Interval:
        lower, upper = self._lower + self._excluded[0], self._upper - self._excluded[1]
        if lower > upper:
            without = " without its ends" if any(self._excluded) else ""
            raise InvalidArgument(
                f"no time lies between {self._lower} ms and {self._upper} ms{without}",
                origin=calling_origin(),
                hint="Give the lower bound first; it must not be above the upper one.",
            )
        return Interval(lower, upper)
