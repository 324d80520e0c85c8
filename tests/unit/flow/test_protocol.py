"""Checkpoints by barriers: exactly once in whatever order things happen, and after any crash."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.memory import network
from headrace.runtime.flow import master, snapshots, splits, task
from headrace.runtime.flow.parcels import Parcel
from tests.unit.flow.simulation import Outside, expected, simulate


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 4), st.integers(0, 12), st.booleans())
def test_each_record_counts_once(chance, parts, size, counted):
    shown = simulate(chance, splits=parts, size=size, counted=counted, crashes=2)
    assert shown == expected(parts, size)


class TestPlantedFaults:
    """A fault in any part of the protocol is seen: so it would be seen if it crept in."""

    @staticmethod
    def is_seen() -> bool:
        for seed in range(40):
            try:
                if simulate(random.Random(seed), crashes=3) != expected(3, 17):
                    return True
            except Exception:
                return True
        return False

    def test_without_a_fault_there_is_nothing_to_see(self):
        assert not self.is_seen()

    def test_records_pass_a_barrier(self, monkeypatch):
        def careless(self, blob):
            yield from self._handle(Parcel.decode(blob))

        monkeypatch.setattr(task.FlowTask, "take", careless)
        assert self.is_seen()

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
        assert simulate(seed, splits=1, size=9, counted=counted) == expected(1, 9)
