"""Avro and Parquet of DataStreams: rows, dictionaries, and what is said of bad ones."""

from __future__ import annotations

import datetime
import io
from decimal import Decimal
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet
import pytest

from headrace.common import Row, Types
from headrace.datastream.formats.avro import (
    AvroBulkWriters,
    AvroInputFormat,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
)
from headrace.datastream.formats.parquet import (
    AvroParquetReaders,
    AvroParquetWriters,
    ParquetColumnarRowInputFormat,
)
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.table import DataTypes

SCHEMA = """
{"type": "record", "name": "order", "fields": [
    {"name": "id", "type": "long"},
    {"name": "note", "type": ["null", "string"]},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
    {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "part", "type": {"type": "record", "name": "part", "fields": [
        {"name": "tags", "type": {"type": "array", "items": "string"}}]}}
]}
"""  # noqa: E501
AT = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)
DAY = datetime.date(2020, 1, 2)


def order(**changed):
    values = {"id": 1, "note": None, "at": AT, "day": DAY, "price": Decimal("1.50")}
    return Row(**{**values, "part": Row(tags=["a", "漢"]), **changed})


def test_rows_survive_a_bare_record_that_fastavro_reads():
    message = AvroRowSerializationSchema(avro_schema_string=SCHEMA).serialize(order())
    reading = AvroRowDeserializationSchema(avro_schema_string=SCHEMA)
    found = reading.deserialize(message)
    assert (found.id, found.note, found.at, found.day, found.price) == (
        1, None, AT, DAY, Decimal("1.50"),
    )  # fmt: skip
    assert found.part.tags == ["a", "漢"]
    assert reading.get_produced_type().get_field_names()[-1] == "part"
    record = fastavro.schemaless_reader(io.BytesIO(message), AvroSchema(SCHEMA).parsed, None)
    assert record["at"].replace(tzinfo=None) == AT


def test_rows_with_other_names_are_written_by_place():
    """As Flink does: a type without names of its own has f0, f1 and so on."""
    schema = """{"type": "record", "name": "word", "fields": [
        {"name": "id", "type": "int"}, {"name": "name", "type": "string"}]}"""
    writing = AvroRowSerializationSchema(avro_schema_string=schema)
    reading = AvroRowDeserializationSchema(avro_schema_string=schema)
    for row in (Row(f0=1, f1="hi"), Row(1, "hi"), Row(name="hi", id=1), (1, "hi")):
        assert reading.deserialize(writing.serialize(row)) == Row(id=1, name="hi")
    with pytest.raises(TypeMismatch, match="it has 3 fields, not 2"):
        writing.serialize(Row(f0=1, f1="hi", f2=None))


def test_what_is_no_record_is_said():
    writing = AvroRowSerializationSchema(avro_schema_string=SCHEMA)
    with pytest.raises(TypeMismatch, match="no record of the Avro schema"):
        writing.serialize(order(id="x"))
    with pytest.raises(TypeMismatch, match="cannot read AVRO of a message"):
        AvroRowDeserializationSchema(avro_schema_string=SCHEMA).deserialize(b"\x01")
    with pytest.raises(InvalidArgument, match="no Avro schema"):
        AvroSchema.parse_string('{"type": "nothing"}')
    with pytest.raises(InvalidArgument, match="cannot be read"):
        AvroSchema.parse_file("/nowhere.avsc")
    with pytest.raises(Unsupported, match="of Java"):
        AvroRowSerializationSchema("com.example.Order")
    with pytest.raises(TypeMismatch, match="AvroSchema"):
        AvroBulkWriters.for_generic_record(SCHEMA)


WORDS = AvroSchema.parse_string("""
    {"type": "record", "name": "word", "fields": [
        {"name": "text", "type": "string"},
        {"name": "counts", "type": {"type": "map", "values": "long"}}
    ]}
""")
RECORDS = [{"text": "a", "counts": {"x": 1}}, {"text": "ü", "counts": {}}]


@pytest.mark.parametrize("writers", [AvroBulkWriters, AvroParquetWriters])
def test_files_of_records_are_read_back_and_merged(writers, tmp_path: Path):
    factory = writers.for_generic_record(WORDS)
    path = tmp_path / "file"
    with path.open("wb") as out:
        writer = factory.create(out)
        for record in RECORDS:
            writer.add_element(record)
        writer.finish()
    reads_avro = writers is AvroBulkWriters
    reading = (
        AvroInputFormat(str(path), WORDS) if reads_avro
        else AvroParquetReaders.for_generic_record(WORDS)
    )  # fmt: skip
    with path.open("rb") as file:
        assert list(reading.read(file, str(path))) == RECORDS
    if reads_avro:
        with (tmp_path / "merged").open("wb") as out:
            factory.merge([path, path], out)
        with (tmp_path / "merged").open("rb") as file:
            assert list(fastavro.reader(file)) == RECORDS * 2
    with pytest.raises(TypeMismatch, match="is no"):
        list(reading.read(io.BytesIO(b"PAR1junk"), "junk"))


def test_parquet_columns_are_found_by_name_and_others_are_null(tmp_path: Path):
    file = io.BytesIO()
    moments = pa.array([AT, None], pa.timestamp("us"))
    columns = {"a": [1, 2], "T": moments, "d": pa.array([Decimal("1.5")] * 2, pa.decimal128(9, 2))}
    pyarrow.parquet.write_table(pa.table(columns), file)
    row_type = DataTypes.ROW(
        [
            DataTypes.FIELD("t", DataTypes.TIMESTAMP(3)),
            DataTypes.FIELD("gone", DataTypes.INT()),
            DataTypes.FIELD("a", DataTypes.BIGINT()),
            DataTypes.FIELD("d", DataTypes.DECIMAL(9, 2)),
        ]
    )
    reading = ParquetColumnarRowInputFormat(row_type, batch_size=1, is_case_sensitive=False)
    found = [tuple(row) for row in reading.read(file, "x")]
    assert found == [(AT, None, 1, Decimal("1.50")), (None, None, 2, Decimal("1.50"))]
    wrong = ParquetColumnarRowInputFormat(Types.ROW_NAMED(["T"], [Types.INT()]))
    with pytest.raises(TypeMismatch, match="column 'T' of x is of type"):
        list(wrong.read(file, "x"))
