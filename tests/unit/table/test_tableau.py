"""How results are printed: widths, wide characters, what is too long, NULL."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core import logical_types as lt
from headrace.core.logical_types import INT, STRING, Field, LogicalType
from headrace.table.results import TableResult, as_inserts
from headrace.table.settings import TableSettings
from headrace.table.table_config import TableConfig
from headrace.table.tableau import Tableau
from tests.unit.table.in_process import table_environment


def drawn(name: str, value: Any, type: LogicalType = STRING, **options: Any) -> list[str]:
    tableau = Tableau([Field(name, type)], **{"with_kinds": False, "fixed": True, **options})
    return list(tableau.lines([(0, value)]))


def cell(value: Any, type: LogicalType = STRING, **options: Any) -> str:
    return drawn("u", value, type, **options)[3][2:-2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ü漢字", " " * 25 + "ü漢字"),
        ("", " " * 30),
        (None, " " * 24 + "<NULL>"),
        ("漢字" * 9, " " + "漢字" * 6 + "漢..."),
        ("x" + "漢字" * 9, "x" + "漢字" * 6 + "漢..."),
        ("a" * 30, "a" * 30),
        ("a" * 31, "a" * 27 + "..."),
        ("😀", " " * 27 + "😀"),
        ("😀" * 16, "😀" * 9 + "..."),
        ("e\u0301", " " * 28 + "e\u0301"),
    ],
)
def test_wide_and_combining_characters_and_emoji_take_flinks_places(
    text: str | None, expected: str
) -> None:
    assert cell(text) == expected


@pytest.mark.parametrize("widest", [1, 2, 3, 4, 5, 6, 7, 10])
@pytest.mark.parametrize("text", ["ü漢字", "漢", "😀😀😀", "abcdefghijkl", "", None])
def test_a_narrow_column_ends(widest: int, text: str | None) -> None:
    by_type = drawn("u", text, widest=widest)
    assert len(by_type) == 6
    assert len(drawn("u", text, widest=widest, fixed=False)) == 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [("ü漢字", " ü漢字"), ("漢字" * 9, " 漢..."), ("x漢字漢字", "x漢..."), ("ab", "    ab")],
)
def test_no_column_is_narrower_than_null(text: str, expected: str) -> None:
    assert cell(text, widest=2) == expected


@pytest.mark.parametrize(
    ("type", "width"),
    [
        (lt.TinyIntType(), 6), (lt.SmallIntType(), 6), (INT, 11), (lt.BIGINT, 20),
        (lt.FLOAT, 30), (lt.DOUBLE, 30), (lt.DecimalType(5, 2), 7), (lt.DecimalType(38, 10), 40),
        (lt.DecimalType(1, 0), 6), (lt.BOOLEAN, 6), (lt.DateType(), 10), (lt.TimeType(0), 8),
        (lt.TimestampType(0), 19), (lt.TimestampType(3), 23), (lt.TimestampType(9), 29),
        (lt.LocalZonedTimestampType(3), 23), (lt.CharType(2), 30), (lt.VarCharType(2), 30),
        (lt.ArrayType(INT), 30), (lt.BinaryType(2), 30),
    ],
)  # fmt: skip
def test_the_type_gives_a_column_its_width(type: LogicalType, width: int) -> None:
    assert len(cell(None, type)) == width


def test_bytes_are_shown_as_digits() -> None:
    assert cell(b"\x01\xab", lt.BinaryType(2)).lstrip() == "x'01ab'"
    assert cell((b"", None), lt.ArrayType(lt.VarBinaryType())).lstrip() == "[x'', NULL]"


def test_a_command_without_rows_says_ok(capsys: pytest.CaptureFixture[str]) -> None:
    env = table_environment()
    env.execute_sql("CREATE TABLE s (k INT) WITH ('connector'='blackhole')").print()
    assert capsys.readouterr().out == "OK\n"


def test_explain_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    table_environment().execute_sql("EXPLAIN SELECT 1").print()
    assert capsys.readouterr().out.startswith("== Abstract Syntax Tree ==\n")


def test_a_long_name_widens_its_column_and_a_wide_one_is_cut() -> None:
    long = "a_name_that_is_longer_than_thirty_characters"
    assert drawn(long, "a" * 40)[3] == f"|     {'a' * 40} |"
    assert drawn("漢字" * 6, 1, INT)[1:4:2] == [
        "|  漢字漢字... |",
        "|            1 |",
    ]


def test_the_kind_of_a_change_comes_first() -> None:
    tableau = Tableau([Field("n", INT)], with_kinds=True, fixed=True)
    assert list(tableau.lines([(0, 1), (1, 1), (2, 2)])) == [
        "+----+-------------+",
        "| op |           n |",
        "+----+-------------+",
        "| +I |           1 |",
        "| -U |           1 |",
        "| +U |           2 |",
        "+----+-------------+",
        "3 rows in set",
    ]
    assert list(tableau.lines([])) == ["Empty set"]


def test_what_commands_tell_is_not_cut_and_shows_no_null(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fields = [Field("name", STRING), Field("extras", STRING)]
    TableResult(fields, rows=as_inserts([("x" * 50, None)])).print()
    assert capsys.readouterr().out.splitlines() == [
        f"+{'-' * 52}+--------+",
        f"| {'name':>50} | extras |",
        f"+{'-' * 52}+--------+",
        f"| {'x' * 50} |        |",
        f"+{'-' * 52}+--------+",
        "1 row in set",
    ]


def test_the_widest_column_is_an_option() -> None:
    config = TableConfig()
    assert TableSettings(config.get_configuration()).widest == 30
    config.set("table.display.max-column-width", "10")
    assert TableSettings(config.get_configuration()).widest == 10
