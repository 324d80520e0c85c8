"""What a batch's first run prepared is what is committed, however often the batch runs."""

from __future__ import annotations

from pathlib import Path

from headrace.jobs.journal import CommitJournal


def test_first_run_counts(tmp_path: Path) -> None:
    CommitJournal(tmp_path / "journal").settled(3, {"sink": ["first"]})
    resumed = CommitJournal(tmp_path / "journal")
    assert resumed.settled(3, {"sink": ["second"]}) == {"sink": ["first"]}
    assert resumed.settled(4, {"sink": ["next"]}) == {"sink": ["next"]}


def test_old_entries_go(tmp_path: Path) -> None:
    journal = CommitJournal(tmp_path)
    for batch_id in range(10):
        journal.settled(batch_id, {"sink": [batch_id]})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["batch-8", "batch-9"]


def test_without_a_folder_nothing_is_remembered() -> None:
    journal = CommitJournal(None)
    assert journal.settled(0, {"sink": [1]}) == {"sink": [1]}
    assert journal.settled(0, {"sink": [2]}) == {"sink": [2]}
