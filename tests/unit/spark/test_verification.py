"""A damaged checkpoint is refused before a job goes on from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest

from headrace.errors import CorruptState
from headrace.runtime.flow.checkpoint import Checkpoint as Written
from headrace.runtime.flow.messages import SlotFiles, StateFile, TaskId
from headrace.spark.checked_json import dumped
from headrace.spark.file_store import LocalStore
from headrace.spark.flow.checkpoint_files import (
    CheckpointFiles,
    begin_attempt,
    last_checkpoint,
    require_files,
)
from headrace.spark.savepoints.checkpoint import Checkpoint
from headrace.spark.savepoints.verification import read_note, verify_run

DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "torn": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "truncated": lambda content: content[:-3],
    "bit flipped": lambda content: _flipped(content, len(content) * 2 // 3),
    "first bit flipped": lambda content: _flipped(content, 0),
    "missing": lambda content: None,
}
SHORTENED = ["torn", "empty", "truncated", "missing"]
PLAN, LAST, STATE = "plan.json", "checkpoints/3-1", "state/1-1-0-3"


def _flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def damage(run: LocalStore, name: str, how: str) -> None:
    file = run.path / name
    changed = DAMAGES[how](file.read_bytes())
    if changed is None:
        file.unlink()
    else:
        file.write_bytes(changed)


@pytest.fixture
def run(tmp_path: Path) -> LocalStore:
    """The run of a job that was stopped after checkpoint 3."""
    store = LocalStore(tmp_path / "run-0")
    store.write(PLAN, dumped({"operators": [{"uid": "a"}], "parallelism": 2, "levels": 1}))
    attempt, _ = begin_attempt(store)
    content = b"what the slot holds" * 20
    store.write(STATE, content)
    slot = SlotFiles((StateFile("1-1-0-3", len(content), crc32(content)),))
    files = CheckpointFiles(store, attempt, 2, lambda: True)
    for number in (2, 3):
        files.save(Written(number, attempt, {TaskId(1, 0): slot}, {"in": {"a": [None, number]}}))
    return store


def test_what_is_whole_is_taken(run: LocalStore) -> None:
    verify_run(run)
    assert Checkpoint(None, run).positions() == {"in": {"splits": {"a": [None, 3]}}}  # type: ignore[arg-type]


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_plan_is_refused(run: LocalStore, how: str) -> None:
    damage(run, PLAN, how)
    with pytest.raises(CorruptState, match=r"is damaged: plan\.json is") as caught:
        verify_run(run)
    assert "copy" in str(caught.value.hint)
    with pytest.raises(CorruptState, match=r"plan\.json is"):
        read_note(run, PLAN)
    with pytest.raises(CorruptState, match=r"plan\.json is missing or not what was written"):
        Checkpoint(None, run)  # type: ignore[arg-type]


@pytest.mark.parametrize("how", [how for how in DAMAGES if how != "missing"])
def test_a_damaged_checkpoint_is_refused(run: LocalStore, how: str) -> None:
    damage(run, LAST, how)
    with pytest.raises(CorruptState, match=r"is damaged: checkpoints/3-1 is"):
        verify_run(run)


@pytest.mark.parametrize("how", SHORTENED)
def test_state_that_has_lost_something_is_refused(run: LocalStore, how: str) -> None:
    damage(run, STATE, how)
    with pytest.raises(CorruptState, match=r"is damaged: state/1-1-0-3 is"):
        verify_run(run)


def test_a_flipped_bit_of_state_is_seen_when_it_is_read(run: LocalStore) -> None:
    damage(run, STATE, "bit flipped")
    last = last_checkpoint(run)
    assert last is not None
    require_files(run, last)
    with pytest.raises(CorruptState, match="1-1-0-3 is not what was written"):
        require_files(run, last, contents=True)


def test_what_the_last_checkpoint_does_not_need_may_be_damaged(run: LocalStore) -> None:
    damage(run, "checkpoints/2-1", "torn")
    verify_run(run)


def test_a_job_that_may_fall_back_looks_when_it_begins(run: LocalStore) -> None:
    damage(run, LAST, "torn")
    verify_run(run, fall_back=True)
    damage(run, PLAN, "torn")
    with pytest.raises(CorruptState, match=r"plan\.json"):
        verify_run(run, fall_back=True)


@pytest.mark.parametrize(
    ("lost", "named"),
    [
        ("", "the folder is missing"),
        ("state", "state/1-1-0-3 is missing"),
        ("checkpoints", "what attempt 1 wrote to checkpoints is missing"),
        ("attempts", "attempts is missing"),
    ],
)
@pytest.mark.parametrize("fall_back", [False, True])
def test_a_lost_folder_is_no_empty_start(
    run: LocalStore, lost: str, named: str, fall_back: bool
) -> None:
    run.delete(lost)

    def start() -> None:
        verify_run(run, fall_back=fall_back)
        begin_attempt(run, fall_back=fall_back)

    with pytest.raises(CorruptState, match=f"is damaged: {named}"):
        start()


def test_nothing_is_asked_of_a_run_without_a_checkpoint(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.write(PLAN, dumped({"operators": []}))
    verify_run(store)
    begin_attempt(store)
    verify_run(store)
    with pytest.raises(CorruptState, match="no complete checkpoint"):
        Checkpoint(None, store)  # type: ignore[arg-type]
