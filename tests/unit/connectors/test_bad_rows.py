"""Rows that could not be read, on their way through the operators."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.connectors.tables.bad_rows import DeadLetters, GoodRows
from headrace.connectors.tables.line_reading import LineFormat
from headrace.connectors.tables.text_columns import TextColumns, sql_text
from headrace.core.logical_types import (
    INT,
    STRING,
    ArrayType,
    DecimalType,
    Field,
    LogicalType,
    MapType,
    RowType,
)
from headrace.errors import Unsupported
from tests.unit.operators.table.driving import Driven

GOOD = (0, 1, "x", None, None, None)
BAD = (0, None, "y", "column a: 'q' is no INT", "q,y", "/in/a.csv")


def test_bad_rows_do_not_pass() -> None:
    driven = Driven(GoodRows("t", "skipped"))
    assert driven.send(GOOD, BAD, GOOD) == ["+I[1, x]", "+I[1, x]"]
    assert driven.send(BAD) == []


CSV = TextColumns(flat=True)
JSON = TextColumns(flat=False)


@pytest.mark.parametrize(
    ("columns", "type", "expected"),
    [
        (CSV, ArrayType(INT), "STRING"),
        (JSON, ArrayType(INT), "ARRAY<STRING>"),
        (JSON, RowType((Field("x", INT), Field("y z", STRING))), "STRUCT<`x`:STRING,`y z`:STRING>"),
        (JSON, MapType(STRING, ArrayType(INT)), "MAP<STRING,ARRAY<STRING>>"),
        (JSON, DecimalType(30, 2), "DECIMAL(30,2)"),
    ],
)
def test_values_are_read_as_texts(columns: TextColumns, type: LogicalType, expected: str) -> None:
    assert columns.text_type(type) == expected


def test_csv_has_no_form_of_maps() -> None:
    with pytest.raises(Unsupported, match="CSV has no form"):
        CSV.text_type(MapType(STRING, INT))


def test_only_texts_that_can_be_wrong_are_checked() -> None:
    assert CSV.bad("t", STRING) is None
    assert CSV.bad("t", ArrayType(STRING)) is None
    assert "try_cast(t AS INT) IS NULL" in str(CSV.bad("t", INT))
    assert "exists" in str(JSON.bad("t", ArrayType(INT)))


def test_texts_are_quoted_for_spark() -> None:
    assert sql_text("it's\\ \n\0") == "'it\\'s\\\\ \\n\\0'"


def test_a_reason_names_the_columns_that_are_read() -> None:
    format = LineFormat("csv", CSV, bad_rows="skip")
    every = [Field("a", INT), Field("b", INT)]
    assert "column b" not in format.reason(every, {"a"})
    assert "column b" in format.reason(every, {"a", "b"})


def test_dead_letters_are_written_below_a_local_folder(tmp_path: Path) -> None:
    DeadLetters("t", f"file://{tmp_path}/bad")
    assert (tmp_path / "bad").is_dir()
    with pytest.raises(Unsupported, match="local folder"):
        DeadLetters("t", "s3a://bucket/bad")
