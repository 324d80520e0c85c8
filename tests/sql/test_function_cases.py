"""Built-in functions against what Flink gives, and what its own tests expect of them."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression
from headrace.core.logical_types import Field, LogicalType
from headrace.core.numbers import single
from headrace.errors import HeadraceError
from headrace.operators.functions import dates
from headrace.operators.table.compiled import compiled_value
from headrace.sql.expressions import resolve_text
from headrace.sql.types import parse_type
from tests.cases import loading as own
from tests.sql import sql_cases

CASES_FILE = (
    Path(__file__).resolve().parents[3] / "shared" / "conformance" / "sql_function_cases.json"
)

WRONG_DATA = {
    "fn/GreatestLeastFunctions/186": "the expected decimal was written without its point",
    "fn/BitmapFunctions/8": "the column is NOT NULL, its value NULL",
    "fn/TimeFunctions/624": "the time had a fraction that was not written down",
}


def cases() -> list[Any]:
    """Those of Flink's own tests, if they are beside the checkout."""
    if not CASES_FILE.exists():
        return []
    found = json.loads(CASES_FILE.read_text())["cases"]
    return [pytest.param(case, id=f"{case['id']}-{case['function']}") for case in found]


@pytest.mark.parametrize("case", own.cases("functions"), ids=lambda case: case["id"])
def test_expressions_give_what_flink_gives(case: dict[str, Any]) -> None:
    """Values and types, for rows with and without NULL."""
    got = Counter(map(sql_cases.normal, sql_cases.lines(case)))
    assert got == Counter(sql_cases.expected(case))


def type_of(text: str) -> LogicalType:
    """Rows may leave out the names of their fields."""
    unnamed = re.compile(r"ROW<((?:(?!ROW<)[^<>`])*)>")
    while match := unnamed.search(text):
        parts = [part.strip() for part in re.split(r",(?![^(]*\))", match.group(1))]
        named = ", ".join(f"`f{index}` {part}" for index, part in enumerate(parts))
        text = text[: match.start()] + f"ROW<{named}>" + text[match.end() :]
    return parse_type(text)


def unnamed(type: LogicalType) -> str:
    return re.sub(r"`(?:[^`]|``)*` ", "", str(type))


def internal(value: Any, type: LogicalType) -> Any:
    """A value of a case in internal form."""
    if isinstance(value, dict) and "$value" in value:
        return _typed(value["$type"], value["$value"], type)
    if value is None:
        return None
    match type:
        case lt.ArrayType(element=element):
            return tuple(internal(item, element) for item in value)
        case lt.MapType(key=key, value=item):
            pairs = value["$map"] if isinstance(value, dict) else value
            return {internal(k, key): internal(v, item) for k, v in pairs}
        case lt.RowType(fields=fields):
            row = value["$row"] if isinstance(value, dict) else value
            return tuple(internal(v, f.type) for v, f in zip(row, fields, strict=True))
        case lt.BinaryType() | lt.VarBinaryType():
            return (
                bytes(byte & 255 for byte in value) if isinstance(value, list) else value.encode()
            )
        case lt.DecimalType(scale=scale):
            return Decimal(str(value)).quantize(Decimal(1).scaleb(-scale))
        case lt.BitmapType():
            return frozenset(value)
        case lt.FloatType():
            return single(value)
    return value


def _typed(kind: str, value: Any, type: LogicalType) -> Any:
    if kind == "DATE":
        return dates.read_date(value)
    if kind == "TIME":
        return dates.read_time(value)
    if kind == "TIMESTAMP":
        read = dates.read_timestamp(value.replace("T", " "))
        precision = type.precision if isinstance(type, lt.TIMESTAMPS) else 9
        return dates.cut(read, precision)
    if kind == "TIMESTAMP_LTZ_MS":
        return value * dates.MILLI_NANOS
    return internal(value, type)


def same(got: Any, expected: Any) -> bool:
    if isinstance(got, float) and isinstance(expected, int | float):
        return math.isclose(got, expected, rel_tol=1e-9) or (
            math.isnan(got) and expected != expected
        )
    return bool(got == expected)


def resolved(case: dict[str, Any]) -> tuple[Expression, tuple[Any, ...]]:
    """The expression, and the row to evaluate it on."""
    types = [type_of(text) for _name, text, _value in case["inputs"]]
    pairs = list(zip(case["inputs"], types, strict=True))
    fields = [Field(name, type) for (name, *_), type in pairs]
    row = tuple(internal(value, type) for (*_, value), type in pairs)
    return resolve_text(case["sql"], fields), (0, *row)


@pytest.mark.parametrize("case", cases())
def test_function_gives_what_flink_gives(case: dict[str, Any]) -> None:
    if case["id"] in WRONG_DATA:
        pytest.skip(WRONG_DATA[case["id"]])
    if case.get("expect_error") == "validation":
        with pytest.raises(HeadraceError):
            resolved(case)
        return
    expression, row = resolved(case)
    if "expect_error" in case:
        with pytest.raises((HeadraceError, ValueError, ArithmeticError)):
            compiled_value(expression)(row)
        return
    expected_type = type_of(case["type"])
    assert same(compiled_value(expression)(row), internal(case["expected"], expected_type))
    assert unnamed(expression.type) == unnamed(expected_type)
