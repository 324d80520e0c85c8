"""Tables of files on Spark: formats, folders, metadata, bad rows, as a batch and as a stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Row
from headrace.errors import HeadraceError, TypeMismatch, Unsupported
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.table_environment import TableEnvironment

ALL_TYPES = (
    "a INT, b STRING, c DECIMAL(20, 2), d DOUBLE, e TIMESTAMP(3), f TIMESTAMP_LTZ(3), g DATE, "
    "h TIME, i ARRAY<INT>, k BYTES, l BOOLEAN, m TIMESTAMP(9)"
)
VALUES = """
    (1, 'x', 123456789012345678.25, 2.5, TIMESTAMP '2020-01-02 03:04:05', TO_TIMESTAMP_LTZ(1001, 3),
     DATE '2020-01-02', TIME '03:04:05', ARRAY[1, 2], x'6869', TRUE,
     TIMESTAMP '2020-01-02 03:04:05.123456789'),
    (2, 'q"u,o te;', -1.5, 1e20, TIMESTAMP '1969-12-31 23:59:59.12', TO_TIMESTAMP_LTZ(0, 3),
     DATE '0001-01-02', TIME '00:00:00', ARRAY[3], x'00ff', FALSE,
     TIMESTAMP '1970-01-01 00:00:00.000000001')
