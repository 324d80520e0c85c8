"""Tables of files of Avro and of changelogs on Spark: read, written, bad rows kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

from headrace.common import Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink, FileSource
from headrace.datastream.formats.avro import (
    AvroBulkWriters,
    AvroInputFormat,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)
from headrace.datastream.formats.parquet import (
    AvroParquetReaders,
    AvroParquetWriters,
    ParquetColumnarRowInputFormat,
)
from headrace.errors import HeadraceError
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.table_environment import TableEnvironment

SCHEMA = AvroSchema.parse_string("""
    {"type": "record", "name": "word", "fields": [
        {"name": "text", "type": "string"},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {"name": "when", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]}
    ]}
""")
pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def tables() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made.get_config().set("parallelism.default", "2")
    return made


def create(
    env: TableEnvironment, name: str, columns: str, path: Path, options: dict[str, str]
) -> None:
    given = {"connector": "filesystem", "path": str(path), **options}
    texts = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    before, _, partitions = columns.partition(" PARTITIONED BY ")
    tail = f"PARTITIONED BY {partitions}" if partitions else ""
    env.execute_sql(f"CREATE TEMPORARY TABLE {name} ({before}) {tail} WITH ({texts})")


def rows(env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in env.execute_sql(query).collect())


def line(op: str, before: Any, after: Any) -> str:
    body = {"before": before, "after": after, "op": op, "source": {"db": "shop"}}
    return json.dumps(body) + "\n"


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("part*") if path.is_file()]


def test_a_changelog_in_files_keeps_a_query_up_to_date_and_is_written_as_another(tables, tmp_path):
    first, second, other = {"id": 1, "n": 5}, {"id": 1, "n": 7}, {"id": 2, "n": 1}
    changes = [("c", None, first), ("u", first, second), ("c", None, other), ("d", other, None)]
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.json").write_text("".join(line(*change) for change in changes))
    create(
        tables,
        "orders",
        "n INT, db STRING METADATA FROM 'value.source.database' VIRTUAL, id INT, "
        "file STRING METADATA FROM 'file.name' VIRTUAL",
        source,
        {"format": "debezium-json"},
    )
    ogg = {"format": "ogg-json"}
    create(tables, "totals", "id INT, db STRING, total INT", tmp_path / "out", ogg)
    tables.execute_sql(
        "INSERT INTO totals SELECT id, MAX(db), SUM(n) FROM orders GROUP BY id"
    ).wait()
    kept: dict[str, int] = {}
    for path in files_of(tmp_path / "out"):
        for text in path.read_text().splitlines():
            change = json.loads(text)
            row = json.dumps(change["after"] or change["before"])
            kept[row] = kept.get(row, 0) + (1 if change["op_type"] == "I" else -1)
    left = {row: count for row, count in kept.items() if count}
    assert left == {json.dumps({"id": 1, "db": "shop", "total": 7}): 1}
    found = tables.execute_sql("SELECT id, n, file FROM orders").collect()
    kinds = sorted((str(row.get_row_kind()), *row) for row in found)
    assert [tuple(row[1:]) for row in kinds].count((1, 7, "a.json")) == 1
    assert len(kinds) == 5


def test_avro_files_are_read_back_with_partitions_and_by_fastavro(tables, tmp_path):
    columns = (
        "id INT, name STRING, stamp TIMESTAMP(6), moment TIMESTAMP_LTZ(3), price DECIMAL(20, 3), "
        "tags ARRAY<STRING>, part STRING PARTITIONED BY (part)"
    )
    options = {
        "format": "avro",
        "avro.codec": "deflate",
        "avro.timestamp_mapping.legacy": "false",
    }
    create(tables, "kept", columns, tmp_path / "kept", options)
    tables.execute_sql("""
        INSERT INTO kept VALUES
        (1, 'żółw', TIMESTAMP '2020-01-02 03:04:05.123456', TO_TIMESTAMP_LTZ(1001, 3), 1.5,
         ARRAY['a', 'b'], 'x'),
        (2, CAST(NULL AS STRING), CAST(NULL AS TIMESTAMP(6)), CAST(NULL AS TIMESTAMP_LTZ(3)),
         CAST(NULL AS DECIMAL(20, 3)), CAST(NULL AS ARRAY<STRING>), 'y')
    """).wait()
    [path] = files_of(tmp_path / "kept" / "part=x")
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        [record] = list(reader)
    assert reader.metadata["avro.codec"] == "deflate"
    assert record["name"] == "żółw"
    assert str(record["stamp"]) == "2020-01-02 03:04:05.123456"
    assert str(record["price"]) == "1.500"
    found = rows(tables, "SELECT part, id, name, CAST(stamp AS STRING), tags, price FROM kept")
    assert [row[:4] for row in found] == [
        ("x", 1, "żółw", "2020-01-02 03:04:05.123456"),
        ("y", 2, None, None),
    ]
    assert found[0][4] == ["a", "b"]


def test_messages_that_are_no_rows_are_kept_counted_or_end_the_job(tables, tmp_path):
    good = line("c", None, {"id": 1})
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.json").write_text(good + '{"op":"x"}\n' + "no json\n\n")
    letters = tmp_path / "bad"
    options = {
        "format": "debezium-json",
        "bad-rows": "dead-letter",
        "bad-rows.path": str(letters),
    }
    create(tables, "checked", "id INT", source, options)
    assert rows(tables, "SELECT id FROM checked") == [(1,)]
    texts = [text for path in letters.glob("bad-rows*") for text in path.read_text().splitlines()]
    kept = {letter["line"]: letter for letter in map(json.loads, texts)}
    assert kept.keys() == {'{"op":"x"}', "no json"}
    assert kept['{"op":"x"}']["reason"] == 'its "op" is "x", not one of c, r, u and d'
    assert kept["no json"]["file"] == str(source / "a.json")
    create(tables, "strict", "id INT", source, {"format": "debezium-json"})
    with pytest.raises(HeadraceError, match=r'cannot read DEBEZIUM-JSON of .*a\.json: its "op"'):
        rows(tables, "SELECT id FROM strict")
    (tmp_path / "broken.avro").write_bytes(b"Obj\x01no")
    skipping = {"format": "avro", "bad-rows": "skip"}
    create(tables, "broken", "id INT", tmp_path / "broken.avro", skipping)
    assert rows(tables, "SELECT id FROM broken") == []


def test_formats_without_an_end_are_refused_for_files(tables, tmp_path):
    create(tables, "endless", "id INT", tmp_path, {"format": "protobuf"})
    with pytest.raises(HeadraceError, match="nothing says where a message ends"):
        rows(tables, "SELECT id FROM endless")


def test_streams_write_and_read_avro_and_parquet(tmp_path):
    env = StreamExecutionEnvironment.get_execution_environment()
    words = [{"text": text, "counts": {text: 1}, "when": None} for text in ("a", "ü")]
    stream = env.from_collection(words, type_info=Types.PICKLED_BYTE_ARRAY())
    typed = stream.map(lambda word: word, output_type=GenericRecordAvroTypeInfo(SCHEMA))
    avro, parquet = tmp_path / "avro", tmp_path / "parquet"
    for folder, writers in ((avro, AvroBulkWriters), (parquet, AvroParquetWriters)):
        factory = writers.for_generic_record(SCHEMA)
        typed.sink_to(FileSink.for_bulk_format(str(folder), factory).build())
    env.execute()
    read = env.create_input(AvroInputFormat(str(avro), SCHEMA))
    assert sorted(word["text"] for word in read.execute_and_collect()) == ["a", "ü"]
    formats = (
        FileSource.for_record_stream_format(
            AvroParquetReaders.for_generic_record(SCHEMA), str(parquet)
        ),
        FileSource.for_bulk_file_format(
            ParquetColumnarRowInputFormat(Types.ROW_NAMED(["text"], [Types.STRING()])), str(parquet)
        ),
    )
    records, rows_read = (
        list(
            env.from_source(
                each.build(), WatermarkStrategy.no_watermarks(), "files"
            ).execute_and_collect()
        )
        for each in formats
    )
    assert sorted(records, key=lambda word: word["text"]) == words
    assert sorted(row.text for row in rows_read) == ["a", "ü"]
