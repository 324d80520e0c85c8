"""FileSink: names, folders, two phases, and refusals."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.common import Encoder, Row, Types
from headrace.core.operator import TaskInfo
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    OutputFileConfig,
    RollingPolicy,
)
from headrace.datastream.connectors.file_system import StreamingFileSink
from headrace.datastream.formats.csv import CsvBulkWriters, CsvSchema
from headrace.datastream.formats.json import JsonRowSerializationSchema
from headrace.errors import InvalidArgument, JobFailed, TypeMismatch, Unsupported

TASK = TaskInfo("Sink", "sink-1", subtask=1, parallelism=2, batch_id=7)
TEXT = Encoder.simple_string_encoder()
FLAT = BucketAssigner.base_path_bucket_assigner()
DEFAULT = RollingPolicy.default_rolling_policy()
EVERY_BATCH = RollingPolicy.on_checkpoint_rolling_policy()


def flat_sink(folder: Path, **settings) -> FileSink:
    builder = FileSink.for_row_format(str(folder), settings.pop("encoder", TEXT))
    builder.with_bucket_assigner(settings.pop("assigner", FLAT))
    for name, value in settings.items():
        getattr(builder, f"with_{name}")(value)
    return builder.build()


def prepared(sink: FileSink, values: list, task: TaskInfo = TASK) -> list:
    writer = sink.create_writer(task)
    for value in values:
        writer.write(value, None)
    committables = writer.prepare_commit()
    writer.close()
    # Committables travel from the workers to the driver.
    return pickle.loads(pickle.dumps(committables))


def write(sink: FileSink, values: list, task: TaskInfo = TASK) -> None:
    """One micro-batch, after which the job ends."""
    committer = sink.create_committer()
    committer.open(task)
    committer.commit(prepared(sink, values, task))
    committer.tick(0, final=True)
    committer.close()


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class TestTwoPhases:
    @pytest.mark.parametrize("policy", [DEFAULT, EVERY_BATCH])
    def test_nothing_is_visible_before_the_commit(self, tmp_path, policy):
        sink = flat_sink(tmp_path, rolling_policy=policy)
        committables = prepared(sink, ["a", "b"])
        [hidden] = contents(tmp_path)
        assert hidden.startswith(".part-")
        assert hidden.endswith(".inprogress")
        committer = sink.create_committer()
        committer.commit(committables)
        committer.tick(0, final=True)
        [name] = contents(tmp_path)
        assert name.startswith("part-")
        assert contents(tmp_path)[name] == "a\nb\n"

    def test_a_second_commit_changes_nothing(self, tmp_path):
        sink = flat_sink(tmp_path, rolling_policy=EVERY_BATCH)
        committables = prepared(sink, ["a"])
        for _ in range(2):
            sink.create_committer().commit(committables)
        assert list(contents(tmp_path).values()) == ["a\n"]

    def test_a_second_commit_after_the_part_was_finished(self, tmp_path):
        sink = flat_sink(tmp_path)
        committables = [prepared(sink, [value], replace(TASK, batch_id=7 + number))
                        for number, value in enumerate("ab")]  # fmt: skip
        committer = sink.create_committer()
        for _ in range(2):
            committer.commit(committables[0])
        committer.commit(committables[1])
        for _ in range(2):
            committer.tick(0, final=True)
            committer.commit(committables[1])
        assert list(contents(tmp_path).values()) == ["a\nb\n"]

    def test_after_a_restart_a_part_may_have_been_taken_away(self, tmp_path):
        sink = flat_sink(tmp_path, rolling_policy=EVERY_BATCH)
        committables = prepared(sink, ["a", "b"])
        sink.create_committer().commit(committables)
        for path in tmp_path.iterdir():
            path.unlink()
        sink.create_committer().recover(committables)
        assert contents(tmp_path) == {}

    def test_an_aborted_micro_batch_leaves_nothing(self, tmp_path):
        sink = flat_sink(tmp_path)
        committables = prepared(sink, ["a"])
        for _ in range(2):
            sink.create_committer().abort(committables)
        assert contents(tmp_path) == {}

    def test_other_batches_tasks_operators_and_runs_add_files(self, tmp_path):
        sink = flat_sink(tmp_path)
        for change in ({}, {"batch_id": 8}, {"partition": 5}, {"uid": "sink-2"}):
            write(sink, ["a"], replace(TASK, **change))
        write(flat_sink(tmp_path), ["a"])
        assert len(contents(tmp_path)) == 5

    def test_lost_output_is_an_error(self, tmp_path):
        sink = flat_sink(tmp_path)
        committables = prepared(sink, ["a"])
        Path(committables[0][0]).unlink()
        with pytest.raises(JobFailed, match=r"is lost: neither it nor .*inprogress.* exists"):
            sink.create_committer().commit(committables)

    def test_a_failed_attempt_leaves_nothing(self, tmp_path):
        policy = RollingPolicy.default_rolling_policy(part_size=1)
        writer = flat_sink(tmp_path, rolling_policy=policy).create_writer(TASK)
        for value in ("a", "b"):
            writer.write(value, None)
        writer.close()
        assert contents(tmp_path) == {}

    def test_no_records_no_files(self, tmp_path):
        assert prepared(flat_sink(tmp_path), []) == []
        assert contents(tmp_path) == {}


class TestNamesAndFolders:
    def test_prefix_and_suffix(self, tmp_path):
        config = OutputFileConfig.builder().with_part_prefix("pre").with_part_suffix(".ext").build()
        assert (config.get_part_prefix(), config.get_part_suffix()) == ("pre", ".ext")
        write(flat_sink(tmp_path, output_file_config=config), ["a"])
        [name] = contents(tmp_path)
        assert name.startswith("pre-")
        assert name.endswith("-7-0.ext")

    def test_parts_roll_by_size(self, tmp_path):
        policy = RollingPolicy.default_rolling_policy(part_size=4)
        write(flat_sink(tmp_path, rolling_policy=policy), ["aa", "bb", "cc"])
        found = contents(tmp_path)
        assert [name.rsplit("-", 1)[1] for name in found] == ["0", "1"]
        assert list(found.values()) == ["aa\nbb\n", "cc\n"]

    def test_a_part_of_the_exact_size_stays_open(self, tmp_path):
        policy = RollingPolicy.default_rolling_policy(part_size=6)
        write(flat_sink(tmp_path, rolling_policy=policy), ["aa", "bb", "cc"])
        assert list(contents(tmp_path).values()) == ["aa\nbb\ncc\n"]

    def test_on_checkpoint_policy_writes_one_part(self, tmp_path):
        policy = RollingPolicy.on_checkpoint_rolling_policy()
        write(flat_sink(tmp_path, rolling_policy=policy), ["a"] * 1000)
        assert len(contents(tmp_path)) == 1

    def test_buckets_by_content(self, tmp_path):
        class ByFirstLetter(BucketAssigner):
            def bucket_id(self, element, timestamp):
                return f"letter={element[0]}"

        write(flat_sink(tmp_path, assigner=ByFirstLetter()), ["apple", "bean", "avocado"])
        found = {name.split("/")[0]: text for name, text in contents(tmp_path).items()}
        assert found == {"letter=a": "apple\navocado\n", "letter=b": "bean\n"}

    @pytest.mark.parametrize("bucket", ["../out", "/etc", "a/../../b"])
    def test_buckets_cannot_leave_the_base_path(self, tmp_path, bucket):
        class Out(BucketAssigner):
            def bucket_id(self, element, timestamp):
                return bucket

        with pytest.raises(InvalidArgument, match="leads out of the base path"):
            prepared(flat_sink(tmp_path, assigner=Out()), ["a"])

    def test_parent_folders_and_file_addresses(self, tmp_path):
        sink = FileSink.for_row_format(f"file://{tmp_path}/new/deep%20er", TEXT)
        write(sink.with_bucket_assigner(FLAT).build(), ["a"])
        assert [Path(name).parent.as_posix() for name in contents(tmp_path)] == ["new/deep er"]


class TestEncoding:
    def test_values_of_a_type_are_written_as_java_writes_them(self, tmp_path):
        kind = Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.BOOLEAN()])
        write(flat_sink(tmp_path).with_type(kind), [("a", 5.0, True)])
        assert list(contents(tmp_path).values()) == ["(a,5.0,true)\n"]

    def test_values_without_a_type_are_written_as_python_writes_them(self, tmp_path):
        write(flat_sink(tmp_path), [("a", 5)])
        assert list(contents(tmp_path).values()) == ["('a', 5)\n"]

    def test_charset(self, tmp_path):
        sink = flat_sink(tmp_path, encoder=Encoder.simple_string_encoder("UTF-16-LE"))
        write(sink, ["é"])
        [path] = tmp_path.iterdir()
        assert path.read_bytes() == "é\n".encode("UTF-16-LE")

    def test_a_serialization_schema_writes_lines(self, tmp_path):
        kind = Types.ROW_NAMED(["a"], [Types.INT()])
        schema = JsonRowSerializationSchema.builder().with_type_info(kind).build()
        write(flat_sink(tmp_path, encoder=schema), [Row(1), Row(2)])
        assert list(contents(tmp_path).values()) == ['{"a":1}\n{"a":2}\n']


class TestRefusals:
    def test_base_path_is_a_file(self, tmp_path):
        (tmp_path / "out").write_text("precious")
        with pytest.raises(InvalidArgument, match="is a file, not a folder") as caught:
            FileSink.for_row_format(str(tmp_path / "out"), TEXT)
        assert caught.value.origin.file == __file__

    def test_base_path_became_a_file(self, tmp_path):
        sink = flat_sink(tmp_path / "out")
        (tmp_path / "out").write_text("precious")
        with pytest.raises(InvalidArgument, match=r"cannot write to .*out"):
            prepared(sink, ["a"])
        assert (tmp_path / "out").read_text() == "precious"

    def test_other_file_systems(self):
        with pytest.raises(Unsupported, match="only the local file system"):
            FileSink.for_row_format("hdfs://host/out", TEXT)

    @pytest.mark.parametrize("path", ["", None, 5])
    def test_what_is_no_path(self, path):
        with pytest.raises(InvalidArgument, match="is not a path for a file sink"):
            FileSink.for_row_format(path, TEXT)

    def test_what_is_no_encoder(self, tmp_path):
        with pytest.raises(TypeMismatch, match="takes an Encoder or a SerializationSchema"):
            FileSink.for_row_format(str(tmp_path), str)

    def test_wrong_settings(self, tmp_path):
        builder = FileSink.for_row_format(str(tmp_path), TEXT)
        with pytest.raises(TypeMismatch, match="with_rolling_policy takes a RollingPolicy"):
            builder.with_rolling_policy(5)
        with pytest.raises(TypeMismatch, match="takes a BucketAssigner"):
            builder.with_bucket_assigner("day")
        with pytest.raises(InvalidArgument, match="must be above 0, not 0"):
            builder.with_bucket_check_interval(0)
        assert builder.with_bucket_check_interval(1000).disable_compact() is builder

    def test_what_is_no_compaction(self, tmp_path):
        builder = FileSink.for_row_format(str(tmp_path), TEXT)
        with pytest.raises(TypeMismatch, match="takes a FileCompactStrategy, not None"):
            builder.enable_compact(None, FileCompactor.concat_file_compactor())
        with pytest.raises(InvalidArgument, match="needs a reason to compact"):
            FileCompactStrategy.builder().set_num_compact_threads(2).build()
        with pytest.raises(InvalidArgument, match="must be above 0"):
            FileCompactStrategy.builder().enable_compaction_on_checkpoint(0)

    def test_what_is_no_bulk_format(self, tmp_path):
        with pytest.raises(TypeMismatch, match="takes a BulkWriterFactory, not 'parquet'"):
            FileSink.for_bulk_format(str(tmp_path), "parquet")
        csv = CsvBulkWriters.for_schema(CsvSchema.builder().add_string_column("a").build())
        with pytest.raises(TypeMismatch, match="takes a OnCheckpointRollingPolicy"):
            FileSink.for_bulk_format(str(tmp_path), csv).with_rolling_policy(DEFAULT)


class TestStreamingFileSink:
    """The sink's older name, for `add_sink`."""

    def test_it_writes_what_a_file_sink_writes(self, tmp_path):
        builder = StreamingFileSink.for_row_format(str(tmp_path), TEXT)
        builder.with_bucket_assigner(FLAT).with_rolling_policy(policy=EVERY_BATCH)
        builder.with_output_file_config(OutputFileConfig.OutputFileConfigBuilder().build())
        sink = builder.build()
        assert isinstance(sink, StreamingFileSink)
        write(sink, ["a", "b"])
        assert list(contents(tmp_path).values()) == ["a\nb\n"]

    def test_bulk_formats(self, tmp_path):
        csv = CsvBulkWriters.for_schema(CsvSchema.builder().add_string_column("a").build())
        builder = StreamingFileSink.for_bulk_format(str(tmp_path), csv)
        assert isinstance(builder.with_rolling_policy(EVERY_BATCH).build(), StreamingFileSink)
        with pytest.raises(TypeMismatch, match="takes a OnCheckpointRollingPolicy"):
            builder.with_rolling_policy(DEFAULT)

    def test_streams_take_it(self, tmp_path):
        env = StreamExecutionEnvironment.get_execution_environment()
        sink = StreamingFileSink.for_row_format(str(tmp_path), TEXT).build()
        env.from_collection(["a"], Types.STRING()).add_sink(sink)
        assert "Sink" in env.get_execution_plan()