"""


@pytest.fixture(params=["native", "stream"])
def tables(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> TableEnvironment:
    """An environment whose bounded queries Spark runs alone, or that runs them as streams."""
    if request.param == "stream":
        monkeypatch.setenv("HEADRACE_MODE", "stream")
        made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        made.get_config().set("headrace.table.changes", "record")
    else:
        made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    made.get_config().set("parallelism.default", "2")
    return made


@pytest.fixture
def batch() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_batch_mode())


def create(env: TableEnvironment, name: str, columns: str, path: Path, **options: Any) -> None:
    given = {"connector": "filesystem", "path": str(path), **options}
    texts = ", ".join(f"'{key.replace('__', '.').replace('_', '-')}' = '{value}'"
                      for key, value in given.items())  # fmt: skip
    before, _, partitions = columns.partition(" PARTITIONED BY ")
    tail = f"PARTITIONED BY {partitions}" if partitions else ""
    env.execute_sql(f"CREATE TEMPORARY TABLE {name} ({before}) {tail} WITH ({texts})")


def rows(env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    """What a query of inserts gives, in a fixed order."""
    with env.execute_sql(query).collect() as found:
        return sorted((tuple(row) for row in found), key=repr)


def put(folder: Path, text: str, name: str = "a.txt") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("format", ["csv", "json", "parquet", "orc"])
def test_what_is_written_is_read(tables: TableEnvironment, tmp_path: Path, format: str) -> None:
    create(tables, "t", ALL_TYPES, tmp_path / "t", format=format)
    if format == "orc" and tables.get_config().get("headrace.table.changes") == "record":
        with pytest.raises(Unsupported, match="ORC"):
            tables.execute_sql(f"INSERT INTO t VALUES {VALUES}")
        return
    tables.execute_sql(f"INSERT INTO t VALUES {VALUES}").wait()
    tables.execute_sql(
        "CREATE TEMPORARY VIEW expected AS SELECT * FROM (VALUES "
        f"{VALUES}) AS v (a, b, c, d, e, f, g, h, i, k, l, m)"
    )
    columns = "a, b, c, d, e, f, g, h, i, k, l, m"
    assert rows(tables, f"SELECT {columns} FROM t") == rows(tables, "SELECT * FROM expected")
    assert rows(tables, "SELECT i, a FROM t WHERE b = 'x'") == [([1, 2], 1)]


def test_values_take_the_form_of_their_column(tables: TableEnvironment, tmp_path: Path) -> None:
    columns = (
        "c CHAR(5), v VARCHAR(3), b BINARY(4), w VARBINARY(2), r ROW<x CHAR(2)>, n DECIMAL(3, 1)"
    )
    create(tables, "t", columns, tmp_path / "t", format="parquet")
    source = "(VALUES ('abcdef'), ('ü'), (CAST(NULL AS STRING))) T(s)"
    tables.execute_sql(
        f"INSERT INTO t SELECT 'abc', s, x'0102', x'010203', ROW('y'), 3.55 FROM {source}"
    ).wait()
    rest = (b"\1\2\0\0", b"\1\2", Row("y "), Decimal("3.6"))
    assert rows(tables, "SELECT * FROM t") == [
        ("abc  ", "abc", *rest), ("abc  ", "ü", *rest), ("abc  ", None, *rest),
    ]  # fmt: skip


def test_older_options_of_csv_files(tables: TableEnvironment, tmp_path: Path) -> None:
    tables.execute_sql(
        "CREATE TEMPORARY TABLE t (a INT, b STRING) WITH ('connector.type' = 'filesystem', "
        f"'connector.path' = '{tmp_path / 't'}', 'format.type' = 'csv')"
    )
    tables.execute_sql("INSERT INTO t VALUES (1, 'x'), (2, '\"y\"')").wait()
    assert rows(tables, "SELECT * FROM t") == [(1, "x"), (2, '"y"')]
    (tmp_path / "old").write_text("a,b;1,x;,y;3,z,more;")
    tables.execute_sql(
        "CREATE TEMPORARY TABLE older (a INT, b STRING) WITH ('connector.type' = 'filesystem', "
        f"'connector.path' = '{tmp_path / 'old'}', 'format.type' = 'csv', "
        "'format.line-delimiter' = ';', 'format.ignore-first-line' = 'true')"
    )
    assert rows(tables, "SELECT * FROM older") == [(1, "x"), (3, "z"), (None, "y")]


@pytest.mark.parametrize("format", ["csv", "json", "parquet", "orc"])
def test_null_is_read_as_null(tables: TableEnvironment, tmp_path: Path, format: str) -> None:
    options = {"csv__null_literal": "null"} if format == "csv" else {}
    create(
        tables,
        "t",
        "a INT, b STRING, c ARRAY<INT>",
        tmp_path / "t",
        format=format,
        **options,
    )
    tables.execute_sql(
        "INSERT INTO t VALUES (1, CAST(NULL AS STRING), CAST(NULL AS ARRAY<INT>)), "
        "(CAST(NULL AS INT), '', ARRAY[1])"
    ).wait()
    assert rows(tables, "SELECT * FROM t") == [(1, None, None), (None, "", [1])]


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.smoke
def test_partitions_are_folders(tables: TableEnvironment, tmp_path: Path, format: str) -> None:
    columns = "a INT, kind STRING, n INT PARTITIONED BY (kind, n)"
    create(tables, "t", columns, tmp_path / "t", format=format)
    tables.execute_sql(
        "INSERT INTO t VALUES (1, 'a b/c%+:', 7), (2, CAST(NULL AS STRING), 8), (3, 'x', 7)"
    ).wait()
    assert (tmp_path / "t" / "kind=x" / "n=7").is_dir()
    assert rows(tables, "SELECT * FROM t") == [
        (1, "a b/c%+:", 7), (2, None, 8), (3, "x", 7)
    ]  # fmt: skip
    assert rows(tables, "SELECT n, a FROM t WHERE n > 7") == [(8, 2)]


def test_a_file_outside_all_partitions_is_named(batch: TableEnvironment, tmp_path: Path) -> None:
    create(batch, "t", "a INT, n INT PARTITIONED BY (n)", put(tmp_path / "t", "1\n"), format="csv")
    with pytest.raises(TypeMismatch, match="is not in a folder n="):
        rows(batch, "SELECT * FROM t")


def test_a_file_tells_where_rows_are_from(tables: TableEnvironment, tmp_path: Path) -> None:
    folder = put(tmp_path / "a b+%", "1,x\n", "one file.csv")
    columns = (
        "a INT, p STRING METADATA FROM 'file.path', name STRING METADATA FROM 'file.name', "
        "b STRING, size BIGINT METADATA FROM 'file.size', "
        "changed TIMESTAMP_LTZ(3) METADATA FROM 'file.modification-time'"
    )
    create(tables, "t", columns, folder, format="csv")
    assert rows(tables, "SELECT b, size, name, p, a FROM t") == [
        ("x", 4, "one file.csv", str(folder / "one file.csv"), 1)
    ]
    assert rows(tables, "SELECT name FROM t WHERE changed > TO_TIMESTAMP_LTZ(0, 3)")


def test_raw_lines(tables: TableEnvironment, tmp_path: Path) -> None:
    create(tables, "t", "line STRING", put(tmp_path / "t", "a,b\n\nü\n"), format="raw")
    create(tables, "copy", "line STRING", tmp_path / "copy", format="raw")
    assert rows(tables, "SELECT * FROM t") == [("",), ("a,b",), ("ü",)]
    tables.execute_sql("INSERT INTO copy SELECT * FROM t").wait()
    assert rows(tables, "SELECT * FROM copy") == [("",), ("a,b",), ("ü",)]


def test_raw_lines_in_another_charset(tables: TableEnvironment, tmp_path: Path) -> None:
    folder = put(tmp_path / "t", "")
    (folder / "more.txt").write_bytes("größer\n".encode("ISO-8859-1"))
    create(tables, "t", "line STRING", folder, format="raw", **{"raw.charset": "ISO-8859-1"})
    assert [row[0] for row in tables.execute_sql("SELECT line FROM t").collect()] == ["größer"]


@pytest.mark.parametrize("charset", ["UTF-16", "no'such"])
def test_raw_lines_in_a_charset_that_cannot_be_read(
    tables: TableEnvironment, tmp_path: Path, charset: str
) -> None:
    (tmp_path / "lines.txt").write_text("a\n")
    quoted = charset.replace("'", "''")
    create(tables, "t", "line STRING", tmp_path, format="raw", **{"raw.charset": quoted})
    with pytest.raises(Unsupported, match=f"files in .*{charset}.* cannot be read line by line"):
        tables.execute_sql("SELECT * FROM t").print()


CSV_TEXTS = [
    ("1,\n2,\"\"\n", {}, [(1, ""), (2, "")]),
    ("1,n/a\nn/a,y\n3,\n", {"csv__null_literal": "n/a"}, [(1, None), (3, ""), (None, "y")]),
    ("1,\n,x\n", {"csv__null_literal": ""}, [(1, None), (None, "x")]),
    (" 1 , x \n", {}, [(1, " x ")]),
    ('1,"x,""y"""\n', {}, [(1, 'x,"y"')]),
    ('1,"x\\"y"\n', {"csv__escape_character": "\\"}, [(1, 'x"y')]),
    ('1,"x\n', {"csv__disable_quote_character": "true"}, [(1, '"x')]),
    ("1;x\n", {"csv__field_delimiter": ";"}, [(1, "x")]),
    ("1\tx\n", {"csv__field_delimiter": "\\t"}, [(1, "x")]),
    ("#c\n1,x\n", {"csv__allow_comments": "true"}, [(1, "x")]),
    ('1,"x\ny"\n', {"csv__multi_line": "true"}, [(1, "x\ny")]),
    ("q,x\n2\n3,y,z\n4,v\n", {"csv__ignore_parse_errors": "true"},
     [(2, None), (4, "v"), (None, "x")]),
]  # fmt: skip


