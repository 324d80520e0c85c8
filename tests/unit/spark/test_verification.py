"""A damaged checkpoint is refused, or repaired where nothing came of what is damaged."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest

from headrace.errors import CorruptState
from headrace.spark.checked_json import dumped
from headrace.spark.file_store import LocalStore
from headrace.spark.savepoints.checkpoint import Checkpoint
from headrace.spark.savepoints.verification import PROGRESS, note_progress, read_note, verify_run

DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "torn": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "truncated": lambda content: content[:-3],
    "bit flipped": lambda content: _flipped(content, len(content) * 2 // 3),
    "first bit flipped": lambda content: _flipped(content, 0),
    "missing": lambda content: None,
}
LAST = 3


def _flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def damage(file: Path, how: str) -> None:
    changed = DAMAGES[how](file.read_bytes())
    if changed is None:
        file.unlink()
    else:
        file.write_bytes(changed)


def write_log(file: Path, *lines: object) -> None:
    """A file of one of Spark's logs."""
    write(file, "\n".join(["v1", *(json.dumps(line) for line in lines)]).encode())


def write(file: Path, content: bytes) -> None:
    """As Spark writes files, with the checksums that Hadoop keeps beside them."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    parts = [content[start : start + 512] for start in range(0, len(content), 512)]
    sums = b"".join(crc32(part).to_bytes(4, "big") for part in parts)
    file.with_name(f".{file.name}.crc").write_bytes(b"crc\0" + (512).to_bytes(4, "big") + sums)


@pytest.fixture
def run(tmp_path: Path) -> LocalStore:
    """The run of a job that was stopped after batch 3, while batch 4 was planned."""
    store = LocalStore(tmp_path / "run-0")
    store.write("plan.json", dumped({"operators": [{"uid": "a"}], "parallelism": 2, "levels": 1}))
    store.write("positions.json", dumped({}))
    checkpoint = store.path / "checkpoint"
    for batch in range(LAST + 2):
        splits = json.dumps({"part-0": [0, batch * 10]}) * 20
        write_log(checkpoint / f"offsets/{batch}", {"batchWatermarkMs": 0}, {"splits": splits},
                  {"logOffset": batch})  # fmt: skip
        write_log(checkpoint / f"sources/1/{batch}", {"path": f"file:///control/{batch}"})
        if batch <= LAST:
            write_log(checkpoint / f"commits/{batch}", {"nextBatchWatermarkMs": 0})
    write(checkpoint / "metadata", json.dumps({"id": "some query"}).encode())
    write(checkpoint / "state/0/_metadata/v2/0", b'v2\n{"operatorInfo": {"operatorId": 0}}')
    write(checkpoint / "state/0/_stateSchema/default/0_some-id", b"what Spark knows of the rows")
    note_progress(store, LAST)
    return store


def test_what_is_whole_is_taken(run: LocalStore) -> None:
    verify_run(run)
    assert run.exists(f"checkpoint/offsets/{LAST + 1}")
    assert read_note(run, "positions.json") == {}


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize(
    "name",
    [
        "plan.json", f"checkpoint/commits/{LAST}", f"checkpoint/offsets/{LAST}",
        f"checkpoint/offsets/{LAST - 1}", "checkpoint/metadata", f"checkpoint/sources/1/{LAST}",
        "checkpoint/sources/1/0", "checkpoint/state/0/_metadata/v2/0",
        "checkpoint/state/0/_stateSchema/default/0_some-id",
    ],
)  # fmt: skip
def test_what_is_damaged_is_refused(run: LocalStore, name: str, how: str) -> None:
    damage(run.path / name, how)
    with pytest.raises(CorruptState, match="is damaged: ") as caught:
        verify_run(run)
    text = str(caught.value)
    assert name in text or name.rpartition("/")[0] in text or "has lost micro-batch 3" in text
    assert "copy" in str(caught.value.hint)


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_note_is_refused(run: LocalStore, how: str) -> None:
    for name in ("positions.json", "plan.json"):
        damage(run.path / name, how)
        with pytest.raises(CorruptState, match=f"{name} is"):
            read_note(run, name)
    with pytest.raises(CorruptState, match=r"plan\.json is missing or not what was written"):
        Checkpoint(None, run)  # type: ignore[arg-type]


@pytest.mark.parametrize("how", [how for how in DAMAGES if how != "missing"])
def test_damaged_progress_is_refused(run: LocalStore, how: str) -> None:
    damage(run.path / PROGRESS, how)
    with pytest.raises(CorruptState, match=r"progress\.json is not what was written"):
        verify_run(run)


def test_without_progress_the_logs_are_believed(run: LocalStore) -> None:
    damage(run.path / PROGRESS, "missing")
    verify_run(run)


@pytest.mark.parametrize("how", [how for how in DAMAGES if how != "missing"])
def test_a_damaged_plan_of_nothing_is_made_anew(
    run: LocalStore, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    name = f"checkpoint/offsets/{LAST + 1}"
    damage(run.path / name, how)
    verify_run(run, repair=False)
    assert run.exists(name)
    with caplog.at_level(logging.WARNING, "headrace"):
        verify_run(run)
    assert "the plan of micro-batch 4" in caplog.text
    assert not run.exists(name)
    assert not run.exists(f"checkpoint/offsets/.{LAST + 1}.crc")


@pytest.mark.parametrize(
    "lost",
    ["", "checkpoint", "checkpoint/commits", "checkpoint/offsets", "checkpoint/sources",
     "checkpoint/state"],
)  # fmt: skip
def test_a_lost_folder_is_no_empty_start(run: LocalStore, lost: str) -> None:
    run.delete(lost)
    with pytest.raises(CorruptState, match="is damaged: "):
        verify_run(run)


def test_checksums_that_are_themselves_damaged(run: LocalStore) -> None:
    for name in (f"offsets/.{LAST}.crc", f"commits/.{LAST}.crc"):
        damage(run.path / "checkpoint" / name, "empty")
    verify_run(run)


def test_a_compact_log_has_all_before_it(run: LocalStore) -> None:
    sources = run.path / "checkpoint/sources/1"
    write_log(sources / "2.compact", {"path": "file:///control/2"})
    for name in ("0", "1", "2"):
        damage(sources / name, "missing")
    verify_run(run)
    damage(sources / "2.compact", "torn")
    with pytest.raises(CorruptState, match=r"sources/1/2\.compact"):
        verify_run(run)


def test_nothing_is_asked_of_a_run_without_a_checkpoint(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.write("plan.json", dumped({"operators": []}))
    verify_run(store)
    store.write("checkpoint/offsets/0", b"v1")
    verify_run(store)
    assert not store.exists("checkpoint/offsets/0")
