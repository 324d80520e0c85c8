"""What the driver and the planners of its sources tell each other between micro-batches.

Spark plans a source in a process of its own beside the driver, so they speak through small files
in the job's folder: the driver notes how many records each source may hand over, each source how
far it could be read and how far it will be. Nothing depends on them but the size of micro-batches.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.core.source import Split, SplitEnumerator
from headrace.runtime.flow.splits import SplitReach

_LIMITS = "limits.json"


@dataclass(frozen=True, slots=True)
class SourceReach:
    """What the planner of a source noted last."""

    planned: float = 0.0
    """When it last had something to hand over, in seconds since the epoch."""
    admitted: int = 0
    """How many records that was, as far as they can be counted."""
    splits: dict[str, SplitReach] = field(default_factory=dict)

    @property
    def behind(self) -> int | None:
        """How many records could not be handed over yet, as far as that is known."""
        if any(split.behind is None for split in self.splits.values()):
            return None
        return sum(split.behind or 0 for split in self.splits.values())


class AdmissionNotes:
    """The folder with the notes of one job."""

    def __init__(self, folder: Path | str):
        self._folder = Path(folder)

    def create(self) -> None:
        """Make the folder, which is the driver's to do: it clears it away, too."""
        self._folder.mkdir(parents=True, exist_ok=True)

    def write_limits(self, limits: Mapping[int, int | None]) -> None:
        self._write(_LIMITS, {str(source): limit for source, limit in limits.items()})

    def limit(self, source: int) -> int | None:
        """How many records a source may hand over; None: all it has."""
        found: int | None = self._read(_LIMITS).get(str(source))
        return found

    def write_reach(self, source: int, reach: SourceReach) -> None:
        splits = {id: [split.position, split.available, split.behind]
                  for id, split in reach.splits.items()}  # fmt: skip
        note = {"planned": reach.planned, "admitted": reach.admitted, "splits": splits}
        self._write(f"source-{source}.json", note)

    def reach(self, source: int) -> SourceReach:
        note = self._read(f"source-{source}.json")
        splits = {id: SplitReach(*split) for id, split in note.get("splits", {}).items()}
        return SourceReach(note.get("planned", 0.0), note.get("admitted", 0), splits)

    def _read(self, name: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self._folder / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return found

    def _write(self, name: str, note: dict[str, Any]) -> None:
        unfinished = self._folder / f".{name}"
        # Without the folder the job has ended: nobody reads notes any more, nor clears them away.
        with suppress(FileNotFoundError):
            unfinished.write_text(json.dumps(note), encoding="utf-8")
            unfinished.rename(self._folder / name)


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

    def __init__(
        self, enumerator: SplitEnumerator, notes: AdmissionNotes | None, source: int, *,
        one_by_one: bool = False, clock: Callable[[], float] = time.time,
    ):  # fmt: skip
        self._enumerator = enumerator
        self._notes = notes
        self._source = source
        self._one_by_one = one_by_one
        self._clock = clock
        self._noted = SourceReach()

    def admit(self, offers: Sequence[Offer]) -> dict[str, Any]:
        """Up to where each split is read in the next micro-batch."""
        if self._notes is None:
            return {split.id: latest for split, _, latest in offers}
        backlogs = [0 if at == latest else self._enumerator.records_between(split, at, latest)
                    for split, at, latest in offers]  # fmt: skip
        limit = self._notes.limit(self._source)
        shares = backlogs if limit is None else self._shares(limit, backlogs)
        ends = {
            split.id: self._cut((split, at, latest), backlog, share)
            for (split, at, latest), backlog, share in zip(offers, backlogs, shares, strict=True)
        }
        reach = self._reach(offers, ends)
        if reach != self._noted:
            self._notes.write_reach(self._source, reach)
            self._noted = reach
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
        known = {} if self._one_by_one else self._noted.splits
        moved = [(split, at, ends[split.id]) for split, at, _ in offers if at != ends[split.id]]
        planned, admitted = self._noted.planned, self._noted.admitted
        if moved:
            counted = (self._enumerator.records_between(*part) for part in moved)
            planned, admitted = self._clock(), sum(count or 0 for count in counted)
        return SourceReach(planned, admitted, {**known, **splits})


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