def test_csv_is_read_as_flink_reads_it(batch: TableEnvironment, tmp_path: Path) -> None:
    for number, (text, options, expected) in enumerate(CSV_TEXTS):
        folder = put(tmp_path / str(number), text)
        create(batch, f"t{number}", "a INT, b STRING", folder, format="csv", **options)
        assert rows(batch, f"SELECT a, b FROM t{number}") == expected, text


def test_values_of_csv(batch: TableEnvironment, tmp_path: Path) -> None:
    text = "TRUE,1.235,2020-01-02 03:04:05.9876,1;2,,yes\n"
    columns = "a BOOLEAN, b DECIMAL(5, 2), c TIMESTAMP(3), d ARRAY<INT>, e ARRAY<STRING>, f BOOLEAN"
    create(batch, "t", columns, put(tmp_path / "t", text), format="csv")
    query = "SELECT a, CAST(b AS STRING), CAST(c AS STRING), d, e, f FROM t"
    assert rows(batch, query) == [(True, "1.24", "2020-01-02 03:04:05.987", [1, 2], [], False)]
    assert rows(batch, "SELECT COUNT(*) FROM t") == [(1,)]


def test_json_is_read_as_flink_reads_it(batch: TableEnvironment, tmp_path: Path) -> None:
    text = (
        '{"a":"12","c":{"x":1.7,"y":["u",null,3]},"m":{"k":1},"z":0,"d":12345678901234567.89}\n\n'
        '{"a":null,"b":{"o":[1]}}\n'
    )
    columns = "a INT, b STRING, c ROW<x INT, y ARRAY<STRING>>, m MAP<STRING, INT>, d DECIMAL(20, 2)"
    create(batch, "t", columns, put(tmp_path / "t", text), format="json")
    query = "SELECT a, b, c.x, c.y, m, CAST(d AS STRING) FROM t"
    assert rows(batch, query) == [
        (12, None, 1, ["u", None, "3"], {"k": 1}, "12345678901234567.89"),
        (None, '{"o":[1]}', None, None, None, None),
    ]
    lenient = put(tmp_path / "u", '{"a":\n{"a":"x","b":2}\n[1]\n5\n{"a":1,"b":2}\n')
    create(
        batch,
        "u",
        "a INT, b INT",
        lenient,
        format="json",
        json__ignore_parse_errors="true",
    )
    assert rows(batch, "SELECT * FROM u") == [(1, 2), (None, 2)]


