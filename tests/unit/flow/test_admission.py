"""How much a micro-batch may take: it settles near the target and stays there."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.data_generator import DataGeneratorSource
from headrace.connectors.number_sequence import NumberRanges
from headrace.connectors.whole_files import WholeFiles
from headrace.core.source import Source, Split, SplitEnumerator
from headrace.formats.stream_format import LinesOfFile, StreamFormat
from headrace.runtime import line_ranges
from headrace.runtime.flow.admission import (
    CLIMBING_GROWTH,
    FEWEST_RECORDS,
    PROBE,
    Admission,
    BatchSize,
    target_seconds,
)
from headrace.runtime.flow.gate import Gate, Pace, shared
from headrace.runtime.line_ranges import LineFiles
from headrace.testing.sources import ScriptedSource
from tests.unit.flow.rounds_of_sources import read_rounds, split_rounds

PLENTY = 10**12


def durations(
    size: BatchSize, fixed: float, cost: float, batches: int = 30, available: int = PLENTY,
    cold: float = 0.0, noise: Callable[[], float] = lambda: 1.0,
) -> list[float]:  # fmt: skip
    """Run micro-batches whose cost is known; how long each of them took."""
    found = []
    for number in range(batches):
        records = min(size.records, available)
        seconds = (fixed + cost * records) * noise() + (cold if number == 0 else 0)
        size.observe(records, seconds)
        found.append(seconds)
    return found


class TestBatchSize:
    @pytest.mark.parametrize("target", [1.0, 5.0, 30.0])
    @pytest.mark.parametrize("cost", [1e-6, 1e-4, 1e-2])
    @pytest.mark.parametrize("fixed", [0.01, 0.1, 0.18])
    def test_it_settles_at_the_target(self, target: float, cost: float, fixed: float) -> None:
        found = durations(BatchSize(target), fixed, cost, cold=4)
        assert all(0.8 * target < seconds < 1.2 * target for seconds in found[12:])
        assert max(found[2:]) < 1.5 * target
        changes = [after - before for before, after in pairwise(found[12:])]
        assert max(map(abs, changes)) < 0.1 * target

    def test_a_few_micro_batches_are_enough(self) -> None:
        found = durations(BatchSize(10), fixed=0.4, cost=3e-6, cold=3)
        assert found[4] > 5

    def test_noise_does_not_make_it_swing(self) -> None:
        chance = random.Random(7)
        found = durations(
            BatchSize(1), 0.15, 2e-5, 300, noise=lambda: chance.choice([0.8, 0.9, 1, 1.1, 1.3])
        )
        assert sum(0.5 < seconds < 2 for seconds in found[10:]) > 0.97 * len(found[10:])

    @pytest.mark.parametrize("factor", [20, 1 / 20])
    def test_a_sudden_change_of_cost(self, factor: float) -> None:
        size = BatchSize(1)
        durations(size, 0.1, 1e-4)
        found = durations(size, 0.1, 1e-4 * factor)
        assert all(0.7 < seconds < 1.5 for seconds in found[8:])
        if factor > 1:
            assert found[1] < 1.5  # more than what one batch could not know was taken once only

    def test_one_hiccup_is_made_good_soon(self) -> None:
        size = BatchSize(1)
        durations(size, 0.1, 1e-4)
        before = size.records
        size.observe(before, 15)
        assert all(seconds < 1.2 for seconds in durations(size, 0.1, 1e-4, 10))
        assert size.records > 0.8 * before

    def test_a_high_fixed_cost_stretches_the_target(self) -> None:
        size = BatchSize(1)
        found = durations(size, 0.5, 1e-5)
        assert 1.8 < found[-1] < 3.1
        assert 0.5 / found[-1] < 0.28

    def test_a_fixed_cost_above_the_target(self) -> None:
        """Then no micro-batch can be short enough: half of it at least is work."""
        size = BatchSize(1)
        found = durations(size, 4, 1e-5, 60)
        assert 6 < found[-1] < 10

    def test_dear_records(self) -> None:
        size = BatchSize(1)
        durations(size, 0.2, 5)
        assert size.records == FEWEST_RECORDS

    def test_small_batches_change_nothing(self) -> None:
        """While nothing waits, what a record costs is unknown and does not matter."""
        size = BatchSize(1)
        durations(size, 0.1, 1e-4)
        before = size.records
        durations(size, 0.3, 1e-4, available=20)
        assert size.records == before

    def test_a_few_records_on_cold_workers(self) -> None:
        """A job that begins with a trickle is ready for the flood after it."""
        size = BatchSize(1)
        before = size.records
        durations(size, 0.1, 1e-4, 5, available=3, cold=6)
        assert size.records == before

    def test_a_hiccup_in_a_trickle(self) -> None:
        size = BatchSize(1)
        durations(size, 0.1, 1e-5)
        before = size.records
        size.observe(5, 8)
        assert size.records == before // 2
        assert all(seconds < 1.2 for seconds in durations(size, 0.1, 1e-5, 4))

    def test_a_trickle_of_dear_records(self) -> None:
        size = BatchSize(1)
        durations(size, 0.1, 1.0, 30, available=5)
        assert size.records <= 50

    @given(st.lists(st.tuples(st.integers(0, 10**9), st.floats(0.001, 1000)), max_size=60))
    def test_whatever_happens_there_is_a_next_batch(self, seen: list[tuple[int, float]]) -> None:
        size = BatchSize(1)
        for records, seconds in seen:
            before = size.records
            size.observe(records, seconds)
            assert 1 <= size.records <= max(PROBE * (before + 1), CLIMBING_GROWTH * records)
            assert size.aim >= 1


@pytest.mark.parametrize(
    ("configured", "interval", "bounded", "target"),
    [
        (None, 0, False, 1),
        (None, 0, True, None),  # a bounded job without checkpoints takes all there is
        (None, 100, False, 1),
        (None, 30_000, True, 30),
        (2500, 30_000, True, 2.5),
        (0, 30_000, False, None),
    ],
)
def test_the_target(configured: Any, interval: int, bounded: bool, target: Any) -> None:
    assert target_seconds(configured, interval, bounded) == target


class TestSharing:
    def test_in_proportion_to_what_waits(self) -> None:
        assert shared(100, [300, 100]) == [75, 25]

    def test_who_has_little_gives_it_all(self) -> None:
        assert shared(100, [5, 10_000, 0]) == [5, 95, 0]

    def test_what_cannot_be_counted_is_not_limited(self) -> None:
        assert shared(100, [None, 200]) == [None, 100]

    @given(st.integers(1, 1000), st.lists(st.integers(0, 10**6), max_size=8))
    def test_nobody_starves_and_no_more_is_given(self, total: int, backlogs: list[int]) -> None:
        shares = shared(total, backlogs)
        assert sum(share or 0 for share in shares) <= max(total, len(backlogs)) + len(backlogs)
        for share, backlog in zip(shares, backlogs, strict=True):
            assert share is not None
            assert min(1, backlog) <= share <= backlog
        if sum(backlogs) <= total:
            assert shares == backlogs


class Growing(SplitEnumerator):
    """Splits that have what a test says."""

    positions_count_records = True

    def __init__(self, available: dict[str, int]):
        self.available = available

    def splits(self) -> list[Split]:
        return [Split(id) for id in self.available]

    def latest_position(self, split: Split, start: Any) -> Any:
        return self.available[split.id]


class Lists(Growing):
    positions_count_records = False


def offers(enumerator: SplitEnumerator, at: dict[str, Any]) -> list[tuple[Split, Any, Any]]:
    return [(split, at.get(split.id, 0), enumerator.latest_position(split, at.get(split.id, 0)))
            for split in enumerator.splits()]  # fmt: skip


class TestGate:
    def test_without_a_limit_everything_is_taken(self) -> None:
        enumerator = Growing({"a": 1000, "b": 5})
        gate = Gate(enumerator)
        assert gate.admit(offers(enumerator, {}), None) == {"a": 1000, "b": 5}
        assert (gate.reach.admitted, gate.reach.behind) == (1005, 0)

    def test_splits_share_the_limit(self) -> None:
        enumerator = Growing({"a": 300, "b": 100, "c": 0})
        gate = Gate(enumerator)
        assert gate.admit(offers(enumerator, {}), 100) == {"a": 75, "b": 25, "c": 0}
        reach = gate.reach
        assert (reach.admitted, reach.behind) == (100, 300)
        assert (reach.splits["a"].position, reach.splits["a"].available) == (75, 300)

    def test_files_are_read_one_after_the_other(self) -> None:
        enumerator = Growing({"a": 60, "b": 60, "c": 60})
        gate = Gate(enumerator, one_by_one=True)
        at = gate.admit(offers(enumerator, {}), 100)
        assert at == {"a": 60, "b": 40, "c": 0}
        assert gate.reach.behind == 80
        assert gate.admit(offers(enumerator, at), 100) == {"a": 60, "b": 60, "c": 60}

    def test_what_cannot_be_cut_is_taken_whole(self) -> None:
        enumerator = Lists({"a": 500})
        gate = Gate(enumerator)
        assert gate.admit(offers(enumerator, {}), 10) == {"a": 500}
        assert gate.reach.behind == 0

    def test_a_source_at_rest_hands_over_nothing(self) -> None:
        enumerator = Growing({"a": 10})
        gate = Gate(enumerator)
        at = gate.admit(offers(enumerator, {}), None)
        assert gate.reach.admitted == 10
        gate.admit(offers(enumerator, at), None)
        assert gate.reach.admitted == 0
        assert gate.reach.splits["a"].position == 10

    def test_splits_that_wait_stay_visible(self) -> None:
        enumerator = Growing({"a": 100, "b": 100})
        gate = Gate(enumerator)
        at = gate.admit(offers(enumerator, {}), 10)
        gate.admit([offer for offer in offers(enumerator, at) if offer[0].id == "a"], 10)
        assert gate.reach.splits["b"].behind == 95

    def test_every_number_once_however_it_is_cut(self) -> None:
        enumerator = NumberRanges(-50, 1000, 8)
        gate = Gate(enumerator)
        at = {split.id: enumerator.initial_position(split) for split in enumerator.splits()}
        read: list[int] = []
        chance = random.Random(1)
        while len(read) < 1050:
            ends = gate.admit(offers(enumerator, at), chance.randrange(1, 90))
            read += [number for id in at for number in range(at[id], ends[id])]
            assert ends != at
            at = ends
        assert sorted(read) == list(range(-50, 1000))


class TestSources:
    """Wherever a source is cut, all it has is read once."""

    @pytest.mark.parametrize("parallelism", [1, 3])
    def test_lines_of_files(self, tmp_path: Path, parallelism: int) -> None:
        chance = random.Random(parallelism)
        lines = [f"{number} {'é' * chance.randrange(40)}" for number in range(3000)]
        files = [tmp_path / name for name in ("a", "b", "c")]
        for place, file in enumerate(files):
            file.write_text("\n".join(lines[place::3]) + "\n", encoding="utf-8")
        with patch.multiple(line_ranges, BLOCK=4000, LARGEST_RANGE=10_000, SAMPLE=2000):
            found = self.read(LineFiles(files, parallelism), 100)
        assert Counter(line for batch in found for line in batch) == Counter(lines)
        assert len(found) > 15
        assert max(map(len, found)) < 250

    def test_whole_files(self, tmp_path: Path) -> None:
        for name in "abcdef":
            (tmp_path / name).write_text("".join(f"{name}{n}\n" for n in range(50)))
        lines = LinesOfFile(StreamFormat.text_line_format())
        found = self.read(WholeFiles(lines, (str(tmp_path),), watch=False, origin=None), 120)
        assert [sorted({line[0] for line in batch}) for batch in found] == [
            ["a", "b", "c"],
            ["d", "e", "f"],
        ]
        assert sum(map(len, found)) == 300

    def test_numbers_by_the_clock(self) -> None:
        source = DataGeneratorSource(lambda number: number, records_per_second=2000)
        enumerator = source.create_enumerator()
        gate = Gate(enumerator)
        split, other = enumerator.splits()
        start, end = {"next": 5, "since": 7}, {"next": 105, "since": 7}
        ends = gate.admit([(split, start, end), (other, end, end)], 30)
        assert ends == {split.id: {"next": 35, "since": 7}, other.id: end}
        assert gate.reach.behind == 70

    def test_scripts_are_never_cut(self) -> None:
        assert self.read(ScriptedSource([list(range(50)), [1], []]), 3) == [
            list(range(50)),
            [1],
            [],
        ]

    def read(self, source: Source[Any], limit: int) -> list[list[Any]]:
        """The records of each micro-batch."""
        return read_rounds(source, split_rounds(source, tasks=2), limit)


class Simulation:
    """A job of several sources, each with so many new records a second, and a price for each."""

    def __init__(
        self,
        backlogs: list[int],
        rates: list[float],
        costs: list[float],
        target: float | None = 1.0,
        max_records: int | None = None,
    ):
        self.admission = Admission(range(len(rates)), target, max_records)
        self.enumerators = [Growing({"only": backlog}) for backlog in backlogs]
        self.gates = [Gate(enumerator) for enumerator in self.enumerators]
        self.at = [0 for _ in rates]
        self.rates, self.costs = rates, costs
        self.fixed = 0.1

    def run(self, batches: int) -> list[tuple[float, list[int]]]:
        """How long each micro-batch took, and how many records each source gave."""
        return [self._run_one() for _ in range(batches)]

    def _run_one(self) -> tuple[float, list[int]]:
        taken = []
        for id, gate in enumerate(self.gates):
            offered = offers(self.enumerators[id], {"only": self.at[id]})
            end = gate.admit(offered, self.admission.limits[id])["only"]
            taken.append(end - self.at[id])
            self.at[id] = end
        seconds = self.fixed + sum(n * cost for n, cost in zip(taken, self.costs, strict=True))
        for enumerator, rate in zip(self.enumerators, self.rates, strict=True):
            enumerator.available["only"] += round(rate * (seconds + 0.01))
        reaches = {id: gate.reach for id, gate in enumerate(self.gates)}
        self.admission.batch_ended(seconds, reaches)
        return seconds, taken


class TestTheWholeLoop:
    def test_a_backlog_is_worked_off(self) -> None:
        job = Simulation([5_000_000], rates=[1000], costs=[1e-5])
        found = job.run(80)
        assert all(seconds < 1.3 for seconds, _ in found)
        assert job.at[0] > 5_000_000
        assert job.gates[0].reach.behind == 0
        assert found[-1][0] < 0.2  # small and quick again

    def test_a_slow_source_is_not_held_back_by_a_fast_one(self) -> None:
        job = Simulation([100, 50_000_000], rates=[50, 200_000], costs=[1e-5, 1e-5])
        found = job.run(60)
        assert all(0.7 < seconds < 1.4 for seconds, _ in found[10:])
        assert job.enumerators[0].available["only"] - job.at[0] <= 100

    def test_dear_records_of_one_source(self) -> None:
        job = Simulation([10**7, 10**7], rates=[0, 0], costs=[1e-3, 1e-6])
        found = job.run(60)
        assert all(0.7 < seconds < 1.5 for seconds, _ in found[10:])

    def test_two_backlogs_end_together(self) -> None:
        job = Simulation([3_000_000, 1_000_000], rates=[0, 0], costs=[1e-5, 1e-5])
        found = job.run(20)
        ratios = [taken[0] / taken[1] for _, taken in found[3:]]
        assert all(2.5 < ratio < 3.5 for ratio in ratios)

    def test_a_flood_at_a_source_that_kept_up(self) -> None:
        job = Simulation([100, 10**7], rates=[100, 0], costs=[1e-5, 1e-5])
        job.run(20)
        job.enumerators[0].available["only"] += 10**7
        found = job.run(10)
        assert found[0][0] < 2.5
        assert all(seconds < 1.5 for seconds, _ in found[2:])

    def test_the_most_records_of_a_batch(self) -> None:
        job = Simulation([10**6], rates=[0], costs=[1e-6], max_records=777)
        assert all(taken == [777] for _, taken in job.run(20))

    def test_a_cap_without_a_target(self) -> None:
        job = Simulation([10**6], [0], [1e-6], target=None, max_records=50)
        assert all(taken == [50] for _, taken in job.run(5))

    def test_a_micro_batch_without_records_teaches_nothing(self) -> None:
        job = Simulation([0], rates=[0], costs=[1e-5])
        before = dict(job.admission.limits)
        job.run(3)  # as one that somebody asked for
        assert job.admission.limits == before
        assert job.admission.last_batch_ms is None


def test_an_endless_source_keeps_the_interval_unless_it_is_behind() -> None:
    now = 0.0
    pace = Pace(1000, lambda: now)
    assert not pace.holds_back()
    pace.planned(is_behind=False)
    assert pace.holds_back()
    now = 1.0
    assert not pace.holds_back()
    pace.planned(is_behind=True)
    assert not pace.holds_back()
