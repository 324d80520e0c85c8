"""The window operator: assigner, trigger, evictor, contents and function, put together.

Each is a part of its own; the operator only decides when which of them is asked. A window of a
key is the pair of both. Its contents, the state of its trigger and its timers belong to the pair.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import repeat
from typing import Any

from headrace.core.evictors import Evictor, TimestampedValue
from headrace.core.isolation import is_frozen, isolated
from headrace.core.operator import EVENT_TIME, MAX_TIMESTAMP, PROCESSING_TIME, Batch, Context
from headrace.core.triggers import Trigger, TriggerResult
from headrace.core.user_code import RecordFailure
from headrace.core.windows import MergingWindowAssigner, Window, WindowAssigner
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.operators.windows.contents import Contents, Listed
from headrace.operators.windows.firing import Firing
from headrace.operators.windows.merging_windows import MergingWindows
from headrace.operators.windows.panes import PaneOperator
from headrace.operators.windows.trigger_context import (
    EvictorContext,
    WindowAssignerContext,
    WindowTriggerContext,
)


class WindowOperator(PaneOperator):
    """Any windows, with any trigger."""

    windowed = True
    timers_in_rounds = True

    def __init__(
        self, assigner: WindowAssigner[Any, Any], trigger: Trigger[Any, Any],
        contents: Contents, firing: Firing, *, evictor: Evictor[Any, Any] | None = None,
        lateness_ms: int = 0, late_tag: str | None = None,
    ):  # fmt: skip
        super().__init__(firing, lateness_ms=lateness_ms, late_tag=late_tag)
        self.assigner = assigner
        self.trigger = trigger
        self.contents = contents
        self.evictor = evictor
        self._by_event_time = assigner.is_event_time()

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._pair = ctx.window_scope
        self._timed = None if self.evictor is None else Listed(ctx, timed=True)
        self._kept = self._timed or self.contents.open(ctx)
        self._assign = WindowAssignerContext(ctx)
        self._assign_windows: Callable[..., Iterable[Any]] = self.assigner.assign_windows
        self._triggers = WindowTriggerContext(ctx)
        self._on_element: Callable[..., TriggerResult] = self.trigger.on_element
        self._evicting = EvictorContext(ctx)
        self._folds = self._timed is None and self.contents.fold is not None
        self._kinds: set[type] = set()
        """The classes of windows that have been checked."""
        self._merging = (
            MergingWindows(self.assigner, ctx)
            if isinstance(self.assigner, MergingWindowAssigner) else None
        )  # fmt: skip

    # Records.

    def receive(self, side: int, batch: Batch) -> None:
        scope = self.ctx.scope
        assert batch.keys is not None
        stamps = batch.timestamps or repeat(None)
        key = value = None
        try:
            for key, value, stamp in zip(batch.keys, batch.values, stamps, strict=False):
                scope.key = key
                self._take(key, value, stamp)
        except RecordFailure:
            raise
        except Exception as error:
            raise RecordFailure(error, "window", value, key) from error
        self.flush()

    def _take(self, key: Any, value: Any, stamp: int | None) -> None:
        taken = False
        windows = self._assign_windows(value, stamp, self._assign)
        if windows.__class__ is not tuple and windows.__class__ is not list:
            windows = self._checked(windows)
        # What a window folds records into it may change: each needs its own.
        shared = self._folds and len(windows) > 1 and not is_frozen(value)
        for window in windows:
            if window.__class__ not in self._kinds:
                self._check_kind(window)
            state_window = window
            if self._by_event_time:
                self.check_end(window)
            if self._merging is not None:
                window = self._merging.add(window, self._merge)
                if self._is_late(window):
                    self._merging.retire(window)
                    continue
                state_window = self._merging.state_window(window)
            elif self._is_late(window):
                continue
            taken = True
            self._pair.key = (key, state_window)
            self._kept.add(isolated(value) if shared else value, stamp)
            self._pair.key = (key, window)
            result = self._on_element(value, stamp, window, self._triggers)
            self._do(result, key, window, state_window)
            self._register_cleanup(key, window)
        if not taken:
            late = self._by_event_time and self.is_late(stamp)
            self.reject(value, stamp, late=late)

    def _checked(self, windows: Any) -> Collection[Any]:
        """What an assigner returned, where it is not one of ours."""
        if isinstance(windows, Window) or not isinstance(windows, Iterable):
            raise TypeMismatch(
                f"assign_windows() of {type(self.assigner).__name__} returned {windows!r}, "
                "not a collection of windows",
                hint="Return a list, also of a single window.",
            )
        return windows if isinstance(windows, Collection) else list(windows)

    def _check_kind(self, window: Any) -> None:
        """Refuse windows that could not be found again, such as after a restart."""
        kind: Any = type(window)
        if kind.__eq__ is object.__eq__ or kind.__hash__ is None:
            raise TypeMismatch(
                f"windows of {kind.__name__} cannot be told apart by value",
                hint="Let the class define __eq__ and __hash__, for instance as a "
                "@dataclass(frozen=True).",
            )
        self._kinds.add(kind)

    def _merge(self, whole: Any, parts: list[Any], state_window: Any, others: list[Any]) -> None:
        key = self.ctx.scope.key
        self._refuse_past(whole, parts)
        triggers = self._triggers
        self._pair.key = (key, whole)
        triggers.merged = [(key, part) for part in parts]
        self.trigger.on_merge(whole, triggers)
        for part in parts:
            self._pair.key = (key, part)
            self.trigger.clear(part, triggers)
            self._delete_cleanup(key, part)
        self._kept.merge(self._pair, (key, state_window), [(key, other) for other in others])

    def _refuse_past(self, whole: Any, parts: list[Any]) -> None:
        end = whole.max_timestamp()
        if self._by_event_time:
            passed = end + self.lateness_ms <= self.ctx.watermark
        else:
            passed = end <= self.ctx.processing_time()
        if passed:
            raise InvalidArgument(
                f"the windows {parts} were merged into {whole}, which is over already",
                hint="A custom assigner must not make windows end earlier by merging them.",
            )

    # Timers.

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        user_key, window = key
        self.ctx.scope.key = user_key
        state_window = window
        if self._merging is not None:
            state_window = self._merging.state_window(window)
            if state_window is None:
                return  # the window has become part of another, or is gone
        event = domain == EVENT_TIME
        on_time = self.trigger.on_event_time if event else self.trigger.on_processing_time
        try:
            self._do(on_time(timestamp, window, self._triggers), user_key, window, state_window)
            if event == self._by_event_time and timestamp == self._cleanup_time(window):
                self._drop(user_key, window, state_window)
        except RecordFailure:
            raise
        except Exception as error:
            raise RecordFailure(error, "on_timer", f"timer of {window}", user_key) from error
        self.flush()

    def _do(self, result: Any, key: Any, window: Any, state_window: Any) -> None:
        if result is TriggerResult.CONTINUE:
            return
        if result.__class__ is not TriggerResult:
            raise TypeMismatch(
                f"{type(self.trigger).__name__} returned {result!r}, not a TriggerResult",
                hint="Let each of its on_... methods return TriggerResult.CONTINUE, FIRE, PURGE "
                "or FIRE_AND_PURGE.",
            )
        self._pair.key = (key, state_window)
        if result.is_fire():
            contents = self._kept.get() if self._timed is None else self._evict(window)
            if contents is not None:
                self._pair.key = (key, window)
                self.fire(key, window, contents)
                self._pair.key = (key, state_window)
            self._evict_after(window)
        if result.is_purge():
            self._kept.clear()
        self._pair.key = (key, window)

    def _drop(self, key: Any, window: Any, state_window: Any) -> None:
        self._pair.key = (key, state_window)
        self._kept.clear()
        self._pair.key = (key, window)
        self.trigger.clear(window, self._triggers)
        self.firing.clear(key, window)
        if self._merging is not None:
            self._merging.retire(window)

    # Evictors.

    def _evict(self, window: Any) -> Any:
        assert self._timed is not None
        assert self.evictor is not None
        kept = self._timed.get()
        self._elements: list[TimestampedValue[Any]] | None = None
        if kept is None:
            return None
        elements = self._elements = [TimestampedValue(*record) for record in kept]
        self.evictor.evict_before(elements, len(elements), window, self._evicting)
        return self.contents.result_of_all([element.value for element in elements])

    def _evict_after(self, window: Any) -> None:
        if self._timed is None or self._elements is None or self.evictor is None:
            return
        elements, self._elements = self._elements, None
        self.evictor.evict_after(elements, len(elements), window, self._evicting)
        self._timed.put_back([(element.value, element.timestamp) for element in elements])

    # The end of a window.

    def _is_late(self, window: Any) -> bool:
        return self._by_event_time and self._cleanup_time(window) <= self.ctx.watermark

    def _cleanup_time(self, window: Any) -> int:
        end: int = window.max_timestamp()
        return min(end + self.lateness_ms, MAX_TIMESTAMP) if self._by_event_time else end

    def _register_cleanup(self, key: Any, window: Any) -> None:
        time = self._cleanup_time(window)
        if time < MAX_TIMESTAMP:
            self._pair.key = (key, window)
            self.ctx.timers.register(EVENT_TIME if self._by_event_time else PROCESSING_TIME, time)

    def _delete_cleanup(self, key: Any, window: Any) -> None:
        time = self._cleanup_time(window)
        if time < MAX_TIMESTAMP:
            self._pair.key = (key, window)
            self.ctx.timers.delete(EVENT_TIME if self._by_event_time else PROCESSING_TIME, time)
