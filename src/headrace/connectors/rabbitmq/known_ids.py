"""Which messages the job has had, by their correlation ids, as far as they may come again."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

__all__ = ["KnownIds"]

_GROUP = 500
_KEPT = 10_000
"""Acknowledged ids that stay known: a server that is killed forgets its last acknowledgements, a
classic queue those of its journal, which has room for about as many messages."""
_UNSURE_S = 3600.0
"""How long ids stay known whose messages may come again from a connection that is lost. A server
takes messages from who does not acknowledge them for half an hour."""


class KnownIds:
    """Ids in the order in which messages came over one channel; those of channels that are lost are
    *unsure* until they come again, or never do."""

    def __init__(self, saved: Any = None, clock: Callable[[], float] = time.time):
        """`saved`: as of a checkpoint, whose channel is lost."""
        self._clock = clock
        self._groups: deque[list[str]] = deque()
        """All ids that came, but the oldest; only the last group grows."""
        self._first = self._count = self._acknowledged = 0
        """How many came before the groups, how many in all, and how many are acknowledged."""
        self._last: dict[str, int] = {}
        """When each id came last, in numbers of ids."""
        self._unsure: dict[str, float] = {}
        """Since when, by id."""
        self._unsure_saved: list[Any] | None = None
        if saved is not None:
            self._restore(saved)

    def _restore(self, saved: Any) -> None:
        self._first = self._count = saved["first"]
        self._unsure = {id: since for since, ids in saved["unsure"] for id in ids}
        for group in saved["ids"]:
            for id in group:
                self._append(id)
        self._acknowledged = saved["acknowledged"]
        self.lose_channel()

    @property
    def count(self) -> int:
        """How many have come."""
        return self._count

    def add(self, id: str) -> bool:
        """A message came; whether the job has not had it yet."""
        is_new = id not in self._last
        if self._unsure.pop(id, None) is not None:
            is_new, self._unsure_saved = False, None
        self._append(id)
        return is_new

    def _append(self, id: str) -> None:
        if not self._groups or len(self._groups[-1]) >= _GROUP:
            self._groups.append([])
        self._groups[-1].append(id)
        self._last[id] = self._count
        self._count += 1

    def acknowledge(self, count: int) -> None:
        """The server has forgotten the first so many; some of them are forgotten here, too."""
        self._acknowledged = max(self._acknowledged, count)
        while self._groups:
            end = self._first + len(self._groups[0])
            if end > self._acknowledged - _KEPT or len(self._groups[0]) < _GROUP:
                break
            for number, id in enumerate(self._groups.popleft(), self._first):
                if self._last[id] == number:
                    del self._last[id]
            self._first = end
        self._forget_unsure()

    def _forget_unsure(self) -> None:
        oldest = self._clock() - _UNSURE_S
        gone = [id for id, since in self._unsure.items() if since < oldest]
        for id in gone:
            del self._unsure[id]
        if gone:
            self._unsure_saved = None

    def lose_channel(self) -> None:
        """What is not acknowledged comes again over another channel, or was acknowledged after
        all."""
        ids = [id for group in self._groups for id in group]
        pending = ids[max(0, self._acknowledged - self._first) :]
        kept = ids[: len(ids) - len(pending)]
        now = self._clock()
        self._unsure.update(dict.fromkeys(pending, now))
        self._unsure_saved = None
        self._groups.clear()
        self._last.clear()
        self._count = self._first
        for id in kept:
            self._append(id)
        self._acknowledged = self._count

    def saved(self) -> dict[str, Any]:
        """For a checkpoint. Groups that do not grow any more are shared."""
        if self._unsure_saved is None:
            by_time: dict[float, list[str]] = {}
            for id, since in self._unsure.items():
                by_time.setdefault(since, []).append(id)
            self._unsure_saved = [[since, ids] for since, ids in by_time.items()]
        groups = list(self._groups)
        if groups:
            groups[-1] = list(groups[-1])
        return {
            "first": self._first,
            "acknowledged": self._acknowledged,
            "ids": groups,
            "unsure": self._unsure_saved,
        }
