"""Each built-in function does what its row says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headrace.core import logical_types as lt
from headrace.core.expressions import Column, Expression, Literal
from headrace.errors import InvalidQuery
from headrace.operators.table.compiled import compiled_value
from headrace.sql import functions
from headrace.sql.functions.row import Example, FunctionRow, Typed
from headrace.sql.literals import literal

FUNCTIONS_FILE = (
    Path(__file__).resolve().parents[3] / "shared" / "conformance" / "sql_functions.json"
)
SYNTAX = {"CAST", "TRY_CAST", "EXISTS"}
"""Documented as functions, but part of the grammar."""


ABOUT_LITERALS = {"TYPEOF", "JSON_ARRAY"}
"""What they give depends on the types or on how the query was written."""


def argument(value: Any) -> Expression:
    return Literal(value.type, value.value) if isinstance(value, Typed) else literal(value)


def examples() -> list[Any]:
    return [
        pytest.param(row, example, id=f"{row.names[0]}-{position}")
        for row in functions.all_rows()
        if row.kind == "scalar"
        for position, example in enumerate(row.examples)
    ]


@pytest.mark.parametrize(("row", "example"), examples())
def test_example_gives_what_it_says(row: FunctionRow, example: Example) -> None:
    call = row.bind([argument(value) for value in example.arguments])
    assert compiled_value(call)((0,)) == example.gives
    if example.type is not None:
        assert call.type == example.type


@pytest.mark.parametrize(("row", "example"), examples())
def test_columns_give_the_same_as_literals(row: FunctionRow, example: Example) -> None:
    """Constants are folded; columns go through the checks of NULL."""
    if row.names[0] in ABOUT_LITERALS:
        pytest.skip("it is about the literals")
    arguments = [argument(value) for value in example.arguments]
    try:
        call = row.bind(
            [Column(one.type.with_nullable(True), at) for at, one in enumerate(arguments)]
        )
    except InvalidQuery:
        pytest.skip("it needs literals")
    values = [one.value for one in arguments if isinstance(one, Literal)]
    assert compiled_value(call)((0, *values)) == example.gives


@pytest.mark.parametrize("row", functions.all_rows(), ids=lambda row: row.names[0])
def test_row_is_documented(row: FunctionRow) -> None:
    assert row.doc.endswith(".")
    assert all(name == name.upper() for name in row.names)


def test_names_are_found_in_any_case() -> None:
    assert functions.find("char_length") is functions.find("CHAR_LENGTH")
    assert functions.find("no_such_function") is None


def test_each_name_belongs_to_one_row() -> None:
    names = [name for row in functions.all_rows() for name in row.names]
    assert len(names) == len(set(names))


def test_every_documented_function_is_there() -> None:
    if not FUNCTIONS_FILE.exists():
        pytest.skip("the list of functions is not beside the checkout")
    documented = {entry["name"] for entry in json.loads(FUNCTIONS_FILE.read_text())["functions"]}
    missing = {name for name in documented if name and functions.find(name) is None}
    assert missing <= SYNTAX


def test_wrong_arguments_are_told_the_signatures() -> None:
    row = functions.find("POWER")
    assert row is not None
    with pytest.raises(InvalidQuery, match=r"POWER does not take \(STRING, INT\)") as caught:
        row.bind([Column(lt.STRING, 0), Column(lt.INT, 1)])
    assert "POWER(<NUMERIC>, <NUMERIC>)" in str(caught.value)
