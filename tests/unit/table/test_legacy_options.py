"""Tables declared with 'connector.type', as before Flink 1.11."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.core.logical_types import INT, STRING, Field
from headrace.core.table_connector import CatalogTable, TableColumn, TableSchema
from headrace.errors import HeadraceError, InvalidArgument, InvalidQuery
from headrace.sql.catalog_tables import sink_of
from headrace.sql.legacy_options import modern_options
from headrace.table import TableEnvironment
from tests.unit.table.in_process import table_environment


def options(path: Path, **more: str) -> dict[str, str]:
    return {
        "connector.type": "filesystem",
        "connector.path": str(path),
        "format.type": "csv",
        **{f"format.{key.replace('_', '-')}": value for key, value in more.items()},
    }


def declare(env: TableEnvironment, path: Path, **more: str) -> None:
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in options(path, **more).items())
    env.execute_sql(f"CREATE TABLE t (a INT, b STRING) WITH ({listed})")


def modern(path: Path, *, reads: bool = True, **more: str) -> dict[str, str]:
    columns = (TableColumn(Field("a", INT)), TableColumn(Field("b", STRING)))
    table = CatalogTable(TableSchema(columns), options(path, **more))
    return modern_options(table, reads=reads, at=None)


def test_csv_files_are_those_of_the_filesystem_connector_in_an_older_form(tmp_path: Path) -> None:
    env = table_environment()
    declare(env, tmp_path)
    assert env.from_path("t").get_schema().get_field_names() == ["a", "b"]
    assert "== Abstract Syntax Tree ==" in env.explain_sql("INSERT INTO t VALUES (1, 'x')")
    (shown,) = env.execute_sql("SHOW CREATE TABLE t").changes()
    assert "'connector.type' = 'filesystem'" in shown[1]
    assert modern(tmp_path) == {
        "connector": "filesystem",
        "format": "legacy-csv",
        "path": str(tmp_path),
    }


READ = {
    "line_delimiter": ";",
    "quote_character": "'",
    "comment_prefix": "#",
    "ignore_first_line": "true",
    "ignore_parse_errors": "true",
}
WRITTEN = {"write_mode": "OVERWRITE", "num_files": "2"}


def test_some_options_are_for_reading_and_some_for_writing(tmp_path: Path) -> None:
    assert set(modern(tmp_path, field_delimiter="|", **READ)) >= {
        "format.field-delimiter",
        *(f"format.{key.replace('_', '-')}" for key in READ),
    }
    assert modern(tmp_path, reads=False, **WRITTEN)["format.write-mode"] == "OVERWRITE"
    for key, value in READ.items():
        with pytest.raises(InvalidQuery, match=f"no option 'format.{key.replace('_', '-')}'"):
            modern(tmp_path, reads=False, **{key: value})
    for key, value in WRITTEN.items():
        with pytest.raises(InvalidQuery, match=f"no option 'format.{key.replace('_', '-')}'"):
            modern(tmp_path, **{key: value})


def test_what_is_there_is_replaced_or_nothing_is_written(tmp_path: Path) -> None:
    columns = (TableColumn(Field("a", INT)),)
    there = tmp_path / "there"
    there.mkdir()
    sink_of(("t",), CatalogTable(TableSchema(columns), options(tmp_path / "new"))).prepare()
    with pytest.raises(InvalidArgument, match="already"):
        sink_of(("t",), CatalogTable(TableSchema(columns), options(there))).prepare()
    replaced = options(there, write_mode="OVERWRITE")
    sink_of(("t",), CatalogTable(TableSchema(columns), replaced)).prepare()
    assert not there.exists()


def test_fields_of_the_format_are_the_columns(tmp_path: Path) -> None:
    env = table_environment()
    fields = ("'format.fields.0.name' = 'a', 'format.fields.0.data-type' = 'INT'",
              "'format.fields.0.name' = 'x', 'format.fields.0.data-type' = 'INT'",
              "'format.derive-schema' = 'false'", "'update-mode' = 'upsert'")  # fmt: skip
    for number, more in enumerate(fields):
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in options(tmp_path).items())
        env.execute_sql(f"CREATE TABLE t{number} (a INT) WITH ({listed}, {more})")
    assert env.from_path("t0").get_schema().get_field_names() == ["a"]
    for table in ("t1", "t2", "t3"):
        with pytest.raises(InvalidQuery):
            env.from_path(table)


def test_other_older_options_are_refused(tmp_path: Path) -> None:
    env = table_environment()
    env.execute_sql("CREATE TABLE bare (a INT)")
    with pytest.raises(InvalidQuery, match="has no connector") as caught:
        env.from_path("bare")
    assert "'connector.type' is its older name" in str(caught.value)
    env.execute_sql("CREATE TABLE k (a INT) WITH ('connector.type'='kafka','format.type'='json')")
    with pytest.raises(InvalidQuery, match=r"'connector.type' = 'kafka' .* is known no more"):
        env.from_path("k")
    declare(env, tmp_path, line_delimiter="|||")
    with pytest.raises(HeadraceError, match="one or two characters end a line"):
        env.from_path("t")
    env.execute_sql("DROP TABLE t")
    declare(env, tmp_path, unheard_of="1")
    with pytest.raises(InvalidQuery, match=r"there is no option 'format.unheard-of'"):
        env.from_path("t")
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in options(tmp_path).items())
    env.execute_sql(f"CREATE TABLE lists (a ARRAY<INT>) WITH ({listed})")
    with pytest.raises(HeadraceError, match="no form for ARRAY<INT>"):
        env.from_path("lists")
