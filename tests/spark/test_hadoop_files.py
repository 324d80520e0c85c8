"""Checkpoints and savepoints on a file system that only Spark's Hadoop knows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.spark.file_store import HadoopStore, file_store
from headrace.spark.flow.checkpoint_files import begin_attempt
from tests.conftest import ROOT
from tests.spark.hadoop_jobs import JOBS, mount


@pytest.fixture
def elsewhere(spark: SparkSession, tmp_path: Path) -> str:
    return mount(spark, tmp_path / "elsewhere")


@pytest.fixture
def store(spark: SparkSession, elsewhere: str) -> HadoopStore:
    found = file_store(spark, f"{elsewhere}/files")
    assert isinstance(found, HadoopStore)
    return found


def test_small_files(store: HadoopStore, tmp_path: Path) -> None:
    assert store.names() == []
    assert not store.exists("a")
    store.write("a", b"one")
    store.write("a", b"two")
    store.child("below").write("b", b"")
    assert store.read("a") == (tmp_path / "elsewhere/files/a").read_bytes() == b"two"
    assert store.names() == ["a", "below"]
    assert store.names("a") == []
    assert store.sizes("") == {"a": 3}
    with pytest.raises(FileNotFoundError):
        store.read("c")
    store.delete()
    assert not store.exists()


def test_large_files_in_pieces(store: HadoopStore, tmp_path: Path) -> None:
    pieces = [bytes([number]) * size for number, size in enumerate((100_000, 1, 70_000))]
    file = store.begin("large")
    for piece in pieces:
        file.add(piece)
    assert not store.exists("large")
    file.finish()
    file.discard()
    whole = b"".join(pieces)
    assert store.read("large") == whole
    assert store.read_part("large", 90_000, 50_000) == whole[90_000:140_000]
    assert store.read_part("large", len(whole) - 10, 50_000) == whole[-10:]
    assert store.read_part("large", len(whole), 10) == b""
    given_up = store.begin("never")
    given_up.add(b"x")
    given_up.discard()
    assert store.names() == ["large"]


def test_a_number_is_given_to_one_driver(store: HadoopStore) -> None:
    store.write("claims/1", b"")  # as they were once called
    assert [begin_attempt(store)[0] for _ in range(2)] == [2, 3]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of all jobs, in a program of their own: it needs more slots than other tests."""
    folder = tmp_path_factory.mktemp("hadoop")
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.hadoop_jobs", str(folder), *JOBS], cwd=ROOT,
        text=True, capture_output=True, timeout=600, check=False, env={**os.environ},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return {job: json.loads((folder / f"{job}.json").read_text()) for job in JOBS}


@pytest.mark.slow
@pytest.mark.timeout(700)
def test_a_job_is_saved_and_rescaled_in_micro_batches(results: dict[str, Any]) -> None:
    found = results["saved"]
    assert found["attempts"] == 2  # one in the last run of either folder
    assert found["exact"]
    assert found["asked"] == [[100, 100], [200, 200]]
    assert "/savepoints/savepoint-" in found["path"]


@pytest.mark.slow
@pytest.mark.timeout(700)
def test_a_job_is_saved_and_rescaled_in_real_time(results: dict[str, Any]) -> None:
    found = results["rescaled"]
    assert found["attempts"] == 1  # in the last run of the folder that is elsewhere
    assert found["exact"]
    assert found["asked"] == [[150, 150], [250, 250], [300, 300]]
    assert "/savepoints/savepoint-" in found["path"]


@pytest.mark.slow
@pytest.mark.timeout(700)
def test_a_job_goes_on_after_failures_in_real_time(results: dict[str, Any]) -> None:
    found = results["restarted"]
    assert found["attempts"] == 3
    failed, killed = found["failures"]
    assert "once only" in failed
    assert "worker" in killed
    assert found["exact"]


@pytest.mark.slow
@pytest.mark.timeout(700)
def test_what_cannot_be_written_ends_the_attempt(results: dict[str, Any]) -> None:
    found = results["unwritable"]
    assert "state of the job cannot be written to viewfs://" in found["error"]
    assert "is not a directory" in found["error"]
    assert "Is there space" in found["error"]
    assert found["attempts"] >= 3
    assert found["exact"]
