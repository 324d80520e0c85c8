"""Tables declared with 'connector.type', as before Flink 1.11."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import HeadraceError, InvalidQuery
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


def test_csv_files_are_those_of_the_filesystem_connector_without_quotes(tmp_path: Path) -> None:
    env = table_environment()
    declare(env, tmp_path)
    assert env.from_path("t").get_schema().get_field_names() == ["a", "b"]
    assert "== Abstract Syntax Tree ==" in env.explain_sql("INSERT INTO t VALUES (1, 'x')")
    (shown,) = env.execute_sql("SHOW CREATE TABLE t").changes()
    assert "'connector.type' = 'filesystem'" in shown[1]
    assert modern_options(options(tmp_path), None) == {
        "connector": "filesystem",
        "format": "csv",
        "path": str(tmp_path),
        "csv.disable-quote-character": "true",
    }


def test_delimiters_and_quotes_may_be_said(tmp_path: Path) -> None:
    given = options(
        tmp_path,
        field_delimiter="|",
        quote_character="'",
        line_delimiter="\n",
        comment_prefix="#",
        ignore_parse_errors="true",
        property_version="1",
    )
    assert modern_options(given, None) == {
        "connector": "filesystem",
        "format": "csv",
        "path": str(tmp_path),
        "csv.field-delimiter": "|",
        "csv.quote-character": "'",
        "csv.allow-comments": "true",
        "csv.ignore-parse-errors": "true",
    }


def test_other_older_options_are_refused(tmp_path: Path) -> None:
    env = table_environment()
    env.execute_sql("CREATE TABLE bare (a INT)")
    with pytest.raises(InvalidQuery, match="has no connector") as caught:
        env.from_path("bare")
    assert "'connector.type' is its older name" in str(caught.value)
    env.execute_sql("CREATE TABLE k (a INT) WITH ('connector.type'='kafka','format.type'='json')")
    with pytest.raises(InvalidQuery, match=r"'connector.type' = 'kafka' .* is known no more"):
        env.from_path("k")
    declare(env, tmp_path, ignore_first_line="true")
    with pytest.raises(HeadraceError, match="ignore-first-line"):
        env.from_path("t")
    env.execute_sql("DROP TABLE t")
    declare(env, tmp_path, unheard_of="1")
    with pytest.raises(InvalidQuery, match=r"there is no option 'format.unheard-of'"):
        env.from_path("t")
