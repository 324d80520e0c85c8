"""How much may be on its way from one task to another: what the receiver works off in a moment.

A receiver tells each sender, whenever a quarter of its window is worked off, how large it is from
then on. It at most doubles each time, so that what has not been told yet is always less than what
the sender has room for, and nobody waits for word that will not come.
"""

from __future__ import annotations

from headrace.runtime.flow.load import Load

FIRST_WINDOW = 16 * 1024
_LEAST = 4 * 1024
_MOST = 8 * 1024 * 1024
"""Bytes, from all senders together."""
_MOMENT_S = 0.5
_LOOK_AFTER_S = 0.02


class Windows:
    """The windows of all senders of one task."""

    def __init__(self, senders: int, load: Load | None):
        """`load`: of the task; None if it is the faster the more there is."""
        self._senders = max(1, senders)
        self._load = load
        self._window: dict[int, int] = {}
        self._untold: dict[int, int] = {}
        self._bytes = 0
        self._looked = (0, 0.0)
        self._speed: float | None = None
        """Bytes in a second, of those in which there was something to do."""

    def worked_off(self, sender: int, size: int) -> tuple[int, int] | None:
        """Count it; once it is worth telling: how many bytes, and the window from now on."""
        self._bytes += size
        untold = self._untold.get(sender, 0) + size
        window = self._window.get(sender, FIRST_WINDOW)
        if untold < window // 4:
            self._untold[sender] = untold
            return None
        self._untold[sender] = 0
        self._window[sender] = min(self._fitting(), 2 * window)
        return untold, self._window[sender]

    def _fitting(self) -> int:
        if self._load is None:
            return _MOST // self._senders
        spent = self._load.spent()
        working = spent.busy + spent.backpressured
        count, since = self._looked
        if working - since >= _LOOK_AFTER_S:
            speed = (self._bytes - count) / (working - since)
            self._speed = speed if self._speed is None else (speed + self._speed) / 2
            self._looked = self._bytes, working
        if self._speed is None:
            return FIRST_WINDOW
        room = min(self._speed * _MOMENT_S, _MOST)
        return max(_LEAST, int(room / self._senders))
