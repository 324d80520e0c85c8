"""Sessions by event time whose contents are one value.

All sessions of a key lie in one state, and timers are moved only when they fire, for a session
grows with almost every record. Results are those of the general operator.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from headrace.core.operator import EVENT_TIME, MAX_TIMESTAMP, Batch, Context
from headrace.core.state import ValueStateDescriptor
from headrace.core.types import Types
from headrace.core.user_code import RecordFailure
from headrace.core.windows import TimeWindow, WindowAssigner
from headrace.operators.windows.contents import INTERNAL, Folding, something
from headrace.operators.windows.firing import Firing
from headrace.operators.windows.panes import PaneOperator
from headrace.operators.windows.trigger_context import WindowAssignerContext

Session = tuple[int, int, Any]
"""Start, end, and what its records come to. Those of a key lie apart, and are kept in order."""
_SESSIONS: ValueStateDescriptor[list[Session]] = ValueStateDescriptor(
    INTERNAL + "sessions",
    Types.LIST(Types.TUPLE([Types.LONG(), Types.LONG(), Types.PICKLED_BYTE_ARRAY()])),
)


class SessionWindowOperator(PaneOperator):
    """Sessions of a fixed gap, or of one that records name, with the trigger of event time."""

    def __init__(
        self, assigner: WindowAssigner[Any, TimeWindow], contents: Folding, firing: Firing, *,
        lateness_ms: int = 0, late_tag: str | None = None,
    ):  # fmt: skip
        super().__init__(firing, lateness_ms=lateness_ms, late_tag=late_tag)
        self.assigner = assigner
        self.contents = contents

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._sessions = ctx.keyed_state(_SESSIONS)
        self._context = WindowAssignerContext(ctx)
        self._fold = self.contents.fold

    # Records.

    def receive(self, side: int, batch: Batch) -> None:
        assign: Callable[..., Iterable[TimeWindow]] = self.assigner.assign_windows
        scope, context = self.ctx.scope, self._context
        key = value = None
        assert batch.keys is not None
        stamps = batch.timestamps or repeat(None)
        try:
            for key, value, stamp in zip(batch.keys, batch.values, stamps, strict=False):
                scope.key = key
                ((start, end),) = assign(value, stamp, context)
                self._take(key, value, stamp, start, end)
        except RecordFailure:
            raise
        except Exception as error:
            raise RecordFailure(error, "window", value, key) from error
        self.flush()

    def _take(self, key: Any, value: Any, stamp: int | None, start: int, end: int) -> None:
        sessions = self._sessions.value() or []
        watermark = self.ctx.watermark
        low = high = bisect_left(sessions, (start,))
        if low and sessions[low - 1][1] >= start:
            low -= 1
        while high < len(sessions) and sessions[high][0] <= end:
            high += 1
        touched = sessions[low:high]
        if touched:
            session = self._joined(touched, start, end, value)
        elif end - 1 + self.lateness_ms > watermark:
            self.check_end(TimeWindow(start, end))
            session = start, end, something(self.contents.first(value), self.contents.call)
        else:
            self.reject(value, stamp, late=self.is_late(stamp))
            return
        sessions[low:high] = (session,)
        self._sessions.update(sessions)
        if all(one[1] - 1 <= watermark for one in touched):
            self._wait_for(session, watermark)  # the others' timers are set already
        if session[1] - 1 <= watermark:
            self._fire(key, session)

    def _joined(self, touched: list[Session], start: int, end: int, value: Any) -> Session:
        first, last, kept = touched[0]
        for one in touched[1:]:
            first, last = min(first, one[0]), max(last, one[1])
            kept = self.contents.combine(kept, one[2])
        if end > last:
            last = end
            self.check_end(TimeWindow(start, end))
        return min(first, start), last, something(self._fold(kept, value), self.contents.call)

    # Timers.

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        try:
            session = self._session_at(timestamp)
            if session is not None and session[1] - 1 == timestamp:
                self._fire(key, session)
            if self.lateness_ms:
                self._go_on(key, session, timestamp)
                session = self._session_at(timestamp - self.lateness_ms)
            self._go_on(key, session, timestamp)
        except RecordFailure:
            raise
        except Exception as error:
            raise RecordFailure(error, "on_timer", f"sessions at {timestamp}", key) from error
        self.flush()

    def _session_at(self, time: int) -> Session | None:
        """The session that lasts at a time: the one whose timer may have been set then, for a
        session that has grown since has still its old one."""
        sessions = self._sessions.value() or ()
        at = bisect_left(sessions, (time + 1,)) - 1
        return sessions[at] if at >= 0 and sessions[at][1] > time else None

    def _go_on(self, key: Any, session: Session | None, now: int) -> None:
        """Drop a session that is over, or set its next timer."""
        if session is None:
            return
        if self._over_at(session) > now:
            self._wait_for(session, now)
            return
        self.firing.clear(key, TimeWindow(session[0], session[1]))
        sessions = self._sessions.value() or []
        del sessions[bisect_left(sessions, (session[0],))]
        self._sessions.update(sessions) if sessions else self._sessions.clear()

    def _fire(self, key: Any, session: Session) -> None:
        window = TimeWindow(session[0], session[1])
        self.ctx.window_scope.key = key, window
        self.fire(key, window, self.contents.result(session[2]))

    def _wait_for(self, session: Session, now: int) -> None:
        """Set the timer of what happens to a session next: it fires, or it is over."""
        end = session[1] - 1
        due = end if end > now else self._over_at(session)
        if due < MAX_TIMESTAMP or end == due:
            self.ctx.timers.register(EVENT_TIME, due)

    def _over_at(self, session: Session) -> int:
        return min(session[1] - 1 + self.lateness_ms, MAX_TIMESTAMP)
