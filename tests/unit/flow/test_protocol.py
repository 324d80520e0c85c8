"""Checkpoints by barriers: exactly once in whatever order things happen, and after any crash."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import JobFailed
from headrace.memory import network
from headrace.runtime.flow import intake, master, snapshots, splits, task
from headrace.runtime.flow.coordinator import CheckpointSettings
from headrace.runtime.flow.messages import Alignment, Declined, TaskId
from tests.unit.flow.simulation import (
    ALIGNED,
    DEFAULT,
    Outside,
    Shape,
    counting,
    expected,
    simulate,
)

SEEDS = st.integers(0, 1 << 32)


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 4), st.integers(0, 12), st.booleans())
def test_each_record_counts_once(seed, parts, size, counted):
    shape = Shape(parts, size, counted)
    assert simulate(seed, shape, crashes=2) == expected(shape)


OVERTAKING = Alignment(overtakes_after=0)
IN_THE_END = Alignment(overtakes_after=150)


@settings(max_examples=40, deadline=None)
@given(
    SEEDS, st.sampled_from([OVERTAKING, IN_THE_END]),
    st.integers(0, 12), st.integers(1, 200),
)  # fmt: skip
def test_each_record_counts_once_when_barriers_overtake(seed, alignment, size, room):
    shape = Shape(size=size)
    shown = simulate(seed, shape, crashes=2, alignment=alignment, room=room)
    assert shown == expected(shape)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_each_record_counts_at_least_once_without_alignment(seed):
    shown = simulate(seed, crashes=2, alignment=Alignment(holds=False))
    assert not expected(DEFAULT).keys() - shown.keys()


@pytest.mark.parametrize("alignment", [OVERTAKING, IN_THE_END])
def test_barriers_do_overtake(monkeypatch, alignment):
    kept = []
    add = snapshots.Snapshots.add_in_flight

    def noted(self, files, checkpoint, parcels):
        kept.extend(parcels)
        return add(self, files, checkpoint, parcels)

    monkeypatch.setattr(snapshots.Snapshots, "add_in_flight", noted)
    for seed in range(10):
        simulate(seed, alignment=alignment)
    assert kept


class TestPlantedFaults:
    """A fault in any part of the protocol is seen: so it would be seen if it crept in."""

    @staticmethod
    def is_seen(alignment: Alignment = ALIGNED) -> bool:
        for seed in range(40):
            try:
                shown = simulate(random.Random(seed), crashes=3, alignment=alignment)
                if shown != expected(DEFAULT):
                    return True
            except Exception:
                return True
        return False

    def test_without_a_fault_there_is_nothing_to_see(self):
        assert not self.is_seen()

    def test_records_pass_a_barrier(self, monkeypatch):
        take_next = intake.Intake.next
        monkeypatch.setattr(
            intake.Intake, "next", lambda self, *, holds: take_next(self, holds=False)
        )
        assert self.is_seen()

    def test_what_a_barrier_overtook_is_lost(self, monkeypatch):
        monkeypatch.setattr(
            snapshots.Snapshots,
            "add_in_flight",
            lambda self, files, checkpoint, parcels: (files, []),
        )
        assert self.is_seen(OVERTAKING)

    def test_what_comes_before_a_barrier_that_was_overtaken_is_lost(self, monkeypatch):
        keep = task.FlowTask._keep

        def forgetful(self, overtaken, parcel):
            keep(self, overtaken, parcel)
            overtaken.parcels.clear()

        monkeypatch.setattr(task.FlowTask, "_keep", forgetful)
        assert self.is_seen(OVERTAKING)

    def test_what_a_barrier_overtook_comes_twice(self, monkeypatch):
        before = intake.Intake.before_barriers

        def greedy(self, checkpoint):
            found, missing = before(self, checkpoint)
            return [*found, *self._held], missing

        monkeypatch.setattr(intake.Intake, "before_barriers", greedy)
        assert self.is_seen(IN_THE_END)

    def test_a_snapshot_is_older_than_its_barrier(self, monkeypatch):
        take = snapshots.Snapshots.take

        def stale(self, checkpoint):
            before = self._files
            _, written, figures = take(self, checkpoint)
            return before, written, figures

        monkeypatch.setattr(snapshots.Snapshots, "take", stale)
        assert self.is_seen()

    def test_output_is_committed_before_its_checkpoint(self, monkeypatch):
        monkeypatch.setattr(Outside, "recover", lambda self, last: self.committed(1 << 60))
        assert self.is_seen()

    def test_a_position_is_lost(self, monkeypatch):
        monkeypatch.setattr(
            splits.Splits, "_position", lambda self, reading: reading.at + reading.read // 2
        )
        assert self.is_seen()

    def test_a_checkpoint_counts_before_its_files_are_written(self, monkeypatch):
        def write(self, files=None, then=None):
            if files is not None and then is not None:
                self.writes.append((files, then))
                then()
                return
            files, _ = self.writes.popleft()
            self._network.disk.files.update(files)

        monkeypatch.setattr(network._Member, "write", write)
        assert self.is_seen()

    def test_prepared_output_of_a_given_up_checkpoint_is_dropped(self, monkeypatch):
        complete = master.Master._complete

        def forgetful(self, found):
            found.unclaimed.clear()
            complete(self, found)

        monkeypatch.setattr(master.Master, "_complete", forgetful)
        assert self.is_seen()


@pytest.mark.parametrize("counted", [True, False])
def test_a_position_may_be_within_a_range(counted):
    for seed in range(20):
        shape = Shape(1, 9, counted)
        assert simulate(seed, shape) == expected(shape)


def test_more_checkpoints_in_a_row_come_to_nothing_than_are_tolerated():
    heard = []

    class Listening(Outside):
        def failed(self, number, reason):
            heard.append((number, reason))

    physical, slot = counting(DEFAULT), TaskId(1, 0)
    driver = network.Network(
        physical, network.Disk(), Listening(physical),
        settings=CheckpointSettings(timeout=5000, tolerable_failures=1),
    ).master  # fmt: skip
    late = driver.trigger(0.0)
    driver.look_at_clock(4.9)
    assert heard == []
    driver.look_at_clock(5.0)
    driver.look_at_clock(6.0)
    assert heard == [(late, "took longer than 5 s")]
    declined = driver.trigger(6.0)
    with pytest.raises(JobFailed, match="2 checkpoints in a row have failed: the last"):
        driver.take_in(slot, Declined(slot, declined, "was lost"), 6.0)
    assert heard[1:] == [(declined, "was lost")]
    driver.take_in(slot, Declined(slot, declined, "was lost"), 6.0)  # nobody waits for it any more
