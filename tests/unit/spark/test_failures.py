"""What Spark says of damaged checkpoints and full disks, said so that it helps."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from headrace.errors import CorruptState, JobFailed
from headrace.spark.failures import DamagedState, from_spark
from headrace.spark.file_store import LocalStore
from headrace.spark.savepoints.fall_back import fall_back, located
from headrace.spark.savepoints.verification import note_progress, read_note

FOLDER = "/data/job-1/run-0/checkpoint/state/0/1"
PLAN = "+- ~Project [slot#374, blob#375] org.apache.spark.sql.streaming.checkpointFileManager"


def spark_says(*lines: str) -> Exception:
    return Exception(
        "\n".join(["[STREAM_FAILED] Query terminated", *lines, "\tat Some.java", PLAN])
    )


LOADING = (
    ": org.apache.spark.SparkException: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] loading state."
)


@pytest.mark.parametrize(
    ("cause", "file", "version"),
    [
        (f"ChecksumException: Checksum error: file:{FOLDER}/5.changelog at 512",
         f"{FOLDER}/5.changelog", 5),
        (f"[CANNOT_READ_STREAMING_STATE_FILE] state file of {FOLDER}/4.changelog does not exist.",
         f"{FOLDER}/4.changelog", 4),
        ("Caused by: java.io.IOException: Stream is corrupted", None, None),
        ("Caused by: java.io.EOFException", None, None),
    ],
)  # fmt: skip
def test_state_that_cannot_be_read(cause: str, file: str | None, version: int | None) -> None:
    error = from_spark(spark_says(LOADING, cause))
    assert isinstance(error, DamagedState)
    assert isinstance(error, CorruptState)
    assert error.version == version
    assert (file or "a file") in error.message
    assert "savepoint" in str(error)


def test_a_log_that_cannot_be_read() -> None:
    path = "/data/job-1/run-0/checkpoint/sources/1/7"
    error = from_spark(spark_says(f"ChecksumException: Checksum error: file:{path} at 0 exp: 1"))
    assert isinstance(error, DamagedState)
    assert path in error.message


@pytest.mark.parametrize(
    "cause",
    [
        "Caused by: java.net.ConnectException: Connection refused",
        "[CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR] RocksDB could not be acquired",
    ],
)
def test_troubles_that_may_pass(cause: str) -> None:
    assert type(from_spark(spark_says(LOADING, cause))) is JobFailed


def test_files_of_users_are_not_the_checkpoint() -> None:
    error = from_spark(spark_says("java.io.FileNotFoundException: /data/input.csv does not exist"))
    assert type(error) is JobFailed


def test_a_full_disk() -> None:
    error = from_spark(
        spark_says(LOADING, f"java.io.IOException: No space left on device {FOLDER}/5.changelog")
    )
    assert type(error) is JobFailed
    assert "the disk is full" in error.message
    assert "make space" in str(error.hint)
    assert "the disk is full" in from_spark(OSError(28, "No space left on device")).message


@pytest.fixture
def run(tmp_path: Path) -> LocalStore:
    store = LocalStore(tmp_path)
    for batch in range(4):
        store.write(f"checkpoint/offsets/{batch}", b"v1\n{}\n{}")
        store.write(f"checkpoint/commits/{batch}", b"v1\n{}")
        store.write(f"checkpoint/commits/.{batch}.crc", b"crc")
        store.write(f"checkpoint/state/0/0/{batch + 1}.changelog", b"changes")
    store.write("checkpoint/offsets/4", b"v1\n{}\n{}")
    note_progress(store, 3)
    return store


def damaged(version: int) -> DamagedState:
    return DamagedState("broken", f"{FOLDER}/{version}.changelog")


def test_falling_back(run: LocalStore, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "headrace"):
        assert fall_back(run, damaged(4))
    assert "goes on from checkpoint 2" in caplog.text
    assert run.names("checkpoint/offsets") == ["0", "1", "2", "3"]
    assert run.names("checkpoint/commits") == [".0.crc", ".1.crc", ".2.crc", "0", "1", "2"]
    assert read_note(run, "progress.json")["batch"] == 2


@pytest.mark.parametrize("version", [3, 5])
def test_no_falling_back_if_that_does_not_help(run: LocalStore, version: int) -> None:
    assert not fall_back(run, damaged(version))
    assert not fall_back(run, DamagedState("broken", None))
    assert run.exists("checkpoint/commits/3")


@pytest.mark.parametrize("lost", [b"", None])
def test_spark_does_not_always_name_the_file(run: LocalStore, lost: bytes | None) -> None:
    if lost is None:
        run.delete("checkpoint/state/0/0/4.changelog")
    else:
        run.write("checkpoint/state/0/0/4.changelog", lost)
    damage = located(run, DamagedState("broken", None))
    assert "checkpoint/state/0/0/4.changelog is damaged" in damage.message
    assert fall_back(run, damage)


def test_no_falling_back_behind_the_first(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.write("checkpoint/commits/0", b"v1\n{}")
    assert not fall_back(store, damaged(1))