BAD = [
    ("csv", "1,x\nq,y\n", {}, "column a: 'q' is no INT"),
    ("csv", "1,x\n2,y,z\n", {}, "2,y,z"),
    ("json", '{"a":1}\n{"a":\n', {}, '{"a":'),
    ("json", '{"a":1}\n{"a":"q"}\n', {}, "column a: 'q' is no INT"),
    (
        "json",
        '{"a":1}\n',
        {"json__fail_on_missing_field": "true"},
        "field b is missing",
    ),
]


@pytest.mark.parametrize(("format", "text", "options", "said"), BAD)
def test_a_bad_row_fails_with_its_file_and_text(
    tables: TableEnvironment,
    tmp_path: Path,
    format: str,
    text: str,
    options: Any,
    said: str,
) -> None:
    create(
        tables,
        "t",
        "a INT, b STRING",
        put(tmp_path / "t", text),
        format=format,
        **options,
    )
    with pytest.raises(TypeMismatch) as failure:
        rows(tables, "SELECT a, b FROM t")
    assert said in failure.value.message
    assert str(tmp_path / "t" / "a.txt") in failure.value.message
    assert "bad-rows" in str(failure.value.hint)


def test_a_bad_row_behind_many_good_ones_fails_with_its_file_and_text(
    tables: TableEnvironment, tmp_path: Path
) -> None:
    """When Spark has handed rows over already: what it could not read must not look like an end."""
    folder = put(tmp_path / "t", '{"a":1}\n' * 30_000 + '{"a":"q"}\n')
    create(tables, "t", "a INT", folder, format="json")
    with pytest.raises(TypeMismatch, match="column a: 'q' is no INT"):
        rows(tables, "SELECT a FROM t")


MIXED = {
    "csv": (
        "1,x\nq,y\n3\n4,v,w\n\n6,z\n",
        [(1, "x"), (6, "z")],
        ["q,y", "3", "4,v,w", ""],
    ),
    "json": (
        '{"a":1,"b":"x"}\n{"a":"q","b":"y"}\n{"a":\n[]\n{"a":6,"b":"z"}\n',
        [(1, "x"), (6, "z")],
        ['{"a":"q","b":"y"}', '{"a":', "[]"],
    ),
}


@pytest.mark.parametrize("format", ["csv", "json"])
def test_bad_rows_are_skipped_and_counted(
    tables: TableEnvironment, tmp_path: Path, format: str
) -> None:
    text, good, bad = MIXED[format]
    columns = "a INT, b STRING"
    create(tables, "t", columns, put(tmp_path / "t", text), format=format, bad_rows="skip")
    result = tables.execute_sql("SELECT a, b FROM t")
    assert sorted(tuple(row) for row in result.collect()) == good
    client = result.get_job_client()
    assert client is not None
    counts = client.get_job_execution_result().result().get_all_accumulator_results()
    assert counts == {"bad rows of default_catalog.default_database.t (skipped)": len(bad)}


