"""Tumbling windows that fire by event time alone and whose contents are one value.

The general operator, on the same state and timers, with one tight loop for what is ordinary: a
record for a window that has not fired yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from operator import length_hint
from typing import Any

from headrace.core.operator import EVENT_TIME, MAX_TIMESTAMP, MIN_TIMESTAMP, Batch, Context
from headrace.core.state import ValuesByKey
from headrace.core.user_code import RecordFailure
from headrace.core.windows import TimeWindow, missing_timestamp
from headrace.operators.windows.contents import Aggregating, Folded, something
from headrace.operators.windows.window_operator import WindowOperator

_UNSEEN: Any = object()
Record = tuple[Any, Any, int | None]


class TumblingWindowOperator(WindowOperator):
    """Tumbling windows with the trigger of event time."""

    def __init__(self, size_ms: int, offset_ms: int, *parts: Any, **options: Any):
        super().__init__(*parts, **options)
        self._size = size_ms
        self._offset = offset_ms
        # With lateness allowed a window is kept when it has fired, and has two timers.
        self.fires_together = not self.lateness_ms

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        assert isinstance(self._kept, Folded)
        assert isinstance(self._kept.state, ValuesByKey)
        self._values: ValuesByKey[Any] = self._kept.state
        assert self.contents.fold is not None
        self._fold = self.contents.fold
        # The user's own method, where `fold` would only turn its arguments round.
        contents = self.contents
        self._add = contents.function.add if isinstance(contents, Aggregating) else None

    def receive(self, side: int, batch: Batch) -> None:
        assert batch.keys is not None
        stamps = batch.timestamps or repeat(None)
        values = iter(batch.values)
        try:
            self._take_all(zip(batch.keys, values, stamps, strict=False))
        except RecordFailure:
            raise
        except Exception as error:
            at = len(batch.values) - length_hint(values) - 1
            raise RecordFailure(error, "window", batch.values[at], batch.keys[at]) from error
        self.flush()

    def _take_all(self, records: Iterable[Record]) -> None:
        # The hot loop: every name is local, and nothing is called that need not be.
        pair, scope, size, offset = self._pair, self.ctx.scope, self._size, self._offset
        value_of, update = self._values.value, self._values.update
        fold, add, first = self._fold, self._add, self.contents.first
        schedule = self._schedule
        windows: dict[int, TimeWindow | None] = {}
        for key, value, stamp in records:
            if stamp is None:
                raise missing_timestamp(value)
            start = stamp - (stamp - offset) % size
            window = windows.get(start, _UNSEEN)
            if window is _UNSEEN:
                window = windows[start] = self._open_window(start)
            if window is None:
                scope.key = key
                self._take(key, value, stamp)
                continue
            pair.key = key, window
            kept = value_of()
            if kept is None:
                new = first(value)
                schedule(window)
            else:
                new = fold(kept, value) if add is None else add(value, kept)
            if new is None:
                something(new, self.contents.call)
            update(new)

    def _open_window(self, start: int) -> TimeWindow | None:
        """The window that starts then; None when it has fired already, never will, or may be that
        of a record without a timestamp."""
        last = start + self._size - 1
        ordinary = start > MIN_TIMESTAMP and self.ctx.watermark < last <= MAX_TIMESTAMP
        return TimeWindow(start, last + 1) if ordinary else None

    def _schedule(self, window: TimeWindow) -> None:
        end = window[1] - 1
        self.ctx.timers.register(EVENT_TIME, end)
        if self.lateness_ms and end + self.lateness_ms < MAX_TIMESTAMP:
            self.ctx.timers.register(EVENT_TIME, end + self.lateness_ms)

    def on_timers(self, domain: str, timestamp: int, keys: list[Any]) -> None:
        # Again a hot loop: the windows of all keys end at the same time.
        key_scope, pair_scope = self.ctx.scope, self._pair
        result_of, results_of = self.contents.result, self.firing.results
        clear = self.firing.clear if self.firing.clears else None
        results: list[Any] = []
        for pair, kept in zip(keys, self._values.take_out(keys), strict=True):
            key, window = pair
            key_scope.key, pair_scope.key = key, pair
            try:
                contents = result_of(kept)
            except Exception as error:
                told = f"the contents of {window}"
                raise RecordFailure(error, "get_result", told, key) from error
            if contents is not None:
                results += results_of(key, window, contents)
            if clear is not None:
                clear(key, window)
        if results:
            self.ctx.emit(results, [timestamp] * len(results))
        self.firing.flush()
