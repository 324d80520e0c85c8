"""Backpressure: each micro-batch takes about as much as can be done in the time it should last.

A stream that has fallen behind would take its whole backlog in one micro-batch: long without a
checkpoint, as large as the backlog, and the more so the slower the sink. So the driver learns from
each micro-batch what a record costs, and tells the sources how many the next one may have. What is
not handed over stays where it was, in the source. See docs/decisions/0013-admission-control.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping

from headrace.runtime.flow.gate import SourceReach, shared

SHORTEST_TARGET = 1.0
FIRST_RECORDS_PER_SECOND = 10_000
FEWEST_RECORDS = 10
GROWTH = 2
CLIMBING_GROWTH = 5
PROBE = 4
"""How much two micro-batches must differ in size to tell what does not depend on it."""
COLD_START = 5.0
"""How long workers may take to start."""
REMEMBERED = 30
"""Of how many micro-batches the shortest bounds the fixed cost."""
INFORMATIVE = 0.1
"""The part of the allowed records from which on a micro-batch says what a record costs."""


def target_seconds(configured_ms: int | None, interval_ms: int, bounded: bool) -> float | None:
    """How long a micro-batch should last; None: as long as all that is there takes.

    With a checkpoint interval, that long: a micro-batch is a checkpoint, and the next one starts
    when the interval is over. A bounded job that asked for no checkpoints is done soonest with the
    fewest micro-batches.
    """
    if configured_ms is not None:
        return configured_ms / 1000 or None
    if interval_ms:
        return max(SHORTEST_TARGET, interval_ms / 1000)
    return None if bounded else SHORTEST_TARGET


class BatchSize:
    """How many records a micro-batch should have, learnt from how long the ones before it took.

    A micro-batch of n records is taken to last `fixed + cost * n`. The rule comes to rest only
    where the duration is what it aims at, even if its guess of the fixed cost is wrong: a guess
    that is too low, as one from a minimum is, makes it come there more slowly, never overshoot.
    """

    def __init__(self, target: float):
        self._target = target
        self._records = max(FEWEST_RECORDS, round(FIRST_RECORDS_PER_SECOND * target))
        self._fixed = 0.0
        self._cost: float | None = None
        self._warm = False
        self._line_drawn = False
        self._probing = False
        self._recent: deque[tuple[int, float]] = deque(maxlen=REMEMBERED)

    @property
    def records(self) -> int:
        """How many the next micro-batch should have.

        If the first ones were all of one size, one is smaller: it shows the fixed cost.
        """
        return max(1, self._records // PROBE) if self._probing else self._records

    @property
    def aim(self) -> float:
        """The target; longer where the fixed cost would take more than a fifth of it.

        Three times the target at most, unless even that were mostly fixed cost.
        """
        stretched = min(5 * self._fixed, 3 * self._target)
        return max(self._target, stretched, 2 * self._fixed)

    def observe(self, records: int, seconds: float) -> None:
        """Hear of a micro-batch that has ended."""
        if records <= 0:
            return
        informative = records >= self._records * INFORMATIVE
        if not self._warm:
            # Workers start in the first one: only what it took besides is held against it.
            self._warm = True
            if informative:
                self._shrink_to(records * self.aim / max(seconds - COLD_START, self.aim))
        elif self._probing:
            self._probing = False
            self._learn_fixed(records, seconds)
        elif informative:
            self._learn_fixed(records, seconds)
            self._adapt(records, seconds)
            no_room_to_climb = seconds > self.aim / 2
            self._probing = no_room_to_climb and not self._line_drawn
        elif seconds > self.aim:
            # Few records that took long: they have become dear, or something else was slow. Only
            # if it happens again and again does it count.
            self._shrink_to(self._records / 2)

    def _shrink_to(self, records: float) -> None:
        self._records = max(FEWEST_RECORDS, min(self._records, int(records)))

    def _adapt(self, records: int, seconds: float) -> None:
        # However well the fixed cost is known, some of the time is the records'.
        fixed = min(self._fixed, 0.8 * seconds)
        cost = max(1e-9, (seconds - fixed) / records)
        far_off = seconds - fixed < (self.aim - fixed) / 2
        if self._cost is not None and cost < 2 * self._cost and not far_off:
            cost = (self._cost + cost) / 2  # only a sudden rise is believed at once
        self._cost = cost
        wanted = (self.aim - self._fixed) / cost
        if wanted > self._records:
            growth = CLIMBING_GROWTH if far_off else GROWTH
            wanted = max(self._records, min(wanted, growth * records))
        self._records = max(FEWEST_RECORDS, int(wanted))

    def _learn_fixed(self, records: int, seconds: float) -> None:
        """Draw a line through this micro-batch and the last one that was of another size."""
        now = records, seconds
        for before in reversed(self._recent):
            (few, short), (many, long) = sorted((before, now))
            if many >= PROBE * few:
                slope = max(0.0, (long - short) / (many - few))
                fixed = max(0.0, min(short, long) - slope * few)
                self._fixed += (fixed - self._fixed) / 2 if self._line_drawn else fixed
                self._line_drawn = True
                break
        self._recent.append(now)
        self._fixed = min(self._fixed, *(seconds for _, seconds in self._recent))


class Admission:
    """Hears of each micro-batch and says how much each source may hand over."""

    def __init__(self, sources: Collection[int], target: float | None, most: int | None = None):
        """`sources`: those whose records can be counted; `most`: of each, whatever else holds."""
        self._sources = sources
        self._size = BatchSize(target) if target is not None else None
        self._most = most
        self.last_batch_ms: int | None = None
        """How long the last micro-batch took that had records of these sources."""
        self.limits: dict[int, int | None] = self._shares({}, {})

    def batch_ended(self, seconds: float, reaches: Mapping[int, SourceReach]) -> None:
        """A micro-batch is done: learn from it what the next one may take.

        `reaches`: where the sources stand; those that have handed nothing over say so.
        """
        admitted = {source: reach.admitted for source, reach in reaches.items() if reach.admitted}
        if not admitted:
            return
        self.last_batch_ms = round(seconds * 1000)
        if self._size is not None:
            self._size.observe(sum(admitted.values()), max(0.001, seconds))
        behind = {source: reach.behind for source, reach in reaches.items() if reach.behind}
        self.limits = self._shares(behind, admitted)

    def _shares(
        self, behind: Mapping[int, int], admitted: Mapping[int, int]
    ) -> dict[int, int | None]:
        if self._size is None:
            return dict.fromkeys(self._sources, self._most)
        total = self._size.records
        # Who has handed over all it had is expected to need as much again, but not held to it.
        expected = sum(count for source, count in admitted.items() if source not in behind)
        left = max(total - expected, total // 2)
        shares = [share or 0 for share in shared(left, list(behind.values()))]
        spare = max(0, left - sum(shares))  # for records that come meanwhile
        limits = dict.fromkeys(self._sources, total)
        limits.update((source, share + spare) for source, share in zip(behind, shares, strict=True))
        most = total if self._most is None else self._most
        return {source: min(limit, most) for source, limit in limits.items()}