@pytest.mark.parametrize("format", ["csv", "json"])
def test_bad_rows_are_kept_where_that_is_wanted(
    tables: TableEnvironment, tmp_path: Path, format: str
) -> None:
    text, good, bad = MIXED[format]
    create(
        tables, "t", "a INT, b STRING", put(tmp_path / "t", text), format=format,
        bad_rows="dead-letter", bad_rows__path=tmp_path / "bad",
    )  # fmt: skip
    assert rows(tables, "SELECT a, b FROM t") == good
    letters = [
        json.loads(line)
        for file in (tmp_path / "bad").glob("bad-rows*")
        for line in file.read_text().splitlines()
    ]
    assert sorted(letter["line"] for letter in letters) == sorted(bad)
    assert {letter["file"] for letter in letters} == {str(tmp_path / "t" / "a.txt")}
    assert "column a: 'q' is no INT" in {letter["reason"] for letter in letters}


def test_a_watched_folder_is_read_as_files_come(
    tmp_path: Path, eventually: Callable[..., None]
) -> None:
    env = TableEnvironment.create()
    env.get_config().set("execution.checkpointing.interval", "200 ms")
    folder = put(tmp_path / "in", "1,x\n", "1.csv")
    create(
        env, "t", "a INT, b STRING", folder, format="csv", source__monitor_interval="1 s",
        bad_rows="dead-letter", bad_rows__path=tmp_path / "bad",
    )  # fmt: skip
    create(
        env,
        "copy",
        "a INT, b STRING PARTITIONED BY (b)",
        tmp_path / "out",
        format="json",
    )
    job = env.execute_sql("INSERT INTO copy SELECT * FROM t").get_job_client()
    assert job is not None

    def lines(place: str) -> set[str]:
        files = [file for file in (tmp_path / place).rglob("*.json") if file.name[0] not in "._"]
        return {line for file in files for line in file.read_text().splitlines()}

    try:
        eventually(lambda: lines("out") == {'{"a":1}'})
        put(tmp_path / "later", "2,x\nq,x\n3,y\n", "2.csv")
        (tmp_path / "later" / "2.csv").rename(folder / "2.csv")
        eventually(lambda: lines("out") == {'{"a":1}', '{"a":2}', '{"a":3}'})
        eventually(lambda: len(lines("bad")) == 1)
    finally:
        job.cancel().result()


def test_overwriting_replaces_what_was_there(batch: TableEnvironment, tmp_path: Path) -> None:
    columns = "a INT, b STRING PARTITIONED BY (b)"
    create(batch, "t", columns, tmp_path / "t", format="csv")
    batch.execute_sql("INSERT INTO t VALUES (1, 'x'), (2, 'y')").wait()
    batch.execute_sql("INSERT OVERWRITE t VALUES (3, 'x')").wait()
    assert rows(batch, "SELECT * FROM t") == [(2, "y"), (3, "x")]


def test_a_stream_cannot_overwrite(tmp_path: Path) -> None:
    env = TableEnvironment.create()
    env.get_config().set("headrace.table.changes", "record")
    create(env, "t", "a INT", tmp_path / "t", format="csv")
    with pytest.raises(Unsupported, match="OVERWRITE"):
        env.execute_sql("INSERT OVERWRITE t VALUES (1)")


@pytest.mark.smoke
def test_print_and_datagen(tables: TableEnvironment, capfd: pytest.CaptureFixture[str]) -> None:
    tables.execute_sql(
        "CREATE TEMPORARY TABLE made (n BIGINT, s STRING) WITH ('connector' = 'datagen', "
        "'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3', "
        "'fields.s.length' = '4')"
    )
    tables.execute_sql(
        "CREATE TEMPORARY TABLE p (n BIGINT) WITH ('connector' = 'print', "
        "'print-identifier' = 'id', 'standard-error' = 'true')"
    )
    assert rows(tables, "SELECT n, CHAR_LENGTH(s) FROM made") == [
        (1, 4),
        (2, 4),
        (3, 4),
    ]
    capfd.readouterr()
    tables.execute_sql("INSERT INTO p SELECT n FROM made").wait()
    output = capfd.readouterr()
    assert sorted(line.split("> ")[1] for line in output.err.splitlines() if line[:2] == "id") == [
        "+I[1]", "+I[2]", "+I[3]",
    ]  # fmt: skip
    assert "+I" not in output.out


@pytest.mark.smoke
def test_a_missing_folder_is_named(batch: TableEnvironment, tmp_path: Path) -> None:
    create(batch, "t", "a INT", tmp_path / "nowhere", format="csv")
    with pytest.raises(HeadraceError, match="there is no file or folder"):
        rows(batch, "SELECT * FROM t")
