"""Up to where the splits of a source are read in a micro-batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.core.source import Split, SplitEnumerator
from headrace.runtime.flow.splits import SplitReach


@dataclass(frozen=True, slots=True)
class SourceReach:
    """What a source hands over in a micro-batch, and what it does not."""

    admitted: int = 0
    """How many records it hands over, as far as they can be counted; at least 1 if it does."""
    splits: dict[str, SplitReach] = field(default_factory=dict)

    @property
    def behind(self) -> int | None:
        """How many records could not be handed over yet, as far as that is known."""
        if any(split.behind is None for split in self.splits.values()):
            return None
        return sum(split.behind or 0 for split in self.splits.values())


class Pace:
    """When a source may have its next micro-batch: an interval after the last one was planned, or
    at once if that one could not take all there was."""

    def __init__(self, interval_ms: int, clock: Callable[[], float] = time.monotonic):
        self._interval = interval_ms / 1000
        self._clock = clock
        self._due = 0.0

    def holds_back(self) -> bool:
        return self._clock() < self._due

    def planned(self, *, is_behind: bool) -> None:
        """A micro-batch was planned just now."""
        self._due = 0.0 if is_behind else self._clock() + self._interval


Offer = tuple[Split, Any, Any]
"""A split, the position it is at, and how far it could be read."""


class Gate:
    """Where a source's splits are cut so that it hands over no more than it may.

    Splits that stand side by side share what is allowed, in proportion to what each has, which
    keeps them at about the same event time. Splits that come and go, as files do, are read one
    after the other: together their time is that of the furthest.
    """

    def __init__(self, enumerator: SplitEnumerator, *, one_by_one: bool = False):
        self._enumerator = enumerator
        self._one_by_one = one_by_one
        self.reach = SourceReach()
        """Where the source stands after what was admitted last."""

    def admit(self, offers: Sequence[Offer], limit: int | None) -> dict[str, Any]:
        """Up to where each split is read next; `limit`: how many records it may be in all."""
        backlogs = [
            0 if at == latest else self._enumerator.records_between(split, at, latest)
            for split, at, latest in offers
        ]
        shares = backlogs if limit is None else self._shares(limit, backlogs)
        ends = {
            split.id: self._cut((split, at, latest), backlog, share)
            for (split, at, latest), backlog, share in zip(offers, backlogs, shares, strict=True)
        }
        self.reach = self._reach(offers, ends)
        return ends

    def _shares(self, limit: int, backlogs: list[int | None]) -> list[int | None]:
        if not self._one_by_one:
            return shared(limit, backlogs)
        shares: list[int | None] = []
        for backlog in backlogs:
            shares.append(backlog if backlog is None else min(backlog, limit))
            limit -= shares[-1] or 0
        return shares

    def _cut(self, offer: Offer, backlog: int | None, share: int | None) -> Any:
        split, at, latest = offer
        if backlog is None or share is None or share >= backlog:
            return latest
        return self._enumerator.position_after(split, at, latest, share) if share else at

    def _reach(self, offers: Sequence[Offer], ends: Mapping[str, Any]) -> SourceReach:
        splits = {}
        for split, _, latest in offers:
            end = ends[split.id]
            if end != latest or not self._one_by_one:
                behind = 0 if end == latest else self._enumerator.records_between(
                    split, end, latest
                )  # fmt: skip
                splits[split.id] = SplitReach(end, latest, behind)
        # Splits that were not offered wait for others; what is known of them still holds.
        known = {} if self._one_by_one else self.reach.splits
        moved = [(split, at, ends[split.id]) for split, at, _ in offers if at != ends[split.id]]
        counts = [self._enumerator.records_between(*part) or 0 for part in moved]
        return SourceReach(max(sum(counts), bool(moved)), {**known, **splits})


def shared(total: int, backlogs: Sequence[int | None]) -> list[int | None]:
    """How many of `total` records each may hand over.

    Who has less than an equal part gives all it has; the others share what is left in proportion
    to what they have. Nobody gets nothing. What cannot be counted (None) is not limited.
    """
    shares: list[int | None] = [None if backlog is None else 0 for backlog in backlogs]
    left = total
    open_ = {place: backlog for place, backlog in enumerate(backlogs) if backlog}
    while small := [place for place, backlog in open_.items() if backlog <= left / len(open_)]:
        for place in small:
            shares[place] = open_.pop(place)
            left -= shares[place] or 0
    wanted = sum(open_.values())
    for place, backlog in open_.items():
        shares[place] = max(1, left * backlog // wanted)
    return shares
