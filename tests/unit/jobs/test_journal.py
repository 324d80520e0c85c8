"""The journal outlives the process, forgets what is settled, and notices what it has lost."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from headrace.errors import CorruptState
from headrace.jobs.journal import CommitJournal
from headrace.spark.file_store import LocalStore


def journal_in(folder: Path) -> CommitJournal:
    return CommitJournal(LocalStore(folder / "journal"))


def recalled(folder: Path, last_committed: int | None = None) -> CommitJournal:
    journal = journal_in(folder)
    journal.recall(last_committed, required=True)
    return journal


def three_batches(folder: Path) -> CommitJournal:
    """Batch 1 is settled; 2 and 3 are not."""
    journal = journal_in(folder)
    journal.begin()
    for batch in (0, 1, 2, 3):
        journal.note(batch, {"sink": [batch]})
    journal.settle(0)
    journal.settle(1)
    return journal


def test_a_later_process_finds_what_was_noted(tmp_path: Path) -> None:
    journal_in(tmp_path).note(3, {"sink": ["prepared"]})
    resumed = recalled(tmp_path)
    assert resumed.pending() == [3]
    assert resumed.prepared(3) == {"sink": ["prepared"]}


def test_what_is_settled_is_gone(tmp_path: Path) -> None:
    assert three_batches(tmp_path).pending() == [2, 3]
    assert recalled(tmp_path, 3).pending() == [2, 3]


def test_what_is_discarded_does_not_count_as_settled(tmp_path: Path) -> None:
    journal = three_batches(tmp_path)
    journal.discard(3)
    with pytest.raises(CorruptState, match="batch-3 is missing"):
        recalled(tmp_path, 3)
    assert recalled(tmp_path, 2).pending() == [2]


def test_a_batch_run_again_counts_as_it_was_last(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    journal.note(1, {"sink": ["first"]})
    journal.note(1, {"sink": ["second"]})
    assert journal.prepared(1) == {"sink": ["second"]}


def test_without_a_folder_it_lasts_as_long_as_the_process() -> None:
    journal = CommitJournal(None)
    journal.begin()
    journal.recall(None, required=True)
    journal.note(1, {"sink": ["prepared"]})
    assert journal.pending() == [1]
    journal.settle(1)
    assert journal.pending() == []


@pytest.mark.parametrize("content", [b"", b"\0\0\0\0", b"torn", None])
@pytest.mark.parametrize("name", ["batch-2", "settled"])
def test_a_damaged_entry_is_refused(tmp_path: Path, name: str, content: bytes | None) -> None:
    three_batches(tmp_path)
    file = tmp_path / "journal" / name
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]) if content is None else content)
    with pytest.raises(CorruptState, match=f"{name} is not what was written"):
        recalled(tmp_path, 3)


@pytest.mark.parametrize("name", ["batch-2", "settled"])
def test_a_lost_entry_is_noticed(tmp_path: Path, name: str) -> None:
    three_batches(tmp_path)
    (tmp_path / "journal" / name).unlink()
    with pytest.raises(CorruptState, match=f"{name} is missing"):
        recalled(tmp_path, 3)


def test_a_lost_journal_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(CorruptState, match="settled is missing"):
        recalled(tmp_path, 0)
    recalled(tmp_path, None)
    journal_in(tmp_path).recall(0)  # of a job that has nothing to commit


def test_a_damaged_entry_of_a_batch_that_came_to_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    three_batches(tmp_path)
    (tmp_path / "journal/batch-3").write_bytes(b"torn")
    with caplog.at_level(logging.WARNING, "headrace"):
        assert recalled(tmp_path, 2).pending() == [2]
    assert "what checkpoint 3 prepared stays as it is" in caplog.text
