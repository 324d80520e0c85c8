"""The journal outlives the process, forgets what is settled, and notices what it has lost."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from headrace.errors import CorruptState
from headrace.jobs.journal import CommitJournal, _sealed
from headrace.runtime.flow.checkpoint import CheckpointId
from headrace.spark.file_store import LocalStore


def journal_in(folder: Path) -> CommitJournal:
    return CommitJournal(LocalStore(folder / "journal"))


def recalled(folder: Path, last: int | None = None, attempt: int = 1) -> CommitJournal:
    """As the attempt after that one finds it, which goes on from checkpoint `last`."""
    journal = journal_in(folder)
    id = None if last is None else CheckpointId(last, attempt)
    journal.recall(id, attempt + 1, required=True)
    return journal


def three_batches(folder: Path) -> CommitJournal:
    """Batch 1 is settled; 2 and 3 are not."""
    journal = begun_in(folder)
    for batch in (0, 1, 2, 3):
        journal.note(batch, {"sink": [batch]})
    journal.settle(CheckpointId(0, 1))
    journal.settle(CheckpointId(1, 1))
    return journal


def begun_in(folder: Path, attempt: int = 1, last: CheckpointId | None = None) -> CommitJournal:
    journal = journal_in(folder)
    journal.recall(last, attempt)
    journal.begin()
    return journal


def test_a_later_process_finds_what_was_noted(tmp_path: Path) -> None:
    begun_in(tmp_path).note(3, {"sink": ["prepared"]})
    resumed = recalled(tmp_path)
    assert resumed.pending() == [(3, 1)]
    assert resumed.prepared(CheckpointId(3, 1)) == {"sink": ["prepared"]}


def test_what_is_settled_is_gone(tmp_path: Path) -> None:
    assert three_batches(tmp_path).pending() == [(2, 1), (3, 1)]
    assert recalled(tmp_path, 3).pending() == [(2, 1), (3, 1)]


def test_what_is_discarded_does_not_count_as_settled(tmp_path: Path) -> None:
    journal = three_batches(tmp_path)
    journal.discard(CheckpointId(3, 1))
    with pytest.raises(CorruptState, match="batch-3-1 is missing"):
        recalled(tmp_path, 3)
    assert recalled(tmp_path, 2).pending() == [(2, 1)]


def test_a_batch_run_again_counts_as_it_was_last(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    journal.note(1, {"sink": ["first"]})
    journal.note(1, {"sink": ["second"]})
    assert journal.prepared(CheckpointId(1, 0)) == {"sink": ["second"]}


def test_without_a_folder_it_lasts_as_long_as_the_process() -> None:
    journal = CommitJournal(None)
    journal.begin()
    journal.recall(None, 1, required=True)
    journal.note(1, {"sink": ["prepared"]})
    assert journal.pending() == [(1, 1)]
    journal.settle(CheckpointId(1, 1))
    assert journal.pending() == []


@pytest.mark.parametrize("content", [b"", b"\0\0\0\0", b"torn", None])
@pytest.mark.parametrize("name", ["batch-2", "settled"])
def test_a_damaged_entry_is_refused(tmp_path: Path, name: str, content: bytes | None) -> None:
    as_once_written(tmp_path)
    file = tmp_path / "journal" / name
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]) if content is None else content)
    with pytest.raises(CorruptState, match=f"{name} is not what was written"):
        recalled(tmp_path, 3)


@pytest.mark.parametrize("name", ["batch-2-1", "settled-1-1"])
def test_a_lost_entry_is_noticed(tmp_path: Path, name: str) -> None:
    three_batches(tmp_path)
    (tmp_path / "journal" / name).unlink()
    with pytest.raises(CorruptState, match=f"{name.removesuffix('-1-1')} is missing"):
        recalled(tmp_path, 3)


def test_a_lost_journal_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(CorruptState, match="settled is missing"):
        recalled(tmp_path, 0)
    recalled(tmp_path, None)
    journal_in(tmp_path).recall(CheckpointId(0, 1), 2)  # of a job that has nothing to commit


def test_a_damaged_entry_of_a_batch_that_came_to_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    three_batches(tmp_path)
    (tmp_path / "journal/batch-3-1").write_bytes(b"torn")
    with caplog.at_level(logging.WARNING, "headrace"):
        assert recalled(tmp_path, 2).pending() == [(2, 1)]
    assert "what checkpoint 3 prepared stays as it is" in caplog.text


def as_once_written(folder: Path) -> None:
    """What the versions left whose entries did not say which attempt they are of."""
    three_batches(folder)
    for file in (folder / "journal").iterdir():
        file.rename(file.with_name(file.name.removesuffix("-1")))
    settled = LocalStore(folder / "journal")
    settled.delete("settled-1")
    settled.write("settled", _sealed(b"1"))


def test_a_journal_without_attempts_is_read(tmp_path: Path) -> None:
    as_once_written(tmp_path)
    journal = recalled(tmp_path, 2, attempt=7)
    assert [journal.counts(entry) for entry in journal.pending()] == [True, False]
    journal.settle(CheckpointId(2, 0))
    # One that died here finds the rest as it was.
    again = recalled(tmp_path, 2, attempt=7)
    assert [again.counts(entry) for entry in again.pending()] == [False]
    again.discard(CheckpointId(3, 0))
    again.begin()
    assert sorted(file.name for file in (tmp_path / "journal").iterdir()) == ["settled-2-8"]
    (tmp_path / "journal/settled-2-8").unlink()
    as_once_written(tmp_path / "other")
    (tmp_path / "other/journal/batch-2").unlink()
    with pytest.raises(CorruptState, match="batch-2-7 is missing"):
        recalled(tmp_path / "other", 3, attempt=7)


def test_what_somebody_writes_who_was_followed_does_not_count(tmp_path: Path) -> None:
    """He was asleep before he noted an entry, or before he said that one is settled."""
    asleep = begun_in(tmp_path)
    asleep.note(0, {"sink": ["settled since"]})
    follower = journal_in(tmp_path)
    follower.recall(CheckpointId(0, 1), 2)
    follower.settle(CheckpointId(0, 1))
    follower.begin()
    for number in (1, 2):
        follower.note(number, {"sink": [number]})
        follower.settle(CheckpointId(number, 2))
    asleep.settle(CheckpointId(0, 1))
    asleep.note(1, {"sink": ["nobody's"]})
    found = recalled(tmp_path, 2, attempt=2)
    assert [(entry, found.counts(entry)) for entry in found.pending()] == [((1, 1), False)]


def test_what_was_not_finished_goes(tmp_path: Path) -> None:
    three_batches(tmp_path)
    folder = tmp_path / "journal"
    for name in (".batch-4-1.0123abcd", ".settled-1-1.0123abcd", ".batch-4-2.0123abcd"):
        (folder / name).write_bytes(b"torn")
    recalled(tmp_path, 3)
    hidden = [file.name for file in folder.iterdir() if file.name.startswith(".")]
    assert hidden == [".batch-4-2.0123abcd"]
