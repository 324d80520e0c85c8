"""File sinks of bulk formats: what is in the files, and how they are compacted."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

from headrace.common import Instant, Row, Types
from headrace.common.serialization import (
    BulkWriter,
    BulkWriterFactory,
    RowDataBulkWriterFactory,
)
from headrace.core.operator import TaskInfo
from headrace.datastream.connectors import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
)
from headrace.datastream.formats.csv import CsvBulkWriters, CsvSchema
from headrace.datastream.formats.json import JsonBulkWriters
from headrace.datastream.formats.orc import OrcBulkWriters
from headrace.datastream.formats.parquet import ParquetBulkWriters
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.table import DataTypes

PEOPLE = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
COLUMNAR = pytest.mark.parametrize("writers", [ParquetBulkWriters, OrcBulkWriters])


def write(folder: Path, factory: BulkWriterFactory, *batches: list, kind=None, compact=None):
    """The files of some micro-batches, written, committed and finished."""
    builder = FileSink.for_bulk_format(str(folder), factory)
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    if compact is not None:
        strategy = FileCompactStrategy.builder().set_size_threshold(1 << 30).build()
        builder.enable_compact(strategy, compact)
    sink = builder.build().with_type(kind)
    committer = sink.create_committer()
    for number, batch in enumerate(batches):
        writer = sink.create_writer(TaskInfo("Sink", "sink", batch_id=number))
        for value in batch:
            writer.write(value, None)
        committer.commit(writer.prepare_commit())
        writer.close()
    committer.tick(0, final=True)
    files = [path for path in folder.iterdir() if not path.name.startswith(".")]
    return sorted(files, key=lambda path: path.name.rsplit("-", 2)[1:])


def read(writers: type, path: Path) -> pa.Table:
    if writers is ParquetBulkWriters:
        return pyarrow.parquet.read_table(path)
    return pyarrow.orc.ORCFile(path).read()


class TestColumnar:
    @COLUMNAR
    def test_rows(self, tmp_path, writers):
        rows = [Row(name="Ann", age=31), Row(None, None), ("Bob", 4), {"name": "Cy", "age": 5}]
        [path] = write(tmp_path, writers.for_row_type(PEOPLE), rows)
        assert read(writers, path).to_pydict() == {
            "name": ["Ann", None, "Bob", "Cy"],
            "age": [31, None, 4, 5],
        }

    def test_every_type(self, tmp_path):
        moment = datetime.datetime(2024, 2, 29, 23, 59, 59, 5)
        point = Types.ROW_NAMED(["x", "y"], [Types.FLOAT(), Types.BIG_INT()])
        columns = {
            "text": (Types.STRING(), "ä", pa.string()),
            "letter": (Types.CHAR(), "x", pa.string()),
            "yes": (Types.BOOLEAN(), True, pa.bool_()),
            "byte": (Types.BYTE(), -128, pa.int8()),
            "short": (Types.SHORT(), 2**15 - 1, pa.int16()),
            "long": (Types.LONG(), 2**63 - 1, pa.int64()),
            "half": (Types.FLOAT(), 0.5, pa.float32()),
            "double": (Types.DOUBLE(), 0.1, pa.float64()),
            "large": (Types.BIG_INT(), 10**30, pa.decimal128(38, 0)),
            "exact": (Types.BIG_DEC(), Decimal("1.23"), pa.decimal128(38, 18)),
            "day": (Types.SQL_DATE(), moment.date(), pa.date32()),
            "time": (Types.SQL_TIME(), datetime.time(1, 2, 3), pa.time32("ms")),
            "moment": (Types.SQL_TIMESTAMP(), moment, pa.timestamp("us")),
            "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\0x", pa.binary()),
            "list": (Types.LIST(Types.INT()), [1, None], pa.list_(pa.int32())),
            "points": (Types.OBJECT_ARRAY(point), [Row(0.5, 1), None], None),
            "pair": (Types.TUPLE([Types.INT(), Types.STRING()]), (1, "a"), None),
            "map": (Types.MAP(Types.STRING(), point), {"a": Row(1.0, 2)}, None),
        }
        kind = Types.ROW_NAMED(list(columns), [column[0] for column in columns.values()])
        factory = ParquetBulkWriters.for_row_type(kind)
        values = [column[1] for column in columns.values()]
        [path] = write(tmp_path, factory, [Row(*values), Row(*[None] * len(values))])
        table = pyarrow.parquet.read_table(path)
        for name, (_, _, arrow) in columns.items():
            assert arrow is None or table.schema.field(name).type == arrow
        found, empty = table.to_pylist()
        assert set(empty.values()) == {None}
        as_they_are = {name: value for name, (_, value, _) in columns.items()}
        point = {"x": 0.5, "y": Decimal(1)}
        as_they_are["points"] = [point, None]
        as_they_are["pair"] = {"f0": 1, "f1": "a"}
        as_they_are["map"] = [("a", {"x": 1.0, "y": Decimal(2)})]
        assert found == as_they_are

    @COLUMNAR
    def test_row_types_of_tables_are_taken_as_in_pyflink(self, tmp_path, writers):
        kinds = {
            "s": DataTypes.STRING(), "n": DataTypes.DECIMAL(10, 2), "b": DataTypes.BYTES(),
            "on": DataTypes.DATE(), "a": DataTypes.ARRAY(DataTypes.INT()),
            "m": DataTypes.MAP(DataTypes.STRING(), DataTypes.BIGINT()),
            "r": DataTypes.ROW([DataTypes.FIELD("x", DataTypes.DOUBLE())]),
        }  # fmt: skip
        row = DataTypes.ROW([DataTypes.FIELD(name, kind) for name, kind in kinds.items()])
        day = datetime.date(2024, 2, 29)
        rows = [Row("ü", Decimal("1.50"), b"x", day, [1, 2], {"k": 1}, Row(0.5))]
        [path] = write(tmp_path, writers.for_row_type(row_type=row), rows)
        [found] = read(writers, path).to_pylist()
        assert found == {
            "s": "ü", "n": Decimal("1.50"), "b": b"x", "on": day, "a": [1, 2], "m": [("k", 1)],
            "r": {"x": 0.5},
        }  # fmt: skip

    def test_instants(self, tmp_path):
        kind = Types.ROW_NAMED(["at"], [Types.INSTANT()])
        rows = [Row(Instant.of_epoch_milli(1500))]
        [path] = write(tmp_path, ParquetBulkWriters.for_row_type(kind), rows)
        [found] = pyarrow.parquet.read_table(path)["at"].to_pylist()
        assert found == datetime.datetime.fromtimestamp(1.5, datetime.UTC)

    def test_many_rows_in_few_row_groups(self, tmp_path):
        kind = Types.ROW_NAMED(["n"], [Types.INT()])
        rows = [(n,) for n in range(25_000)]
        [path] = write(tmp_path, ParquetBulkWriters.for_row_type(kind), rows)
        file = pyarrow.parquet.ParquetFile(path)
        assert file.num_row_groups == 1
        assert file.read()["n"].to_pylist() == list(range(25_000))

    @COLUMNAR
    def test_compaction_puts_rows_into_common_groups(self, tmp_path, writers):
        batches = [[("Ann", 1)], [("Bob", 2), ("Cy", None)], [("Dee", 4)]]
        compactor = FileCompactor.record_wise_file_compactor()
        [path] = write(tmp_path, writers.for_row_type(PEOPLE), *batches, compact=compactor)
        assert read(writers, path).to_pydict() == {
            "name": ["Ann", "Bob", "Cy", "Dee"],
            "age": [1, 2, None, 4],
        }
        if writers is ParquetBulkWriters:
            assert pyarrow.parquet.ParquetFile(path).num_row_groups == 1

    @COLUMNAR
    def test_files_cannot_be_put_one_after_the_other(self, tmp_path, writers):
        with pytest.raises(InvalidArgument, match="cannot be put one after the other") as caught:
            write(
                tmp_path, writers.for_row_type(PEOPLE), [("Ann", 1)],
                compact=FileCompactor.concat_file_compactor(),
            )  # fmt: skip
        assert "record_wise_file_compactor" in caught.value.hint

    def test_what_cannot_be_written(self, tmp_path):
        with pytest.raises(TypeMismatch, match="needs a row type"):
            ParquetBulkWriters.for_row_type(Types.INT())
        with pytest.raises(TypeMismatch, match="no place in a columnar file"):
            ParquetBulkWriters.for_row_type(Types.ROW([Types.PICKLED_BYTE_ARRAY()]))
        factory = ParquetBulkWriters.for_row_type(PEOPLE)
        with pytest.raises(TypeMismatch, match="the column 'age' of type int32 cannot take"):
            write(tmp_path, factory, [("Ann", "old")])
        with pytest.raises(TypeMismatch, match="has 1 fields, the file 2"):
            write(tmp_path, factory, [("Ann",)])
        with pytest.raises(TypeMismatch, match="is no row of name, age"):
            write(tmp_path, factory, [5])

    def test_factories_know_their_type(self):
        factory = ParquetBulkWriters.for_row_type(PEOPLE, hadoop_config=None, utc_timestamp=True)
        assert isinstance(factory, RowDataBulkWriterFactory)
        assert factory.get_row_type() == PEOPLE


class TestLines:
    def schema(self) -> CsvSchema:
        return (
            CsvSchema.builder()
            .add_string_column("name")
            .add_number_column("age", Types.INT())
            .add_array_column("tags", ":")
            .set_null_value("-")
        )

    ROWS = (Row(name="Ann,y", age=31, tags=["a", "b"]), Row(name=None, age=None, tags=[]))

    def test_csv(self, tmp_path):
        [path] = write(tmp_path, CsvBulkWriters.for_schema(self.schema().build()), list(self.ROWS))
        assert path.read_text() == '"Ann,y",31,a:b\n-,-,\n'

    def test_csv_with_a_header(self, tmp_path):
        factory = CsvBulkWriters.for_schema(self.schema().set_use_header().build())
        compactor = FileCompactor.record_wise_file_compactor()
        first, second = write(tmp_path / "a", factory, *([row] for row in self.ROWS))
        assert first.read_text() == 'name,age,tags\n"Ann,y",31,a:b\n'
        assert second.read_text() == "name,age,tags\n-,-,\n"
        batches = [[row] for row in self.ROWS]
        [path] = write(tmp_path / "b", factory, *batches, compact=compactor)
        assert path.read_text() == 'name,age,tags\n"Ann,y",31,a:b\n-,-,\n'

    def test_json(self, tmp_path):
        rows = [Row(name="Ann", age=31), Row(name="Bob", age=None)]
        expected = [{"name": "Ann", "age": 31}, {"name": "Bob", "age": None}]
        for number, (given, stream) in enumerate([(PEOPLE, None), (None, PEOPLE)]):
            factory = JsonBulkWriters.for_type(given)
            [path] = write(tmp_path / str(number), factory, rows, kind=stream)
            assert [json.loads(line) for line in path.read_text().splitlines()] == expected

    def test_json_of_anything(self, tmp_path):
        [path] = write(tmp_path, JsonBulkWriters.for_type(), [{"a": [1, None]}, "x"])
        assert path.read_text() == '{"a":[1,null]}\n"x"\n'


class _LengthWriter(BulkWriter[str]):
    def __init__(self, out):
        self.out = out

    def add_element(self, element):
        self.out.write(bytes([len(element)]) + element.encode())

    def finish(self):
        self.out.write(b"\0")


class LengthPrefixed(BulkWriterFactory[str]):
    """A format as a user writes one."""

    concatenable = False

    def create(self, out):
        return _LengthWriter(out)

    def merge(self, inputs, out):
        for path in inputs:
            out.write(path.read_bytes()[:-1])
        out.write(b"\0")


def test_a_format_of_ones_own(tmp_path):
    compactor = FileCompactor.record_wise_file_compactor()
    [path] = write(tmp_path, LengthPrefixed(), ["a"], ["bc"], compact=compactor)
    assert path.read_bytes() == b"\1a\2bc\0"


@COLUMNAR
def test_decimals_have_the_digits_that_were_declared(tmp_path, writers):
    field = DataTypes.FIELD
    inner = DataTypes.ROW([field("d", DataTypes.DECIMAL(3, 1))])
    row = DataTypes.ROW(
        [
            field("a", DataTypes.DECIMAL(2, 0)),
            field("b", DataTypes.ARRAY(DataTypes.DECIMAL(5, 2))),
            field("c", DataTypes.MAP(DataTypes.STRING(), DataTypes.DECIMAL(5, 1))),
            field("e", inner),
        ]
    )
    rows = [
        Row(Decimal("1.5"), [Decimal("2.345")], {"k": Decimal("0.05")}, Row(Decimal("9.95"))),
        Row(Decimal(999), None, None, None),
    ]
    (file,) = write(tmp_path, writers.for_row_type(row), rows)
    found = read(writers, file)
    assert found.schema.field("a").type == pa.decimal128(2, 0)
    assert found.to_pylist() == [
        {
            "a": Decimal(2),
            "b": [Decimal("2.35")],
            "c": [("k", Decimal("0.1"))],
            "e": {"d": Decimal("10.0")},
        },
        {"a": None, "b": None, "c": None, "e": None},
    ]
