"""Values of tables in csv and json, as Flink writes them."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pytest

from headrace.connectors.tables.file_formats import table_format
from headrace.connectors.tables.file_paths import escaped_folder, local_file
from headrace.connectors.tables.file_writer import PartitionFolders, RowWriters
from headrace.connectors.tables.options import Options
from headrace.core.logical_types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    ArrayType,
    DecimalType,
    Field,
    LocalZonedTimestampType,
    MapType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
)

NANOS = 1_000_000_000
MOMENT = 1_577_934_245  # 2020-01-02 03:04:05
FIELDS = (
    Field("a", INT), Field("b", STRING), Field("c", DecimalType(5, 2)), Field("d", DOUBLE),
    Field("e", TimestampType(3)), Field("f", LocalZonedTimestampType(3)), Field("g", DATE),
    Field("h", TimeType()), Field("i", ArrayType(INT)),
    Field("j", RowType((Field("x", INT), Field("y", STRING)))), Field("k", VarBinaryType()),
    Field("l", BOOLEAN),
)  # fmt: skip
ROWS: list[tuple[Any, ...]] = [
    (1, "x", Decimal("1.50"), 2.0, MOMENT * NANOS, NANOS, 18263, 11_045_000, (1, 2), (1, "u"),
     b"hi", True),
    (2, "", Decimal("-1.25"), 1e20, MOMENT * NANOS + 120_000_000, 1_001_000_000, -719161, 0, (1,),
     (1, "a b"), b"\0", False),
    (3, 'q"u,o te', Decimal("0.00"), 0.1, MOMENT * NANOS, 0, 18263, 11_040_000, (3,), (2, "c,d"),
     b"", True),
    (4, *(None,) * 11),
]  # fmt: skip


def written(format: str, rows: list[Any] = ROWS, fields: Any = FIELDS, **options: str) -> list[str]:
    given = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    row = RowType(tuple(fields))
    made = table_format(Options("filesystem", {"format": format, **given}), row)
    out = io.BytesIO()
    writer = RowWriters(made, row, ()).create(out)
    for values in rows:
        writer.add_element(values)
    writer.finish()
    return out.getvalue().decode().splitlines()


CSV = """\
1,x,1.5,2.0,"2020-01-02 03:04:05","1970-01-01 00:00:01Z",2020-01-02,03:04:05,1;2,1;u,aGk=,true
2,,-1.25,1.0E20,"2020-01-02 03:04:05.12","1970-01-01 00:00:01.001Z",0001-01-02,00:00:00,1,\
"1;a b",AA==,false
3,"q""u,o te",0,0.1,"2020-01-02 03:04:05","1970-01-01 00:00:00Z",2020-01-02,03:04:00,3,\
"2;c,d",,true
4,,,,,,,,,,,
"""
JSON = """\
{"a":1,"b":"x","c":1.5,"d":2.0,"e":"2020-01-02 03:04:05","f":"1970-01-01 00:00:01Z",\
"g":"2020-01-02","h":"03:04:05","i":[1,2],"j":{"x":1,"y":"u"},"k":"aGk=","l":true}
{"a":2,"b":"","c":-1.25,"d":1.0E20,"e":"2020-01-02 03:04:05.12","f":"1970-01-01 00:00:01.001Z",\
"g":"0001-01-02","h":"00:00:00","i":[1],"j":{"x":1,"y":"a b"},"k":"AA==","l":false}
{"a":3,"b":"q\\"u,o te","c":0,"d":0.1,"e":"2020-01-02 03:04:05","f":"1970-01-01 00:00:00Z",\
"g":"2020-01-02","h":"03:04:00","i":[3],"j":{"x":2,"y":"c,d"},"k":"","l":true}
{"a":4,"b":null,"c":null,"d":null,"e":null,"f":null,"g":null,"h":null,"i":null,"j":null,\
"k":null,"l":null}
"""


def test_csv() -> None:
    assert written("csv") == CSV.splitlines()


def test_json() -> None:
    assert written("json") == JSON.splitlines()


def test_choices_of_json() -> None:
    fields = [Field("a", INT), Field("t", TimestampType(3)), Field("d", DecimalType(10, 9)),
              Field("m", MapType(STRING, INT))]  # fmt: skip
    row = (None, MOMENT * NANOS, Decimal("0.000000010"), {"k": None})
    assert written("json", [row], fields) == [
        '{"a":null,"t":"2020-01-02 03:04:05","d":1E-8,"m":{"k":null}}'
    ]
    options = {
        "json__encode__ignore_null_fields": "true",
        "json__encode__decimal_as_plain_number": "true",
        "json__timestamp_format__standard": "ISO-8601",
    }
    assert written("json", [row], fields, **options) == [
        '{"t":"2020-01-02T03:04:05","d":0.00000001,"m":{"k":null}}'
    ]


def test_choices_of_csv() -> None:
    fields = [Field("a", INT), Field("b", STRING), Field("c", ArrayType(STRING))]
    options = {"csv__null_literal": "n", "csv__field_delimiter": "|",
               "csv__array_element_delimiter": "/", "csv__quote_character": "'"}  # fmt: skip
    rows = [(1, None, ("x", None)), (None, "it's|", ())]
    assert written("csv", rows, fields, **options) == ["1|n|'x/n'", "n|'it''s|'|"]
    assert written("csv", [(1, 'a"b', ())], fields, csv__disable_quote_character="true") == [
        '1,a"b,'
    ]


@pytest.mark.parametrize("charset", ["UTF-8", "ISO-8859-1"])
def test_raw(charset: str) -> None:
    row = RowType((Field("a", STRING),))
    made = table_format(Options("filesystem", {"format": "raw", "raw.charset": charset}), row)
    out = io.BytesIO()
    RowWriters(made, row, ()).create(out).add_element(("ü",))
    assert out.getvalue() == "ü\n".encode(charset)


def test_folders_of_partitions() -> None:
    folders = PartitionFolders(["day", "n"], [STRING, INT], [1, 2], "nothing")
    assert folders.bucket_id((0, "a/b", 3), None) == "day=a%2Fb/n=3"
    assert folders.bucket_id((0, None, None), None) == "day=nothing/n=nothing"
    assert escaped_folder("a b+%") == "a b+%25"


@pytest.mark.parametrize(
    ("path", "local"),
    [("file:///tmp/x", "/tmp/x"), ("file:/tmp/x", "/tmp/x"), ("rel/x", "rel/x"),
     ("s3a://bucket/x", None), ("hdfs://h/x", None)],
)  # fmt: skip
def test_local_paths(path: str, local: str | None) -> None:
    found = local_file(path)
    assert (None if found is None else str(found)) == local
