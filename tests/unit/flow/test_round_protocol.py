"""Rounds: exactly once wherever tasks run, in whatever order, and after any crash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.core.source import SplitSpec
from headrace.runtime.flow import coordinator, intake, round_sources, rounds
from headrace.runtime.flow.messages import Alignment, Round
from headrace.runtime.flow.splits import is_within
from headrace.spark.flow import round_worker
from headrace.spark.savepoints import in_flight
from tests.unit.flow.round_network import RoundNetwork
from tests.unit.flow.round_simulation import Moved, simulate_rounds
from tests.unit.flow.simulation import ALIGNED, Outside, Shape, expected

SEEDS = st.integers(0, 1 << 32)
OVERTAKING = Alignment(overtakes_after=0)
TIMED = Shape(3, 16, timed=True)
TWO_SOURCES = Shape(2, 9, more=30)
"""One of them ends long before the other."""
WITHIN_RANGES = Shape(2, 9, counted=False, more=5)
"""In real time positions of the first are inside of ranges."""


@st.composite
def shapes(draw: Any) -> Shape:
    return Shape(
        draw(st.integers(1, 4)),
        draw(st.integers(0, 12)),
        counted=draw(st.booleans()),
        come_and_go=draw(st.booleans()),
        more=draw(st.integers(0, 20)),
    )


@settings(max_examples=40, deadline=None)
@given(SEEDS, shapes())
def test_each_record_counts_once(seed, shape):
    assert simulate_rounds(seed, shape) == expected(shape)


@settings(max_examples=40, deadline=None)
@given(SEEDS, shapes(), st.sampled_from([ALIGNED, OVERTAKING]))
def test_each_record_counts_once_if_some_attempts_are_in_real_time(seed, shape, alignment):
    assert simulate_rounds(seed, shape, crashes=4, real_time=alignment) == expected(shape)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    SEEDS,
    st.sampled_from([None, ALIGNED, OVERTAKING]),
    st.sampled_from([Shape(3, 9, more=12), TIMED]),
)
def test_each_record_counts_once_at_whatever_parallelism(tmp_path_factory, seed, real_time, shape):
    folder = tmp_path_factory.mktemp("savepoints")
    shown = simulate_rounds(seed, shape, crashes=4, real_time=real_time, savepoints=folder)
    assert shown == expected(shape)


def test_what_may_happen_does(monkeypatch, tmp_path):
    """A simulation that tries nothing proves nothing."""
    seen = set()

    def note(owner: Any, name: str, what: Any) -> None:
        original = getattr(owner, name)

        def noted(*args: Any, **options: Any) -> Any:
            found = original(*args, **options)
            seen.add(what(*args, found))
            return found

        monkeypatch.setattr(owner, name, noted)

    note(round_worker, "_catch_up", lambda at_work, kept, done: f"caught up: {done}")
    note(round_worker, "restore_level", lambda *args: "in flight" if args[-1] else "")
    note(round_sources, "rest_of_range", lambda *args: "read on")
    note(RoundNetwork, "lose", lambda *args: "lost")
    note(Moved, "given_to", lambda *args: f"at {args[0].plan.parallelism}")
    note(in_flight, "deal_kept", lambda *args: "dealt anew" if args[-1] else "")
    for seed in range(15):
        simulate_rounds(seed, WITHIN_RANGES, real_time=OVERTAKING)
        simulate_rounds(seed, TWO_SOURCES, real_time=OVERTAKING, savepoints=tmp_path / str(seed))
    assert seen - {""} == {
        "caught up: True",
        "in flight",
        "read on",
        "lost",
        "at 1",
        "at 2",
        "at 3",
        "dealt anew",
    }


class TestPlantedFaults:
    """A fault in any part of the protocol is seen: so it would be seen if it crept in."""

    @staticmethod
    def is_seen(
        shape: Shape = TWO_SOURCES,
        real_time: Alignment | None = None,
        tries: int = 60,
        savepoints: Path | None = None,
    ) -> bool:
        for seed in range(tries):
            folder = None if savepoints is None else savepoints / str(seed)
            try:
                shown = simulate_rounds(seed, shape, real_time=real_time, savepoints=folder)
                if shown != expected(shape):
                    return True
            except Exception:
                return True
        return False

    @pytest.mark.parametrize("real_time", [None, ALIGNED, OVERTAKING])
    @pytest.mark.parametrize("shape", [TWO_SOURCES, WITHIN_RANGES])
    def test_without_a_fault_there_is_nothing_to_see(self, shape, real_time):
        assert not self.is_seen(shape, real_time, tries=15)

    def test_a_kept_task_is_used_though_it_stands_at_another_checkpoint(self, monkeypatch):
        monkeypatch.setattr(round_worker, "_catch_up", lambda at_work, kept: True)
        assert self.is_seen()

    def test_a_kept_task_catches_up_by_fewer_files_than_it_has_missed(self, monkeypatch):
        restore = round_worker.restore

        def hasty(state, files, read):
            restore(state, replace(files, files=files.files[1:]), read)

        monkeypatch.setattr(round_worker, "restore", hasty)
        assert self.is_seen()

    def test_a_task_of_an_earlier_attempt_is_used(self, monkeypatch):
        take = round_worker._take_kept

        def careless(shipment, id, begin):
            kept = round_worker._KEPT.get((shipment.run_id, id))
            if kept is not None:
                kept.attempt = begin.attempt
                kept.checkpoint = begin.restored
            return take(shipment, id, begin)

        monkeypatch.setattr(round_worker, "_take_kept", careless)
        assert self.is_seen()

    def test_positions_are_noted_before_what_lies_before_them_was_read(self, monkeypatch):
        positions = rounds.Rounds._positions

        def hasty(self, complete):
            found = positions(self, complete)
            for source in self.sources:
                assert isinstance(source.vertex.source, SplitSpec)
                enumerator = source.vertex.source.source.create_enumerator()
                found[source.vertex.uid] = {
                    split.id: [split.info, enumerator.latest_position(split, known[split.id][1])]
                    for known in [found[source.vertex.uid]]
                    for split in enumerator.splits()
                    if split.id in known and not is_within(known[split.id][1])
                }
            return found

        monkeypatch.setattr(rounds.Rounds, "_positions", hasty)
        assert self.is_seen()

    def test_positions_are_those_of_the_round_before(self, monkeypatch):
        begin = rounds.Rounds.begin_round

        def late(self, now, portions):
            self.known = getattr(self, "noted", {})
            self.noted = {source.vertex.uid: source.positions() for source in self.sources}
            return begin(self, now, portions)

        monkeypatch.setattr(rounds.Rounds, "begin_round", late)
        monkeypatch.setattr(rounds.Rounds, "_positions", lambda self, complete: self.known)
        assert self.is_seen()

    def test_a_sender_that_has_ended_is_forgotten(self, monkeypatch):
        monkeypatch.setattr(rounds, "Round", lambda **told: Round(**{**told, "over": frozenset()}))
        assert self.is_seen()

    def test_the_output_of_an_ended_task_is_committed_twice(self, monkeypatch):
        monkeypatch.setattr(
            coordinator.Coordinator,
            "_claim",
            lambda self, pending: {
                **pending.parts,
                **{task: self._ended[task] for task in pending.ended},
            },
        )
        assert self.is_seen()

    def test_output_is_committed_again_after_a_crash(self, monkeypatch):
        def committed(self, number):
            for ready in sorted(n for n in self._noted if n <= number):
                self.shown += self._noted[ready]

        monkeypatch.setattr(Outside, "committed", committed)
        assert self.is_seen()

    def test_output_of_a_round_that_came_to_nothing_is_committed(self, monkeypatch):
        monkeypatch.setattr(Outside, "recover", lambda self, last: self.committed(1 << 60))
        assert self.is_seen()

    def test_a_range_that_was_read_in_part_is_read_again(self, monkeypatch):
        rest = round_sources.rest_of_range
        monkeypatch.setattr(
            round_sources,
            "rest_of_range",
            lambda split, at: replace(rest(split, at), skip=0),
        )
        assert self.is_seen(WITHIN_RANGES, ALIGNED)

    def test_what_was_on_its_way_in_real_time_is_lost(self, monkeypatch):
        restore = round_worker.restore_level
        monkeypatch.setattr(round_worker, "restore_level", lambda *args: restore(*args) and [])
        assert self.is_seen(real_time=OVERTAKING)

    @pytest.mark.parametrize(
        "fault",
        [lambda dealt: dealt[-1:], lambda dealt: [*dealt, *dealt[:-1]]],
        ids=["lost", "dealt twice"],
    )
    def test_what_is_dealt_anew_is_not_what_was_on_its_way(self, monkeypatch, tmp_path, fault):
        deal = in_flight.deal_kept
        monkeypatch.setattr(in_flight, "deal_kept", lambda *args: fault(deal(*args)))
        assert self.is_seen(TIMED, OVERTAKING, savepoints=tmp_path)

    def test_what_was_dealt_anew_is_not_kept_again(self, monkeypatch, tmp_path):
        before = intake.Intake.before_barriers

        def forgetful(self, checkpoint):
            found, missing = before(self, checkpoint)
            return [parcel for parcel in found if not parcel.was_kept], missing

        monkeypatch.setattr(intake.Intake, "before_barriers", forgetful)
        assert self.is_seen(TIMED, OVERTAKING, savepoints=tmp_path)

    def test_a_source_calls_itself_idle_before_it_knows_its_splits(self, monkeypatch):
        monkeypatch.setattr(
            rounds, "Round", lambda **told: Round(**{**told, "awaits_splits": False})
        )
        assert self.is_seen(replace(TIMED, more=16))

    def test_the_files_of_a_checkpoint_are_those_of_the_round_before(self, monkeypatch):
        take = rounds.Rounds.take_in

        def stale(self, task, message, now):
            part = getattr(message, "part", None)
            if part is not None and task.level == 2 and self._latest is not None:
                before = self._latest.slots.get(task)
                message = replace(message, part=replace(part, state=before))
            take(self, task, message, now)

        monkeypatch.setattr(rounds.Rounds, "take_in", stale)
        assert self.is_seen()
