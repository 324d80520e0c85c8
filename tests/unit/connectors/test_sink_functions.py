"""Sinks written as a function, with and without transactions, and user-written sinks."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.common import Encoder, Types
from headrace.core.operator import TaskInfo
from headrace.core.sink_functions import TwoPhaseCommitSinkFunction as Core
from headrace.datastream import (
    RichSinkFunction,
    SinkFunction,
    StreamExecutionEnvironment,
    TwoPhaseCommitSinkFunction,
)
from headrace.datastream.connectors import BucketAssigner, FileSink, Sink, SinkWriter
from headrace.errors import (
    HeadraceError,
    NotSerializable,
    TypeMismatch,
    Unsupported,
    UserFunctionFailed,
)
from headrace.operators.sink_functions import TransactionSink
from headrace.testing import JobHarness


@pytest.fixture
def env():
    return StreamExecutionEnvironment.get_execution_environment()


class Journal(RichSinkFunction):
    """Writes down what is called."""

    def __init__(self, path: Path):
        self.path = path

    def note(self, text: str) -> None:
        with self.path.open("a") as file:
            file.write(f"{text}\n")

    def open(self, runtime_context):
        self.note(f"open {runtime_context.get_index_of_this_subtask()}")

    def invoke(self, value, context):
        assert context.current_processing_time() >= 0
        assert context.current_watermark() < 0
        self.note(f"{value} at {context.timestamp()}")

    def finish(self):
        self.note("finish")

    def close(self):
        self.note("close")


class Folder(TwoPhaseCommitSinkFunction):
    """A transaction is a hidden file."""

    def __init__(self, folder: Path, fail_on=None):
        self.folder = folder
        self.fail_on = fail_on
        self.count = 0

    def log(self, text: str) -> None:
        with (self.folder / ".log").open("a") as file:
            file.write(f"{text}\n")

    def open(self, runtime_context):
        self.name = f"part-{runtime_context.get_index_of_this_subtask()}"

    def begin_transaction(self):
        self.count += 1
        return f"{self.name}-{self.count}"

    def invoke(self, transaction, value, context):
        if value == self.fail_on:
            raise ValueError(f"{value} is not wanted")
        with (self.folder / f".{transaction}").open("a") as file:
            file.write(f"{value}\n")

    def pre_commit(self, transaction):
        self.log(f"pre-commit {transaction}")

    def commit(self, transaction):
        self.log(f"commit {transaction}")
        hidden = self.folder / f".{transaction}"
        if hidden.exists():
            hidden.rename(self.folder / transaction)

    def abort(self, transaction):
        self.log(f"abort {transaction}")
        (self.folder / f".{transaction}").unlink(missing_ok=True)


class TestSinkFunction:
    def test_life(self, env, tmp_path):
        env.set_parallelism(1).from_collection(["a", "b"]).add_sink(Journal(tmp_path / "log"))
        JobHarness().run(env)
        lines = (tmp_path / "log").read_text().splitlines()
        assert lines == ["open 0", "a at None", "b at None", "finish", "close"]

    def test_a_failure_names_the_record(self, env):
        class Refusing(SinkFunction):
            def invoke(self, value, context):
                raise ValueError("no")

        env.from_collection(["a"]).add_sink(Refusing())
        with pytest.raises(UserFunctionFailed, match=r"in invoke of operator .*\n.*record: 'a'"):
            JobHarness().run(env)

    def test_what_is_no_sink_function(self, env):
        stream = env.from_collection([1])
        with pytest.raises(TypeMismatch, match=r"add_sink\(\) needs a SinkFunction, not 5"):
            stream.add_sink(5)
        with pytest.raises(TypeMismatch, match="not the class Journal"):
            stream.add_sink(Journal)
        with pytest.raises(TypeMismatch, match=r"RichSinkFunction does not override invoke"):
            stream.add_sink(RichSinkFunction())
        with pytest.raises(Unsupported, match="wraps a Java class"):
            SinkFunction("org.example.Sink")


class TestTransactions:
    def test_one_for_each_micro_batch_with_records(self, env, tmp_path):
        stream = env.set_parallelism(1).from_collection(list("abcd"), type_info=Types.STRING())
        stream.add_sink(Folder(tmp_path))
        JobHarness().run(env, batches=[2])
        found = {path.name: path.read_text() for path in tmp_path.glob("[!.]*")}
        assert found == {"part-0-1": "a\nb\n", "part-0-2": "c\nd\n"}
        assert (tmp_path / ".log").read_text().splitlines() == [
            "pre-commit part-0-1", "commit part-0-1", "pre-commit part-0-2", "commit part-0-2",
        ]  # fmt: skip

    def test_a_failure_aborts_it(self, env, tmp_path):
        env.set_parallelism(1).from_collection(["a", "b"]).add_sink(Folder(tmp_path, fail_on="b"))
        with pytest.raises(UserFunctionFailed, match="b is not wanted"):
            JobHarness().run(env)
        # The engine is left as it is when a task fails; the worker closes its tasks.
        writer = self.writer(Folder(tmp_path, fail_on="b"))
        with pytest.raises(ValueError, match="not wanted"):
            writer.write("b", None)
        writer.close()
        assert (tmp_path / ".log").read_text().splitlines()[-1] == "abort part-0-1"

    def writer(self, function: Core) -> SinkWriter:
        sink = TransactionSink(function)
        function.name = "part-0"
        sink.record = type("Record", (), {})()
        return sink.create_writer(TaskInfo("Sink", "sink"))

    def test_what_was_prepared_is_not_aborted(self, tmp_path):
        writer = self.writer(Folder(tmp_path))
        writer.write("a", 5)
        assert writer.prepare_commit() == ["part-0-1"]
        writer.close()
        assert (tmp_path / ".log").read_text() == "pre-commit part-0-1\n"

    def test_after_a_restart(self, tmp_path):
        class Recovering(Folder):
            def recover_and_commit(self, transaction):
                self.log(f"recover {transaction}")

            def recover_and_abort(self, transaction):
                self.log(f"forget {transaction}")

        committer = TransactionSink(Recovering(tmp_path)).create_committer()
        committer.recover(["a"])
        committer.abort(["b"])
        plain = TransactionSink(Folder(tmp_path)).create_committer()
        plain.recover(["c"])
        plain.abort(["d"])
        lines = (tmp_path / ".log").read_text().splitlines()
        assert lines == ["recover a", "forget b", "commit c", "abort d"]

    def test_a_handle_that_cannot_be_pickled(self, tmp_path):
        class Connection(Folder):
            def begin_transaction(self):
                return (self.folder / ".log").open("a")

            def pre_commit(self, transaction):
                transaction.close()

            def invoke(self, transaction, value, context):
                pass

        writer = self.writer(Connection(tmp_path))
        with pytest.raises(NotSerializable, match="which cannot be pickled") as caught:
            writer.prepare_commit()
        assert "not a connection" in caught.value.hint


class Lines(Sink):
    """Keeps a connection for all micro-batches of a subtask."""

    def __init__(self, path: Path):
        self.path = path

    def open(self, runtime_context):
        self.file = self.path.open("a")
        self.counter = runtime_context.get_metrics_group().counter("written")

    def close(self):
        self.file.close()

    def create_writer(self, task):
        sink = self

        class Writer(SinkWriter):
            def write(self, value, timestamp):
                sink.file.write(f"{task.batch_id} {value}\n")
                sink.counter.inc()

        return Writer()


def test_a_sink_is_opened_and_closed(env, tmp_path):
    env.set_parallelism(1).from_collection(["a", "b", "c"]).sink_to(Lines(tmp_path / "out"))
    output = JobHarness().run(env, batches=[2])
    assert (tmp_path / "out").read_text() == "1 a\n1 b\n2 c\n"
    assert [m["written"]["count"] for m in output.metrics().values()] == [3]


def test_a_failing_sink_is_named(env, tmp_path):
    class Broken(Lines):
        def open(self, runtime_context):
            raise OSError("no connection")

    env.from_collection(["a"]).sink_to(Broken(tmp_path / "out"))
    with pytest.raises(HeadraceError, match="no connection"):
        JobHarness().run(env)


def test_a_job_in_this_process_finishes_its_files(env, tmp_path):
    sink = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    env.set_parallelism(1).from_collection(list("abc")).sink_to(sink.build())
    JobHarness().run(env, batches=[1, 1], crash_after=[1])
    assert [path.read_text() for path in tmp_path.iterdir()] == ["a\nb\nc\n"]
