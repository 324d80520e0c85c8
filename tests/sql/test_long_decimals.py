"""Decimals of 38 digits stay exact, whatever context the thread has."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from headrace.core.expressions import SortKey
from headrace.core.logical_types import ArrayType, DecimalType, LogicalType, MapType, RowType
from headrace.core.numbers import rescaled
from headrace.core.table_columns import from_arrow, to_arrow
from headrace.formats.table_texts import decimal_text
from headrace.operators.table.ordering import order_of_values
from tests.sql.sql_cases import lines, materialized

LONGEST = "9" * 38
TABLE = {
    "name": "x",
    "schema": ["m DECIMAL(38, 0)", "f DECIMAL(38, 18)"],
    "rows": [
        {"kind": "+I", "row": ["-" + LONGEST, "-12345678901234567890.123456789012345678"]},
        {"kind": "+I", "row": ["-" + LONGEST[:-1] + "8", "0.000000000000000001"]},
    ],
}


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("-m", LONGEST),
        ("ABS(m)", LONGEST),
        ("SIGN(m)", "-1"),
        ("SIGN(f)", "-1.000000000000000000"),
        ("FLOOR(f)", "-12345678901234567891"),
        ("ROUND(f, 17)", "-12345678901234567890.12345678901234568"),
        ("TRUNCATE(m, -1)", "-" + LONGEST[:-1] + "0"),
        ("MOD(m, 10)", "-9"),
        ("CAST(m AS STRING)", "-" + LONGEST),
        ("COALESCE(m, 0)", "-" + LONGEST),
        ("m + 0 = m", "TRUE"),
    ],
)
def test_functions_of_long_decimals_lose_no_digit(expression: str, shown: str) -> None:
    case = {"id": "", "mode": "streaming", "config": {}, "tables": [TABLE]}
    query = f"SELECT CAST({expression} AS STRING) FROM x WHERE f < 0"
    assert dict(materialized(lines({**case, "sql": query}))) == {f"[{shown}]": 1}


def test_long_decimals_that_differ_in_the_last_digit_are_ordered_downwards() -> None:
    order = order_of_values([SortKey(0, False, False)], [DecimalType(38, 0)])
    less, more = Decimal("1" + LONGEST[1:]), Decimal("1" + LONGEST[1:-1] + "8")
    assert order((less,)) < order((more,))


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (DecimalType(38, 0), Decimal(LONGEST)),
        (DecimalType(38, 38), Decimal("0." + LONGEST)),
        (ArrayType(DecimalType(38, 2)), (Decimal(LONGEST[:-2] + ".99"), None)),
        (MapType(DecimalType(38, 0), DecimalType(30, 29)), {Decimal(LONGEST): Decimal(1)}),
        (RowType.of(DecimalType(38, 0)), (Decimal(LONGEST),)),
    ],
)
def test_long_decimals_travel_in_arrow_columns_from_any_thread(
    type: LogicalType, value: object
) -> None:
    def travel() -> list[object]:
        return from_arrow(to_arrow([value, None], type), type)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(travel).result() == [value, None]


def test_long_decimals_are_written_to_files_with_every_digit() -> None:
    assert decimal_text(Decimal(LONGEST)) == LONGEST
    assert decimal_text(rescaled(Decimal("1" + "0" * 30), 2)) == "1" + "0" * 30
