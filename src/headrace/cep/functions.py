"""Functions that are given the matches of a pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.core.functions import Function, RuntimeContext
from headrace.core.output_tag import OutputTag
from headrace.core.pattern_functions import (
    Match,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    TimedOutPartialMatchHandler,
)

__all__ = [
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternTimeoutFunction",
    "TimedOutPartialMatchHandler",
]

Selecting = Callable[[Match], Any]
TimingOut = Callable[[Match, int], Any]


class Selection(PatternProcessFunction[Any, Any]):
    """What `select` and `flat_select` run."""

    def __init__(self, function: Any, call: Selecting, *, flat: bool):
        self._function = function
        self._call = call
        self._flat = flat

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self._function, Function):
            self._function.open(runtime_context)

    def close(self) -> None:
        if isinstance(self._function, Function):
            self._function.close()

    def process_match(
        self, match: Match, ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        result = self._call(match)
        return result if self._flat else (result,)


class TimingSelection(Selection, TimedOutPartialMatchHandler):
    """The same, with a second function for matches that came to no end in time."""

    def __init__(
        self, selection: Selection, tag: OutputTag, function: Any, timeout: TimingOut,
    ):  # fmt: skip
        super().__init__(selection._function, selection._call, flat=selection._flat)
        self._tag = tag
        self._timeout_function = function
        self._timeout = timeout

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        if isinstance(self._timeout_function, Function):
            self._timeout_function.open(runtime_context)

    def close(self) -> None:
        super().close()
        if isinstance(self._timeout_function, Function):
            self._timeout_function.close()

    def process_timed_out_match(
        self, match: Match, ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        result = self._timeout(match, ctx.timestamp())
        for item in (result or ()) if self._flat else (result,):
            ctx.output(self._tag, item)
        return None
