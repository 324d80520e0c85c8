"""The window operator where windows fire by event time alone and contents are one value.

These do what the general operator does, on the same state and timers, in one tight loop. What is
out of the ordinary, a window that is over or several that merge, they leave to the general one.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from headrace.core.operator import EVENT_TIME, MAX_TIMESTAMP, Batch, Context
from headrace.core.state import MapState, ValueState
from headrace.core.user_code import RecordFailure
from headrace.core.windows import TimeWindow, missing_timestamp
from headrace.operators.windows.contents import Folded
from headrace.operators.windows.window_operator import WindowOperator

_UNSEEN = object()


class FoldingWindowOperator(WindowOperator):
    """What the quick operators share: each pane fires once, when event time reaches its end."""

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        assert isinstance(self._kept, Folded)
        self._values: ValueState[Any] = self._kept.state
        fold = self.contents.fold
        assert fold is not None
        self._fold: Callable[[Any, Any], Any] = fold

    def receive(self, side: int, batch: Batch) -> None:
        assert batch.keys is not None
        rest = zip(batch.keys, batch.values, batch.timestamps or repeat(None), strict=False)
        self._at: tuple[Any, Any] = None, None
        try:
            self._take_all(rest)
        except RecordFailure:
            raise
        except Exception as error:
            value, key = self._at
            raise RecordFailure(error, "window", value, key) from error
        self.flush()

    def _take_all(self, records: Any) -> None:
        raise NotImplementedError

    def _schedule(self, window: TimeWindow) -> None:
        """Set the timers of the pair in scope."""
        end = window[1] - 1
        self.ctx.timers.register(EVENT_TIME, end)
        if self.lateness_ms and end + self.lateness_ms < MAX_TIMESTAMP:
            self.ctx.timers.register(EVENT_TIME, end + self.lateness_ms)

    def _unschedule(self, window: TimeWindow) -> None:
        end = window[1] - 1
        self.ctx.timers.delete(EVENT_TIME, end)
        if self.lateness_ms:
            self.ctx.timers.delete(EVENT_TIME, end + self.lateness_ms)


class TumblingWindowOperator(FoldingWindowOperator):
    """Tumbling windows."""

    def __init__(self, size_ms: int, offset_ms: int, *parts: Any, **options: Any):
        super().__init__(*parts, **options)
        self._size = size_ms
        self._offset = offset_ms

    def _take_all(self, records: Any) -> None:
        # The hot loop: every name is local, and nothing is called that need not be.
        pair, scope, size, offset = self._pair, self.ctx.scope, self._size, self._offset
        value_of, update = self._values.value, self._values.update
        fold, first, schedule = self._fold, self.contents.first, self._schedule
        windows: dict[int, TimeWindow | None] = {}
        unseen: Any = _UNSEEN
        for key, value, stamp in records:
            if stamp is None:
                raise RecordFailure(missing_timestamp(value), "window", value, key)
            start = stamp - (stamp - offset) % size
            window = windows.get(start, unseen)
            if window is unseen:
                window = windows[start] = self._open_window(start)
            self._at = value, key
            if window is None:
                scope.key = key
                self._take(key, value, stamp)
                continue
            pair.key = key, window
            kept = value_of()
            if kept is None:
                update(first(value))
                schedule(window)
            else:
                update(fold(kept, value))

    def _open_window(self, start: int) -> TimeWindow | None:
        """The window that starts then; None when it has fired already or never will."""
        last = start + self._size - 1
        return TimeWindow(start, last + 1) if self.ctx.watermark < last <= MAX_TIMESTAMP else None

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        if self.lateness_ms:
            super().on_timer(domain, timestamp, key)
            return
        kept = self._values.value()
        self._values.clear()
        user_key, window = key
        self.ctx.scope.key = user_key
        try:
            self.fire(user_key, window, self.contents.result(kept))
            self.firing.clear(user_key, window)
        except RecordFailure:
            raise
        except Exception as error:
            raise RecordFailure(error, "get_result", f"the contents of {window}", user_key) from error
        self.flush()


class SessionWindowOperator(FoldingWindowOperator):
    """Sessions, of a fixed gap or of one that records name."""

    def _take_all(self, records: Any) -> None:
        scope, pair, watermark = self.ctx.scope, self._pair, self.ctx.watermark
        assign, context = self._assign_windows, self._assign
        assert self._merging is not None
        windows: MapState[Any, Any] = self._merging.state_windows
        value_of, update = self._values.value, self._values.update
        fold, first = self._fold, self.contents.first
        for key, value, stamp in records:
            self._at = value, key
            scope.key = key
            (new,) = assign(value, stamp, context)
            known = list(windows.items())
            if not known and watermark < new[1] - 1 <= MAX_TIMESTAMP:
                windows.put(new, new)
                pair.key = key, new
                update(first(value))
                self._schedule(new)
                continue
            if len(known) == 1:
                window, state_window = known[0]
                if window[0] <= new[1] and new[0] <= window[1] and window[1] - 1 > watermark:
                    self._extend(key, window, state_window, new)
                    pair.key = key, state_window
                    kept = value_of()
                    update(first(value) if kept is None else fold(kept, value))
                    continue
            self._take(key, value, stamp)

    def _extend(self, key: Any, window: TimeWindow, state_window: Any, new: TimeWindow) -> None:
        whole = window.cover(new)
        if whole == window:
            return
        assert self._merging is not None
        self._check_end(whole)
        self._merging.state_windows.remove(window)
        self._merging.state_windows.put(whole, state_window)
        self._pair.key = key, window
        self._unschedule(window)
        self._pair.key = key, whole
        self._schedule(whole)
