"""Checkpoints and savepoints on a file system that only Spark's Hadoop knows."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.datastream import StreamExecutionEnvironment
from headrace.spark.file_store import HadoopStore, file_store
from tests.spark.conftest import wait_until
from tests.spark.savepoint_jobs import every_state, expected, to_files

LinesOf = Callable[[Path], Counter[str]]


@pytest.fixture
def elsewhere(spark: SparkSession, tmp_path: Path) -> str:
    """An address of Hadoop's view file system; what lies there is in a folder of the test."""
    (tmp_path / "elsewhere").mkdir()
    name = f"test-{uuid.uuid4().hex}"  # Hadoop remembers file systems by name
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set(f"fs.viewfs.mounttable.{name}.link./data", f"file://{tmp_path}/elsewhere")
    return f"viewfs://{name}/data"


def test_small_files(spark: SparkSession, elsewhere: str, tmp_path: Path) -> None:
    store = file_store(spark, f"{elsewhere}/files")
    assert isinstance(store, HadoopStore)
    assert store.names() == []
    assert not store.exists("a")
    store.write("a", b"one")
    store.write("a", b"two")
    store.child("below").write("b", b"")
    assert store.read("a") == (tmp_path / "elsewhere/files/a").read_bytes() == b"two"
    assert store.names() == ["a", "below"]
    assert store.sizes("") == {"a": 3}
    with pytest.raises(FileNotFoundError):
        store.read("c")
    store.delete()
    assert not store.exists()


@pytest.mark.slow
def test_a_job_is_saved_and_rescaled(elsewhere: str, tmp_path: Path, lines_of: LinesOf) -> None:
    valve, out = tmp_path / "valve", tmp_path / "out"
    path = ""
    for parallelism, limit, folder in [(2, 150, "first"), (3, 250, "first"), (1, 300, "second")]:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.configuration.set_string("execution.checkpointing.dir", f"{elsewhere}/{folder}")
        if folder == "second":
            env.configuration.set_string("execution.state-recovery.path", path)
        env.set_parallelism(parallelism)
        env.enable_checkpointing(50)
        valve.write_text(str(limit))
        to_files(every_state(env, valve), out)
        client = env.execute_async()
        wait_until(lambda wanted=limit: lines(out, lines_of).total() >= wanted)
        path = client.stop_with_savepoint(False, f"{elsewhere}/savepoints").result(120)
        client.get_job_execution_result().result(60)
        assert path.startswith(f"{elsewhere}/savepoints/")
    assert lines(out, lines_of) == Counter(expected(300))


def lines(folder: Path, lines_of: LinesOf) -> Counter[str]:
    return Counter({line: n for line, n in lines_of(folder).items() if " at " not in line})
