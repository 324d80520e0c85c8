"""The journal outlives the process, and forgets what is settled."""

from __future__ import annotations

from pathlib import Path

from headrace.jobs.journal import CommitJournal
from headrace.spark.file_store import LocalStore


def test_a_later_process_finds_what_was_noted(tmp_path: Path) -> None:
    CommitJournal(LocalStore(tmp_path / "journal")).note(3, {"sink": ["prepared"]})
    resumed = CommitJournal(LocalStore(tmp_path / "journal"))
    resumed.recall()
    assert resumed.pending() == [3]
    assert resumed.prepared(3) == {"sink": ["prepared"]}


def test_what_is_settled_is_gone(tmp_path: Path) -> None:
    journal = CommitJournal(LocalStore(tmp_path))
    for batch in (1, 2):
        journal.note(batch, {"sink": [batch]})
    journal.settle(1)
    assert journal.pending() == [2]
    resumed = CommitJournal(LocalStore(tmp_path))
    resumed.recall()
    assert resumed.pending() == [2]


def test_a_batch_run_again_counts_as_it_was_last(tmp_path: Path) -> None:
    journal = CommitJournal(LocalStore(tmp_path))
    journal.note(1, {"sink": ["first"]})
    journal.note(1, {"sink": ["second"]})
    assert journal.prepared(1) == {"sink": ["second"]}


def test_without_a_folder_it_lasts_as_long_as_the_process() -> None:
    journal = CommitJournal(None)
    journal.note(1, {"sink": ["prepared"]})
    assert journal.pending() == [1]
    journal.settle(1)
    assert journal.pending() == []
