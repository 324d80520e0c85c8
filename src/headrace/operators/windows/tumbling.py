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


class _Touched(dict[Any, Any]):
    """What a window holds of the keys it has had records of since state was last told.

    Telling state of each record takes longer than all else: it finds a key and window by both.
    """

    __slots__ = ("window",)

    def __init__(self, window: TimeWindow):
        super().__init__()
        self.window = window


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
        self._touched: dict[int, _Touched] = {}
        """By the window's start."""
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
        if not self._values.in_memory:
            self._write_back()
        self.flush()

    def _take_all(self, records: Iterable[Record]) -> None:
        # The hot loop: every name is local, and nothing is called that need not be.
        pair, scope, size, offset = self._pair, self.ctx.scope, self._size, self._offset
        value_of, fold, add = self._values.value_of, self._fold, self._add
        first, schedule = self.contents.first, self._schedule
        windows: dict[int, _Touched | None] = {}
        for key, value, stamp in records:
            if stamp is None:
                raise missing_timestamp(value)
            start = stamp - (stamp - offset) % size
            touched = windows.get(start, _UNSEEN)
            if touched is _UNSEEN:
                touched = windows[start] = self._open_window(start)
            if touched is None:
                scope.key = key
                self._take(key, value, stamp)
                continue
            kept = touched.get(key)
            if kept is None:
                pair.key = in_state = key, touched.window
                kept = value_of(in_state)
            if kept is None:
                new = first(value)
                schedule(touched.window)
            else:
                new = fold(kept, value) if add is None else add(value, kept)
            if new is None:
                something(new, self.contents.call)
            touched[key] = new

    def _open_window(self, start: int) -> _Touched | None:
        """The window that starts then; None when it has fired already, never will, or may be that
        of a record without a timestamp."""
        last = start + self._size - 1
        if not (start > MIN_TIMESTAMP and self.ctx.watermark < last <= MAX_TIMESTAMP):
            return None
        found = self._touched.get(start)
        if found is None:
            found = self._touched[start] = _Touched(TimeWindow(start, last + 1))
        return found

    def _write_back(self) -> None:
        """Let state have what windows hold by now."""
        for touched in self._touched.values():
            window = touched.window
            self._values.put_all({(key, window): kept for key, kept in touched.items()})
        self._touched.clear()

    def end_batch(self) -> None:
        self._write_back()

    def _schedule(self, window: TimeWindow) -> None:
        end = window[1] - 1
        self.ctx.timers.register(EVENT_TIME, end)
        if self.lateness_ms and end + self.lateness_ms < MAX_TIMESTAMP:
            self.ctx.timers.register(EVENT_TIME, end + self.lateness_ms)

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        self._write_back()
        super().on_timer(domain, timestamp, key)

    def on_timers(self, domain: str, timestamp: int, keys: list[Any]) -> None:
        self._write_back()
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
