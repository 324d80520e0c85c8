"""What happens with the contents of a window that fires: the user's window function, if any."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.core.functions import Function, KeyedStateStore
from headrace.core.isolation import FROZEN, isolated
from headrace.core.operator import Context
from headrace.core.output_tag import OutputTag
from headrace.core.state import StateDescriptor
from headrace.core.user_code import RecordFailure
from headrace.core.window_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from headrace.errors import Unsupported
from headrace.operators.base import SideOutputs
from headrace.operators.function_context import FunctionRuntimeContext
from headrace.origin import calling_origin


class Firing:
    """Turns the contents of a fired window into results; here the contents are the result.

    `results` and `clear` want `ctx.window_scope` on the pair of key and window. What goes to a
    tag is put aside until `flush`.
    """

    def __init__(self, *, single: bool):
        self.single = single
        """Whether contents are one value, folded as records came, or a list of records."""
        self.clears = False
        """Whether a function wants to know when a window is gone."""

    def open(self, ctx: Context) -> None:
        self._ctx = ctx
        self._sides = SideOutputs()

    def results(self, key: Any, window: Any, contents: Any) -> list[Any]:
        return self._own(contents)

    def _own(self, contents: Any) -> list[Any]:
        """The elements of a window for somebody who may change them: it may fire again, and a
        record may be in other windows too."""
        found = [contents] if self.single else contents
        return [item if item.__class__ in FROZEN else isolated(item) for item in found]

    def clear(self, key: Any, window: Any) -> None:
        """The window is gone."""

    def flush(self) -> None:
        self._sides.flush(self._ctx)

    def close(self) -> None:
        """Release what `open` acquired."""


class FunctionFiring(Firing):
    """Gives the contents to a window function."""

    def __init__(self, function: Any, *, single: bool, merging: bool):
        super().__init__(single=single)
        self.function = function
        self._merging = merging

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._context = WindowContext(ctx, self._merging)
        # Asked once: windows fire by the thousand.
        self._processes = isinstance(
            self.function, ProcessWindowFunction | ProcessAllWindowFunction
        )
        self._call = _caller(self.function, self._context)
        self.clears = self._processes and not _clears_nothing(self.function)
        if isinstance(self.function, Function):
            self._lifecycle("open", FunctionRuntimeContext(ctx, keyed=True))

    def close(self) -> None:
        if isinstance(self.function, Function):
            self._lifecycle("close")

    def _lifecycle(self, step: str, *arguments: Any) -> None:
        try:
            getattr(self.function, step)(*arguments)
        except Exception as error:
            raise RecordFailure(error, step) from error

    def results(self, key: Any, window: Any, contents: Any) -> list[Any]:
        elements = self._own(contents)
        stamp = window.max_timestamp()
        out: list[Any] = []
        try:
            for item in self._call(key, window, elements) or ():
                if item.__class__ is tuple and len(item) == 2 and item[0].__class__ is OutputTag:
                    self._sides.add(item, stamp)
                else:
                    out.append(item if item.__class__ in FROZEN else isolated(item))
        except Exception as error:
            call = "process" if self._processes else "apply"
            raise RecordFailure(error, call, f"the contents of {window}", key) from error
        return out

    def clear(self, key: Any, window: Any) -> None:
        if self.clears:
            self._context.at = window
            try:
                self.function.clear(self._context)
            except Exception as error:
                raise RecordFailure(error, "clear", f"the window {window}", key) from error


def _clears_nothing(function: Any) -> bool:
    """Whether `clear` is the one that does nothing."""
    own = type(function).clear
    return own in (ProcessWindowFunction.clear, ProcessAllWindowFunction.clear) and (
        "clear" not in vars(function)
    )


def _caller(function: Any, context: WindowContext) -> Callable[..., Iterable[Any] | None]:
    """What calls a function of any kind with key, window and elements."""

    def process(key: Any, window: Any, elements: list[Any]) -> Iterable[Any] | None:
        context.at = window
        found: Iterable[Any] | None = function.process(key, context, elements)
        return found

    def process_all(key: Any, window: Any, elements: list[Any]) -> Iterable[Any] | None:
        context.at = window
        found: Iterable[Any] | None = function.process(context, elements)
        return found

    match function:
        case WindowFunction():
            return function.apply
        case AllWindowFunction():
            return lambda key, window, elements: function.apply(window, elements)
        case ProcessWindowFunction():
            return process
        case ProcessAllWindowFunction():
            return process_all
    return function  # type: ignore[no-any-return]


def firing(function: Any, *, single: bool, merging: bool) -> Firing:
    """The firing for a window function, or for none."""
    if function is None:
        return Firing(single=single)
    return FunctionFiring(function, single=single, merging=merging)


class WindowContext(ProcessWindowFunction.Context[Any], ProcessAllWindowFunction.Context[Any]):
    """What a process function may ask; one object, moved from window to window."""

    def __init__(self, ctx: Context, merging: bool):
        self._ctx = ctx
        self._global = _Store(ctx.keyed_state)
        # State of windows that merge could not be merged with them.
        self._per_window = _Store(_refuse if merging else ctx.window_state)
        self.at: Any = None

    def window(self) -> Any:
        return self.at

    def current_processing_time(self) -> int:
        return self._ctx.processing_time()

    def current_watermark(self) -> int:
        return self._ctx.watermark

    def window_state(self) -> KeyedStateStore:
        return self._per_window

    def global_state(self) -> KeyedStateStore:
        return self._global


class _Store(KeyedStateStore):
    """State objects by name, made once: functions ask for them with every window."""

    def __init__(self, make: Callable[[StateDescriptor], Any]):
        self._make = make
        self._made: dict[str, Any] = {}

    def _state(self, descriptor: StateDescriptor) -> Any:
        name = getattr(descriptor, "name", None)
        if not isinstance(name, str):
            return self._make(descriptor)  # which says what is wrong with it
        if name not in self._made:
            self._made[name] = self._make(descriptor)
        return self._made[name]

    def get_state(self, state_descriptor: Any) -> Any:
        return self._state(state_descriptor)

    def get_list_state(self, state_descriptor: Any) -> Any:
        return self._state(state_descriptor)

    def get_map_state(self, state_descriptor: Any) -> Any:
        return self._state(state_descriptor)

    def get_reducing_state(self, state_descriptor: Any) -> Any:
        return self._state(state_descriptor)

    def get_aggregating_state(self, state_descriptor: Any) -> Any:
        return self._state(state_descriptor)


def _refuse(descriptor: StateDescriptor) -> Any:
    raise Unsupported(
        "per-window state cannot be used with windows that merge, such as sessions",
        origin=calling_origin(), hint="Use context.global_state(), which is kept for each key.",
    )  # fmt: skip
