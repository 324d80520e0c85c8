"""Sources and sinks in whole jobs on Spark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.common import Encoder, Row, Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import (
    Boundedness,
    BucketAssigner,
    Committer,
    DataGeneratorSource,
    DiscardingSink,
    FileSink,
    FileSource,
    NumberSequenceSource,
    OutputFileConfig,
    Sink,
    SinkWriter,
    Source,
    Split,
    SplitEnumerator,
    SplitReader,
    StreamFormat,
)
from headrace.datastream.formats.csv import CsvReaderFormat, CsvSchema
from headrace.errors import HeadraceError, SourceUnavailable

NO_WATERMARKS = WatermarkStrategy.no_watermarks()


def environment(parallelism: int = 2) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.set_parallelism(parallelism)


def collected(source, parallelism: int = 2) -> list:
    stream = environment(parallelism).from_source(source, NO_WATERMARKS, "the source")
    with stream.execute_and_collect() as records:
        return list(records)


def files(stream_format, *paths: Path) -> FileSource:
    return FileSource.for_record_stream_format(stream_format, *map(str, paths)).build()


def lines_below(folder: Path) -> list[str]:
    visible = (path for path in folder.rglob("*") if path.is_file() and path.name[0] != ".")
    return sorted(line for path in visible for line in path.read_text().splitlines())


class TestSources:
    def test_number_sequence(self):
        assert sorted(collected(NumberSequenceSource(1, 1000))) == list(range(1, 1001))
        assert collected(NumberSequenceSource(1, 100), parallelism=1) == list(range(1, 101))

    def test_generated_records(self):
        source = DataGeneratorSource(
            lambda n: f"record {n}", count=100, type_info=Types.STRING(), splits=3
        )
        assert sorted(collected(source)) == sorted(f"record {n}" for n in range(100))

    def test_text_lines(self, tmp_path):
        (tmp_path / "a.txt").write_text("one\ntwo\n")
        (tmp_path / "b.txt").write_text("drei\nvier größer\n")
        found = collected(files(StreamFormat.text_line_format(), tmp_path))
        assert sorted(found) == ["drei", "one", "two", "vier größer"]

    def test_text_lines_in_another_charset(self, tmp_path):
        (tmp_path / "a.txt").write_bytes("größer\n".encode("ISO-8859-1"))
        lines = StreamFormat.text_line_format("ISO-8859-1")
        assert collected(files(lines, tmp_path)) == ["größer"]

    def test_csv_rows(self, tmp_path):
        (tmp_path / "people.csv").write_text('name,age\n"Day, Ann",31\nBob,42\n')
        schema = CsvSchema.builder().add_string_column("name").add_number_column("age")
        source = files(CsvReaderFormat.for_schema(schema.set_use_header().build()), tmp_path)
        assert collected(source) == [Row(name="Day, Ann", age=31), Row(name="Bob", age=42)]

    def test_json_lines(self, tmp_path):
        (tmp_path / "a.jsonl").write_text('{"id":1,"tags":["x"]}\n{"id":2}\n')
        kind = Types.ROW_NAMED(["id", "tags"], [Types.INT(), Types.LIST(Types.STRING())])
        rows = collected(files(StreamFormat.json_lines_format(kind), tmp_path), parallelism=1)
        assert rows == [Row(id=1, tags=["x"]), Row(id=2, tags=None)]
        assert collected(files(StreamFormat.json_lines_format(), tmp_path), parallelism=1) == [
            {"id": 1, "tags": ["x"]},
            {"id": 2},
        ]

    @pytest.mark.parametrize(
        "stream_format",
        [
            StreamFormat.text_line_format(),
            CsvReaderFormat.for_schema(CsvSchema.builder().add_string_column("a").build()),
        ],
        ids=["text", "csv"],
    )
    def test_a_mistyped_path(self, tmp_path, stream_format):
        with pytest.raises(SourceUnavailable, match=r"no file or folder .*wrods\.txt") as caught:
            collected(files(stream_format, tmp_path / "wrods.txt"))
        assert caught.value.origin.file == __file__

    def test_a_bad_csv_line(self, tmp_path):
        (tmp_path / "people.csv").write_text("Ann,31\nBob,old\n")
        schema = CsvSchema.builder().add_string_column("name").add_number_column("age").build()
        with pytest.raises(HeadraceError) as caught:
            collected(files(CsvReaderFormat.for_schema(schema), tmp_path))
        message = str(caught.value)
        assert "'Bob,old'" in message
        assert "line 2 of" in message
        assert "field 'age': 'old' is not a whole number" in message

    def test_a_bad_json_line(self, tmp_path):
        (tmp_path / "a.jsonl").write_text('{"id":1}\n{"id":\n')
        with pytest.raises(
            HeadraceError, match=re.escape("""cannot read the JSON line '{"id":'""")
        ):
            collected(files(StreamFormat.json_lines_format(), tmp_path))


class Countdown(Source):
    """A source as a user writes one: two splits that count down from ten."""

    def create_enumerator(self) -> SplitEnumerator:
        class Enumerator(SplitEnumerator):
            def splits(self):
                return [Split("left", {"sign": 1}), Split("right", {"sign": -1})]

            def latest_position(self, split, start):
                return 10

        return Enumerator()

    def create_reader(self) -> SplitReader:
        class Reader(SplitReader):
            def read(self, split, start, end):
                for place in range(start, end):
                    yield split.info["sign"] * (10 - place)

        return Reader()

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED


class OneFilePerBatch(Sink):
    """A sink as a user writes one: files that are renamed by the committer."""

    def __init__(self, folder: Path):
        self.folder = folder

    def create_writer(self, task) -> SinkWriter:
        path = self.folder / f"{task.batch_id}-{task.subtask}"

        class Writer(SinkWriter):
            def __init__(self):
                self.lines = []

            def write(self, value, timestamp):
                self.lines.append(f"{value}\n")

            def prepare_commit(self):
                hidden = path.with_name(f".{path.name}")
                hidden.write_text("".join(self.lines))
                return [(str(hidden), str(path))]

        return Writer()

    def create_committer(self) -> Committer:
        class Renamer(Committer):
            def commit(self, committables):
                for hidden, final in committables:
                    if Path(hidden).exists():
                        Path(hidden).rename(final)

        return Renamer()


class TestUsersOwn:
    def test_source(self):
        assert sorted(collected(Countdown())) == [*range(-10, 0), *range(1, 11)]

    def test_sink(self, tmp_path):
        env = environment()
        env.from_source(Countdown(), NO_WATERMARKS, "count").sink_to(OneFilePerBatch(tmp_path))
        env.execute("count down")
        assert sorted(map(int, lines_below(tmp_path))) == [*range(-10, 0), *range(1, 11)]


class TestSinks:
    def write(self, folder: Path, values: list, kind) -> None:
        env = environment()
        sink = (
            FileSink.for_row_format(str(folder), Encoder.simple_string_encoder())
            .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
            .with_output_file_config(
                OutputFileConfig.builder().with_part_prefix("pre").with_part_suffix(".ext").build()
            )
            .build()
        )
        env.from_collection(values, type_info=kind).rebalance().sink_to(sink)
        env.execute("write")

    def test_files(self, tmp_path):
        kind = Types.TUPLE([Types.STRING(), Types.INT()])
        self.write(tmp_path / "out", [("a", 1), ("b", 2), ("c", 3)], kind)
        assert lines_below(tmp_path / "out") == ["(a,1)", "(b,2)", "(c,3)"]
        for path in (tmp_path / "out").iterdir():
            assert re.fullmatch(r"pre-[0-9a-f]{32}-\d+-\d+\.ext", path.name)

    def test_a_second_run_adds_files(self, tmp_path):
        for _ in range(2):
            self.write(tmp_path, ["x"], Types.STRING())
        assert lines_below(tmp_path) == ["x", "x"]

    def test_discarding(self):
        env = environment()
        env.from_source(NumberSequenceSource(1, 10), NO_WATERMARKS, "n").sink_to(DiscardingSink())
        env.execute("discard")
