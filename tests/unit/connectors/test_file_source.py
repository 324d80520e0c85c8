"""FileSource: what it accepts, what it reads and what it says when it cannot."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from pathlib import Path

import pytest

from headrace.common import Duration, Row, Types
from headrace.core.source import Boundedness, SplitSpec, TextFilesSpec
from headrace.core.user_code import RecordFailure
from headrace.datastream.connectors import (
    FileEnumeratorProvider,
    FileSource,
    FileSplitAssignerProvider,
    StreamFormat,
)
from headrace.datastream.connectors.file_system import BulkFormat
from headrace.datastream.formats.csv import CsvReaderFormat, CsvSchema
from headrace.errors import InvalidArgument, SourceUnavailable, TypeMismatch, Unsupported
from headrace.runtime.source_task import decoder, encode_ranges

LINES = StreamFormat.text_line_format()
PEOPLE = CsvSchema.builder().add_string_column("name").add_number_column("age").build()


def read_all(source: FileSource) -> list:
    """What the engine reads from a source of whole files."""
    spec = source.spec()
    enumerator = spec.source.create_enumerator()
    ranges = []
    for split in enumerator.splits():
        start = enumerator.initial_position(split)
        end = enumerator.latest_position(split, start)
        if end != start:
            ranges.append(encode_ranges([(split, start, end, True)]))
    return [value for batch in decoder(spec)(ranges) for value in batch.values]


def csv_source(*paths: Path | str, schema: CsvSchema = PEOPLE) -> FileSource:
    reader = CsvReaderFormat.for_schema(schema)
    return FileSource.for_record_stream_format(reader, *map(str, paths)).build()


class TestTextLines:
    def test_lines_are_read_by_spark_as_they_are(self):
        source = FileSource.for_record_stream_format(LINES, "a.txt", "b").build()
        assert source.spec() == TextFilesSpec(("a.txt", "b"), False, None, "UTF-8")
        assert source.produced_type() == Types.STRING()

    def test_a_watched_folder_never_ends(self):
        builder = FileSource.for_record_stream_format(LINES, "in")
        watched = builder.monitor_continuously(Duration.of_seconds(1)).build()
        assert not watched.spec().bounded
        assert builder.process_static_file_set().build().spec().bounded

    def test_other_charsets(self, tmp_path):
        (tmp_path / "a.txt").write_bytes("größer\r\n\nals\n".encode("UTF-16"))
        lines = StreamFormat.text_line_format("UTF-16")
        source = FileSource.for_record_stream_format(lines, str(tmp_path)).build()
        assert read_all(source) == ["größer", "", "als"]
        assert source.produced_type() == Types.STRING()

    def test_malformed_bytes_of_other_charsets_are_marked(self, tmp_path):
        (tmp_path / "a.txt").write_bytes(b"gr\xf6sse\n")
        lines = StreamFormat.text_line_format("ASCII")
        source = FileSource.for_record_stream_format(lines, str(tmp_path)).build()
        assert read_all(source) == ["gr\ufffdsse"]

    def test_unknown_charset(self):
        with pytest.raises(InvalidArgument, match="unknown character set 'UTF-9'"):
            StreamFormat.text_line_format("UTF-9")


class TestBuilder:
    def test_no_path(self):
        with pytest.raises(InvalidArgument, match="at least one path"):
            FileSource.for_record_stream_format(LINES)

    @pytest.mark.parametrize("path", ["", "  ", None, ["a", "b"]])
    def test_what_is_no_path(self, path):
        with pytest.raises(InvalidArgument, match="is not a path") as caught:
            FileSource.for_record_stream_format(LINES, path)
        assert caught.value.origin.file == __file__

    def test_what_is_no_format(self):
        with pytest.raises(TypeMismatch, match="takes a StreamFormat, not 'text'"):
            FileSource.for_record_stream_format("text", "a")

    def test_bulk_formats_read_the_bytes_of_files(self):
        assert FileSource.for_bulk_file_format(BulkFormat(), "a").build().spec().bounded
        with pytest.raises(TypeMismatch, match="for_bulk_file_format"):
            FileSource.for_bulk_file_format(StreamFormat.text_line_format(), "a")

    def test_what_is_no_interval(self):
        builder = FileSource.for_record_stream_format(LINES, "a")
        with pytest.raises(TypeMismatch, match="takes a Duration, not 5"):
            builder.monitor_continuously(5)
        with pytest.raises(InvalidArgument, match="must be positive"):
            builder.monitor_continuously(Duration.of_seconds(0))

    def test_enumerators_and_assigners(self):
        builder = FileSource.for_record_stream_format(LINES, "a")
        builder.set_file_enumerator(FileEnumeratorProvider.default_splittable_file_enumerator())
        builder.set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner())
        with pytest.raises(Unsupported, match="Spark decides"):
            builder.set_file_enumerator(
                FileEnumeratorProvider.default_non_splittable_file_enumerator()
            )
        with pytest.raises(TypeMismatch):
            builder.set_split_assigner("local")


class TestWholeFiles:
    def test_rows_of_a_file(self, tmp_path):
        (tmp_path / "people.csv").write_text("Ann,31\nBob,42\n")
        source = csv_source(tmp_path / "people.csv")
        assert read_all(source) == [Row(name="Ann", age=31), Row(name="Bob", age=42)]
        assert source.produced_type() == Types.ROW_NAMED(
            ["name", "age"], [Types.STRING(), Types.LONG()]
        )

    def test_folders_are_searched_in_order_and_hidden_names_left_out(self, tmp_path):
        (tmp_path / "b").mkdir()
        for name in ("c.csv", "a.csv", "b/x.csv", ".hidden.csv", "_temporary", "b/.y"):
            (tmp_path / name).write_text(f"{name},1\n")
        assert [row.name for row in read_all(csv_source(tmp_path))] == ["a.csv", "b/x.csv", "c.csv"]

    def test_a_file_named_twice_is_read_once(self, tmp_path):
        (tmp_path / "a.csv").write_text("Ann,1\n")
        assert len(read_all(csv_source(tmp_path, f"file://{tmp_path}/a.csv"))) == 1

    @pytest.mark.parametrize(
        ("suffix", "pack"),
        [
            (".gz", gzip.compress),
            (".bz2", bz2.compress),
            (".xz", lzma.compress),
            (".deflate", zlib.compress),
        ],
    )
    def test_packed_files(self, tmp_path, suffix, pack):
        (tmp_path / f"a.csv{suffix}").write_bytes(pack("Zoë,1\n".encode()))
        assert read_all(csv_source(tmp_path)) == [Row(name="Zoë", age=1)]

    def test_empty_file(self, tmp_path):
        (tmp_path / "a.csv").touch()
        assert read_all(csv_source(tmp_path)) == []

    def test_a_file_in_another_charset(self, tmp_path):
        (tmp_path / "a.csv").write_bytes("Zoë,1\n".encode("latin-1"))
        with pytest.raises(RecordFailure, match=r"a\.csv is not text in UTF-8: there is a byte"):
            read_all(csv_source(tmp_path))

    def test_missing_path(self, tmp_path):
        source = csv_source(tmp_path / "poeple.csv")
        with pytest.raises(SourceUnavailable, match=r"no file or folder .*poeple.csv") as caught:
            read_all(source)
        assert caught.value.origin.file == __file__
        assert "Check the path" in str(caught.value)

    def test_other_file_systems_are_refused(self):
        with pytest.raises(Unsupported, match="not s3:"):
            csv_source("s3://bucket/people.csv").spec()

    def test_new_files_appear_and_a_file_is_read_once(self, tmp_path):
        (tmp_path / "a.csv").write_text("Ann,1\n")
        builder = FileSource.for_record_stream_format(
            CsvReaderFormat.for_schema(PEOPLE), str(tmp_path)
        )
        spec = builder.monitor_continuously(Duration.of_millis(10)).build().spec()
        assert isinstance(spec, SplitSpec)
        assert spec.source.boundedness() is Boundedness.CONTINUOUS_UNBOUNDED
        enumerator = spec.source.create_enumerator()
        [first] = enumerator.splits()
        end = enumerator.latest_position(first, 0)
        (tmp_path / "a.csv").write_text("Ann,1\nBob,2\n")
        (tmp_path / "b.csv").write_text("Cid,3\n")
        assert enumerator.latest_position(first, end) == end
        assert [Path(split.id).name for split in enumerator.splits()] == ["a.csv", "b.csv"]

    def test_a_file_that_vanished_has_nothing_new(self, tmp_path):
        (tmp_path / "a.csv").write_text("Ann,1\n")
        enumerator = csv_source(tmp_path).spec().source.create_enumerator()
        [split] = enumerator.splits()
        (tmp_path / "a.csv").unlink()
        assert enumerator.latest_position(split, 0) == 0
