"""Which checkpoint a job goes on from: never one that a start before the last has written since."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier
from zlib import crc32

import pytest

from headrace.errors import CorruptState
from headrace.jobs.failover import retryable
from headrace.runtime.declared_state import Declared
from headrace.runtime.flow.checkpoint import Checkpoint
from headrace.runtime.flow.master import Superseded
from headrace.runtime.flow.messages import SlotFiles, StateFile, TaskId
from headrace.spark.checked_json import dumped
from headrace.spark.file_store import LocalStore
from headrace.spark.flow.checkpoint_files import (
    STATE,
    CheckpointFiles,
    Claims,
    begin_attempt,
    last_checkpoint,
    read_checkpoint,
    require_files,
)

SLOT = TaskId(1, 0)


def checkpoint(number: int, attempt: int, *names: str) -> Checkpoint:
    files = tuple(StateFile(name, 1, 0) for name in names)
    states = {("uid", "count"): Declared("value", "LONG", False)}
    slots = {SLOT: SlotFiles(files, 0, states)}
    return Checkpoint(number, attempt, slots, {"source": {"part-0": [None, 5]}})


def files_of(run: LocalStore, attempt: int, retained: int = 1) -> CheckpointFiles:
    return CheckpointFiles(run, attempt, retained, lambda: attempt == last_claim(run))


def last_claim(run: LocalStore) -> int:
    return max(int(name.partition("-")[0]) for name in run.names("claims"))


@pytest.fixture
def run(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path)


def test_a_first_start_goes_on_from_nothing(run):
    assert begin_attempt(run) == (1, None)


def test_a_checkpoint_is_read_as_it_was_written(run):
    begin_attempt(run)
    written = checkpoint(3, 1, "1-1-0-3")
    files_of(run, 1).save(written)
    assert last_checkpoint(run) == read_checkpoint(run, 3) == written


@pytest.mark.parametrize("fall_back", [False, True])
def test_what_an_earlier_start_writes_later_is_never_read(run, fall_back):
    begin_attempt(run)
    old = files_of(run, 1)
    old.save(checkpoint(3, 1))
    number, began_with = begin_attempt(run)
    assert (number, began_with.number) == (2, 3)
    assert not old.is_current()
    old.save(checkpoint(4, 1))  # it had asked before it was stopped
    assert last_checkpoint(run).name == "3-1"
    number, began_with = begin_attempt(run, fall_back=fall_back)
    assert (number, began_with.name) == (3, "3-1")
    files_of(run, 3).save(checkpoint(4, 3))
    assert last_checkpoint(run).name == "4-3"


def test_of_attempts_only_the_last_leaves_files(run):
    for attempt in (1, 2, 3):
        begin_attempt(run)
        files_of(run, attempt).save(checkpoint(attempt, attempt))
    assert run.names("attempts") == ["3", "3-own"]
    assert len(run.names("claims")) == 1
    assert last_checkpoint(run).name == "3-3"
    assert begin_attempt(run)[0] == 4


def test_a_number_that_was_forgotten_is_not_given_out_again(run, monkeypatch):
    """A driver looks which number is free, and falls asleep until three others have come."""
    asleep = LocalStore(Path(run.uri.removeprefix("file://")))
    names = asleep.names
    looks = 0

    def fall_asleep(folder: str) -> list[str]:
        nonlocal looks
        found = names(folder)
        looks += folder == "attempts"
        if looks == 1 and folder == "attempts":
            for attempt in (1, 2, 3):
                begin_attempt(run)
                files_of(run, attempt).save(checkpoint(attempt, attempt))
        return found

    monkeypatch.setattr(asleep, "names", fall_asleep)
    assert begin_attempt(asleep)[0] > 3


def test_an_attempt_that_is_forgotten_has_no_first_checkpoint(run):
    begin_attempt(run)
    begin_attempt(run)
    old = files_of(run, 1)
    files_of(run, 2).save(checkpoint(1, 2))
    old.save(checkpoint(1, 1))
    assert not old.is_current()
    assert last_checkpoint(run).name == "1-2"


def test_what_no_checkpoint_needs_goes(run):
    begin_attempt(run)
    files = files_of(run, 1)
    for name in ("1-1-0-1", "1-1-0-2", "1-1-0-3", "1-1-0-4"):
        run.write(f"{STATE}/{name}", b"x")
    files.save(checkpoint(2, 1, "1-1-0-1", "1-1-0-2"))
    files.save(checkpoint(3, 1, "1-1-0-2", "1-1-0-3"))
    files.clean()
    assert run.names(STATE) == ["1-1-0-2", "1-1-0-3", "1-1-0-4"]  # the last is for one to come
    assert run.names("checkpoints") == ["3-1"]


def test_what_somebody_reads_stays(run):
    begin_attempt(run)
    files = files_of(run, 1)
    run.write(f"{STATE}/1-1-0-1", b"x")
    files.want(1)
    files.save(checkpoint(1, 1, "1-1-0-1"))
    files.save(checkpoint(2, 1))
    files.clean()
    with files.hold(1) as held:
        files.clean()
        assert held == 1
        assert run.names(STATE) == ["1-1-0-1"]
    files.clean()
    assert run.names(STATE) == []


@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_a_damaged_file_is_named(run, damage):
    begin_attempt(run)
    whole = checkpoint(1, 1, "1-1-0-1")
    files_of(run, 1).save(whole)
    if damage == "cut":
        run.write(f"{STATE}/1-1-0-1", b"")
    with pytest.raises(CorruptState, match="1-1-0-1"):
        require_files(run, whole)


def test_a_damaged_checkpoint_is_named(run):
    begin_attempt(run)
    files_of(run, 1).save(checkpoint(1, 1))
    run.write("checkpoints/1-1", b"{}")
    with pytest.raises(CorruptState, match="1-1"):
        last_checkpoint(run)


def test_who_was_overtaken_by_another_driver_does_not_begin_again(run):
    claims = Claims(run)
    assert [begin_attempt(run, claims)[0] for _ in range(2)] == [1, 2]
    begin_attempt(run)  # somebody else
    with pytest.raises(Superseded, match="started once more"):
        begin_attempt(run, claims)
    assert not retryable(Superseded())


def test_drivers_that_start_in_the_same_instant_take_different_numbers(run):
    drivers = 8
    for start in range(10):
        together = Barrier(drivers)
        with ThreadPoolExecutor(drivers) as pool:
            begun = [pool.submit(_begin_together, run, together) for _ in range(drivers)]
        numbers = [number for each in begun if (number := each.result()) is not None]
        assert len(set(numbers)) == len(numbers), start
        assert max(numbers) == last_claim(run), start


def _begin_together(run: LocalStore, together: Barrier) -> int | None:
    together.wait()
    with suppress(Superseded):
        return begin_attempt(run)[0]
    return None


def test_a_number_that_somebody_took_and_made_nothing_of_is_passed_over(run):
    begin_attempt(run)
    run.write("claims/2-somebody", b"")
    assert begin_attempt(run)[0] == 3


def test_the_last_checkpoint_stays_while_somebody_looks_at_it(run):
    begin_attempt(run)
    files = files_of(run, 1)
    with files.hold() as held:
        assert held is None
    files.save(checkpoint(1, 1))
    with files.hold() as first, files.hold() as again:
        assert first == again == 1
        files.save(checkpoint(2, 1))
        files.clean()
        assert run.names("checkpoints") == ["1-1", "2-1"]
    files.clean()
    assert run.names("checkpoints") == ["2-1"]


def test_what_nobody_came_for_goes(run):
    begin_attempt(run)
    files = files_of(run, 1)
    run.write(f"{STATE}/1-1-0-1", b"x")
    files.want(1)
    files.save(checkpoint(1, 1, "1-1-0-1"))
    files.save(checkpoint(2, 1))
    files.forget(1)
    files.clean()
    assert run.names(STATE) == []


@pytest.fixture
def stopped(run: LocalStore) -> LocalStore:
    """A run of two attempts, the last of which has three checkpoints."""
    begin_attempt(run)
    files_of(run, 1).save(checkpoint(1, 1))
    begin_attempt(run)
    files = files_of(run, 2, retained=3)
    for number in (2, 3, 4):
        run.write(f"{STATE}/2-1-0-{number}", b"x")
        written = StateFile(f"2-1-0-{number}", 1, crc32(b"x"))
        files.save(Checkpoint(number, 2, {SLOT: SlotFiles((written,))}))
    return run


@pytest.mark.parametrize("damage", [b"", b"y", None])
def test_a_job_that_may_falls_back_behind_what_is_damaged(stopped, damage, caplog):
    if damage is None:
        stopped.delete(f"{STATE}/2-1-0-4")
    else:
        stopped.write(f"{STATE}/2-1-0-4", damage)
    stopped.write("checkpoints/3-2", b"{}")
    with caplog.at_level(logging.WARNING, "headrace"):
        number, began_with = begin_attempt(stopped, fall_back=True)
    assert (number, began_with.name) == (3, "2-2")
    assert "checkpoint 4" in caplog.text
    assert "goes on from checkpoint 2: " in caplog.text
    assert f"{STATE}/2-1-0-4" in caplog.text
    # What was fallen back from counts no more.
    assert last_checkpoint(stopped).name == "2-2"


def test_nobody_falls_back_without_need_or_without_being_asked(stopped, caplog):
    assert begin_attempt(stopped, fall_back=True)[1].name == "4-2"
    assert not caplog.text
    stopped.write("checkpoints/4-2", b"{}")
    with pytest.raises(CorruptState, match="4-2"):
        begin_attempt(stopped)


def test_nobody_falls_back_behind_the_first_checkpoint(stopped):
    """What an attempt before had done was left behind, and what was left behind may be gone."""
    for number in (2, 3, 4):
        stopped.write(f"{STATE}/2-1-0-{number}", b"y")
    with pytest.raises(CorruptState, match="2-1-0-4 is not what was written"):
        begin_attempt(stopped, fall_back=True)
    assert last_checkpoint(stopped).name == "4-2"


def test_what_a_killed_writer_had_begun_goes_with_the_next_attempt(run):
    begin_attempt(run)
    for name in ("1-1-0-3", "9-1-0-3"):
        run.write(f"{STATE}/.{name}.0123abcd", b"torn")
    for name in ("5-1", "5-9"):
        run.write(f"checkpoints/.{name}.0123abcd", b"torn")
    run.write(f"{STATE}/.1-1-0-3.crc", b"Hadoop's own")
    begin_attempt(run)
    assert run.names(STATE) == [".1-1-0-3.crc", ".9-1-0-3.0123abcd"]
    assert run.names("checkpoints") == [".5-9.0123abcd"]


def test_who_wakes_up_removes_no_checkpoint_of_those_who_went_on(run):
    begin_attempt(run)
    asleep = files_of(run, 1)
    asleep.save(checkpoint(1, 1))
    begin_attempt(run)
    files_of(run, 2).save(checkpoint(2, 2))
    asleep.clean()
    assert last_checkpoint(run).name == "2-2"


def test_what_earlier_versions_wrote_is_read(run):
    run.write("claims/1", b"")
    run.write("attempts/1", dumped({"began_with": None, "has_own": True}))
    run.write("checkpoints/3-1", dumped(checkpoint(3, 1).to_json()))
    number, began_with = begin_attempt(run)
    assert (number, began_with.name) == (2, "3-1")
    run.delete("checkpoints/3-1")
    run.delete("attempts/2")
    with pytest.raises(CorruptState, match="what attempt 1 wrote to checkpoints is missing"):
        last_checkpoint(run)
