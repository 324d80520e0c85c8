"""Aggregation by windows that overlap: HOP and CUMULATE.

Overlapping windows share slices of time: a row is added to one slice, and the slices of a window
are merged when it ends. See `headrace.operators.windows.slices`.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, cast

from headrace.core.operator import Context
from headrace.core.state import MapStateDescriptor
from headrace.core.types import Types
from headrace.operators.table.keyed_changes import Row
from headrace.operators.table.window_aggregate import WindowsBySpec
from headrace.operators.table.window_contents import Contents
from headrace.operators.windows.panes import NO_WINDOW
from headrace.operators.windows.slices import CacheProof, KeySlices, SliceMerger

_SLICES: MapStateDescriptor[int, Contents] = MapStateDescriptor("slices", Types.LONG())
"""By the start of the slice: its contents."""


class HoppingAggregateOperator(WindowsBySpec):
    """HOP"""

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self.grid = self.window.grid()
        self._slices = ctx.keyed_state(_SLICES)
        self._merger = SliceMerger(
            cast(Any, self.contents), self._slices, self.grid, self.contents.copied
        )
        self._known: dict[Any, KeySlices] = {}
        self._proof = CacheProof(ctx)
        self._unassigned = ctx.metrics.counter(NO_WINDOW)

    def end_round(self) -> None:
        self._proof.renew()

    def _key_slices(self, key: Any) -> KeySlices:
        if not self._proof.checked and not self._proof.holds():
            self._known.clear()
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = KeySlices(sorted(self._slices.keys()))
        return found

    def take(self, side: int, key: Any, rows: list[Row], reached: int) -> None:
        offset, length = self.grid.offset, self.grid.slice_length
        time_of = self.row_time.reader()
        by_slice: dict[int, list[Row]] = {}
        for row in rows:
            time = time_of(row)
            by_slice.setdefault(time - (time - offset) % length, []).append(row)
        slices = self._key_slices(key)
        for start, together in by_slice.items():
            end = self._first_open_end(start, reached)
            if end is not None:
                self._add(slices, start, end, together)
            elif self.grid.first_end(start) - self.grid.size > start:
                self._unassigned.inc(len(together))  # it lies between two windows
            else:
                self.drop_late(len(together))

    def _first_open_end(self, start: int, reached: int) -> int | None:
        """The end of the first window with a slice that is not over yet; None if all are."""
        grid = self.grid
        end = grid.first_end(start)
        if end - 1 <= reached:
            end += -((end - 2 - reached) // grid.slide) * grid.slide
        return end if end - grid.size <= start else None

    def _add(self, slices: KeySlices, start: int, end: int, rows: list[Row]) -> None:
        contents = self._slices.get(start)
        if contents is None:
            contents = self.contents.create()
            slices.starts.insert(bisect_left(slices.starts, start), start)
            self.wake_at_end(end)
        elif self.time_column is None:
            # The clock may show the last millisecond of a window that has fired in it already.
            self.wake_at_end(end)
        if slices.covered is not None and start < slices.covered:
            slices.forget()
        self.contents.add(contents, rows)
        self._slices.put(start, contents)

    def fire(self, key: Any, first_end: int, last_end: int) -> None:
        grid, slices = self.grid, self._key_slices(key)
        end = first_end + (grid.size + grid.offset - first_end) % grid.slide
        if not slices.starts or end > last_end:
            return
        for over, contents in self._merger.panes(slices, end, last_end - 1):
            self.emit_window(key, (over - grid.size, over), contents)
        # Slices are kept for the windows after the last one that is over now.
        end = last_end - (last_end - grid.size - grid.offset) % grid.slide
        used = bisect_left(slices.starts, end + grid.slide - grid.size)
        for start in slices.starts[:used]:
            self._slices.remove(start)
        del slices.starts[:used]
        if slices.starts:
            self.wake_at_end(slices.fire_at + 1)
        else:
            del self._known[key]


class CumulatingAggregateOperator(WindowsBySpec):
    """CUMULATE: windows that start together and grow by a step.

    A window that has ended is merged into the first slice, from which the next one goes on.
    """

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._slices = ctx.keyed_state(_SLICES)

    def take(self, side: int, key: Any, rows: list[Row], reached: int) -> None:
        size, step, offset = self.window.size, self.window.slide, self.window.offset
        time_of = self.row_time.reader()
        by_slice: dict[int, list[Row]] = {}
        for row in rows:
            time = time_of(row)
            by_slice.setdefault(time - (time - offset) % step, []).append(row)
        for start, together in by_slice.items():
            begin = start - (start - offset) % size
            if begin + size - 1 <= reached:
                self.drop_late(len(together))
                continue
            end = start + step
            if end - 1 <= reached:  # its window is over, longer ones are not
                start = begin
                end += -((end - 2 - reached) // step) * step
            self._add(start, end, together)

    def _add(self, start: int, end: int, rows: list[Row]) -> None:
        contents = self._slices.get(start) or self.contents.create()
        self.contents.add(contents, rows)
        self._slices.put(start, contents)
        self.wake_at_end(end)

    def fire(self, key: Any, first_end: int, last_end: int) -> None:
        size, step, offset = self.window.size, self.window.slide, self.window.offset
        end = first_end + (offset - first_end) % step
        while end <= last_end:
            begin = end - step - (end - step - offset) % size
            contents = self._merged(begin, end)
            if contents is not None:
                self.emit_window(key, (begin, end), contents)
                if end == begin + size:
                    self._slices.remove(begin)
                elif contents[-1] > 0:
                    self.wake_at_end(end + step)
            end += step

    def _merged(self, begin: int, end: int) -> Contents | None:
        """What the window from `begin` to `end` holds; the first slice takes in the others."""
        contents = self._slices.get(begin)
        for start in range(begin + self.window.slide, end, self.window.slide):
            other = self._slices.get(start)
            if other is None:
                continue
            contents = other if contents is None else self.contents.merge(contents, other)
            self._slices.put(begin, contents)
            self._slices.remove(start)
        return contents
