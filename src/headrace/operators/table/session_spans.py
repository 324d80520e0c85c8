"""Sessions of one key: rows that are no further apart than a gap, growing together as rows come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.state import MapState
from headrace.operators.table.keyed_changes import Row
from headrace.operators.table.window_spec import TimeSpan


def touching(spans: list[TimeSpan], start: int, end: int) -> list[TimeSpan]:
    """The sessions that a time from `start` to `end` overlaps or touches."""
    return [span for span in spans if span[0] <= end and span[1] >= start]


def cover(spans: list[TimeSpan], start: int, end: int) -> TimeSpan:
    """The session that all of them become."""
    return min(start, *(span[0] for span in spans)), max(end, *(span[1] for span in spans))


class SessionSpans:
    """Keeps what sessions hold in map state by their start and end.

    `create`, `add` (a row) and `merge` (into the first of two) say what they hold.
    """

    def __init__(
        self, state: MapState[TimeSpan, Any], gap: int, create: Callable[[], Any],
        add: Callable[[Any, Row], None], merge: Callable[[Any, Any], Any],
    ):  # fmt: skip
        self.state = state
        self._gap = gap
        self._create = create
        self._add = add
        self._merge = merge

    def take(
        self, rows: list[Row], time_of: Callable[[Row], int], reached: int
    ) -> tuple[list[TimeSpan], int]:
        """Add rows to the current key's sessions, writing each of these once; gives the sessions
        that are new or have grown, and how many rows were late: for sessions that are over."""
        state = self.state
        before = list(state.keys())
        spans, held, late = list(before), dict[TimeSpan, Any](), 0
        for row in rows:
            start = time_of(row)
            end = start + self._gap
            together = touching(spans, start, end)
            if not together and end - 1 <= reached:
                late += 1
                continue
            whole = cover(together, start, end) if together else (start, end)
            contents = None
            for span in together:
                part = held.pop(span) if span in held else state.get(span)
                contents = part if contents is None else self._merge(contents, part)
                spans.remove(span)
            if contents is None:
                contents = self._create()
            self._add(contents, row)
            spans.append(whole)
            held[whole] = contents
        return self._written(before, spans, held), late

    def _written(
        self, before: list[TimeSpan], spans: list[TimeSpan], held: dict[TimeSpan, Any]
    ) -> list[TimeSpan]:
        there, now = set(before), set(spans)
        for span in before:
            if span not in now:
                self.state.remove(span)
        for span, contents in held.items():
            self.state.put(span, contents)
        return [span for span in held if span not in there]

    def over(self, first_end: int, last_end: int) -> list[tuple[TimeSpan, Any]]:
        """Take out the sessions that end in a span, both ends included."""
        ended = [span for span in self.state.keys() if first_end <= span[1] <= last_end]  # noqa: SIM118
        found = [(span, self.state.get(span)) for span in sorted(ended)]
        for span in ended:
            self.state.remove(span)
        return found
