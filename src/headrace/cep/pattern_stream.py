"""A stream in which a pattern is looked for, and what is done with the matches."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, NoReturn

from headrace.cep.functions import (
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    Selection,
    TimingSelection,
)
from headrace.cep.pattern import Pattern
from headrace.core.output_tag import OutputTag
from headrace.core.pattern_functions import Match
from headrace.core.patterns import EventPattern
from headrace.core.types import TypeInformation
from headrace.core.windows import whole_number
from headrace.datastream.checks import function_or_callable, instance_of, type_info
from headrace.datastream.keyed_stream import KeyedStream
from headrace.datastream.stream import DataStream
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.operators.cep.compiler import compiled
from headrace.operators.cep.limits import MOST_RUNS, doubling_stage
from headrace.operators.cep.operator import Comparator, PatternOperator
from headrace.origin import calling_origin

__all__ = ["CEP", "PatternStream"]

_LOG = logging.getLogger("headrace")
Select = Callable[[Match], Any] | PatternSelectFunction[Any, Any]
FlatSelect = Callable[[Match], Any] | PatternFlatSelectFunction[Any, Any]
Timeout = Callable[[Match, int], Any] | PatternTimeoutFunction[Any, Any]
FlatTimeout = Callable[[Match, int], Any] | PatternFlatTimeoutFunction[Any, Any]


class CEP:
    """Where patterns and streams meet."""

    @staticmethod
    def pattern(
        stream: DataStream, pattern: Pattern, comparator: Comparator | None = None
    ) -> PatternStream:
        """Look for a pattern; for each key by itself if the stream has keys.

        `comparator(a, b)` is negative where a comes first: it orders events of equal time.
        """
        instance_of(stream, DataStream, "CEP.pattern")
        instance_of(pattern, Pattern, "CEP.pattern", 'Write Pattern.begin("start")…')
        if comparator is not None and not callable(comparator):
            raise TypeMismatch(
                f"CEP.pattern() was given the comparator {comparator!r}, which cannot be called",
                origin=calling_origin(), hint="Pass a function of two events.",
            )  # fmt: skip
        return PatternStream(stream, pattern, comparator)


class PatternStream:
    """A stream and a pattern; ends with `select`, `flat_select` or `process`."""

    def __init__(self, stream: DataStream, pattern: Pattern, comparator: Comparator | None):
        self._stream = stream
        self._pattern = pattern
        self._plan = pattern.plan()
        _warn_of_doubling(self._plan)
        self._comparator = comparator
        self._event_time = True
        self._late_tag: OutputTag | None = None
        self._most_runs = MOST_RUNS

    def in_event_time(self) -> PatternStream:
        """Match events in order of time, as far as the watermark has come; the default."""
        self._event_time = True
        return self

    def in_processing_time(self) -> PatternStream:
        """Match events as they come."""
        self._event_time = False
        return self

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> PatternStream:
        """Send events that come after the watermark to a side output, not just to a counter."""
        self._late_tag = instance_of(late_data_output_tag, OutputTag, "side_output_late_data")
        return self

    def max_partial_matches(self, count: int) -> PatternStream:
        """How many partial matches a key may have before the job fails."""
        self._most_runs = whole_number(count, "the number given to max_partial_matches()")
        if self._most_runs < 1:
            raise InvalidArgument(
                f"max_partial_matches() was given {count}", origin=calling_origin(),
                hint="Give a number above 0.",
            )  # fmt: skip
        return self

    def process(
        self, pattern_process_function: PatternProcessFunction[Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:  # fmt: skip
        """Hand each match to a function."""
        function = instance_of(pattern_process_function, PatternProcessFunction, "process")
        return self._add(function, type_info(output_type, "process"))

    def select(
        self, select_function: Select, output_type: TypeInformation | None = None, *,
        timeout_function: Timeout | None = None, timeout_tag: OutputTag | None = None,
    ) -> DataStream:  # fmt: skip
        """Make one result of each match, and one for the tag of each that timed out."""
        function = function_or_callable(select_function, PatternSelectFunction, "select")
        call = function.select if isinstance(function, PatternSelectFunction) else function
        selection = Selection(function, call, flat=False)
        timed = self._timed(selection, PatternTimeoutFunction, timeout_function, timeout_tag)
        return self._add(timed, type_info(output_type, "select"))

    def flat_select(
        self, flat_select_function: FlatSelect, output_type: TypeInformation | None = None, *,
        timeout_function: FlatTimeout | None = None, timeout_tag: OutputTag | None = None,
    ) -> DataStream:  # fmt: skip
        """Make any number of results of each match, likewise of each that timed out."""
        kind = PatternFlatSelectFunction
        function = function_or_callable(flat_select_function, kind, "flat_select")
        call = function.flat_select if isinstance(function, kind) else function
        selection = Selection(function, call, flat=True)
        timed = self._timed(selection, PatternFlatTimeoutFunction, timeout_function, timeout_tag)
        return self._add(timed, type_info(output_type, "flat_select"))

    def _timed(
        self, selection: Selection, kind: type[Any], timeout: Any, tag: OutputTag | None
    ) -> Selection:
        if timeout is None and tag is None:
            return selection
        if timeout is None or tag is None:
            self._half_a_timeout("timeout_tag" if timeout is None else "timeout_function")
        instance_of(tag, OutputTag, "timeout_tag")
        function = function_or_callable(timeout, kind, "timeout_function")
        call = function.timeout if isinstance(function, kind) else function
        return TimingSelection(selection, tag, function, call)

    @staticmethod
    def _half_a_timeout(given: str) -> NoReturn:
        raise InvalidArgument(
            f"{given} was given alone", origin=calling_origin(),
            hint="Give both: timeout_function says what to emit for a partial match that timed "
            "out, timeout_tag names the side output.",
        )  # fmt: skip

    def _add(
        self, function: PatternProcessFunction[Any, Any], output_type: TypeInformation | None
    ) -> DataStream:
        stream, parallel = self._stream, isinstance(self._stream, KeyedStream)
        keyed = stream if parallel else stream.key_by(_one_key)
        operator = PatternOperator(
            function, self._plan, event_time=self._event_time, comparator=self._comparator,
            late_tag=self._late_tag, most_runs=self._most_runs,
            conditions=tuple(self._pattern.functions()),
        )  # fmt: skip
        found = keyed._then("Pattern", operator, output_type)
        if self._late_tag is not None:
            found._late_types = {self._late_tag.tag_id: stream.builder[stream.node_id].type}
        return found if parallel else found.force_non_parallel()


def _warn_of_doubling(plan: EventPattern) -> None:
    automaton = compiled(plan)
    stage = doubling_stage(automaton)
    if stage is not None:
        _LOG.warning(
            "The pattern %s has no time limit, and its stage %r may take an event or pass it over: "
            "partial matches double with each event that fits, and the job fails when a key has "
            "more than are allowed. Add within(...), or leave out allow_combinations().\n  at %s",
            " → ".join(automaton.stages), stage, calling_origin(),
        )  # fmt: skip


def _one_key(_: Any) -> int:
    return 0
