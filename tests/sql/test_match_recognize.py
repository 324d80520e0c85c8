"""MATCH_RECOGNIZE: cases whose results are Flink's."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import InvalidGraph
from headrace.table.udf import AggregateFunction, udaf
from tests.sql import sql_cases

CASES = sql_cases.cases("match_recognize")
_WEIGHTED = (
    "CREATE TEMPORARY FUNCTION weightedAvg AS "
    "'tests.sql.test_match_recognize.weighted_average' LANGUAGE PYTHON"
)


class WeightedAverage(AggregateFunction):
    """A whole number: the sum of values times weights by the sum of weights."""

    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def accumulate(self, accumulator: list[int], value: int, weight: int) -> None:
        accumulator[0] += value * weight
        accumulator[1] += weight

    def get_value(self, accumulator: list[int]) -> int | None:
        return accumulator[0] // accumulator[1] if accumulator[1] else None


weighted_average = udaf(
    WeightedAverage(), result_type="BIGINT", accumulator_type="ARRAY<BIGINT>", name="weightedAvg"
)


@pytest.mark.parametrize("way", ["straight", "restored", "micro-batches"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any], way: str) -> None:
    """Row by row, restored after each one, and with one change per key and micro-batch."""
    case = runnable(case)
    options: dict[str, bool] = {"crash": way == "restored", "per_record": way != "micro-batches"}
    if "expect_error" in case:
        with pytest.raises(InvalidGraph, match="would be found for ever"):
            sql_cases.lines(case, **options)
        return
    wrong = sql_cases.is_met(case, **options)
    assert wrong is None, wrong


def runnable(case: dict[str, Any]) -> dict[str, Any]:
    """With tables of rows where the case has a stream with watermarks, and with its functions."""
    setup = [*(case.get("setup_sql") or ()), *([_WEIGHTED] if case.get("udfs") else [])]
    return {**case, "tables": [_table(each) for each in case["tables"]], "setup_sql": setup}


def _table(table: dict[str, Any]) -> dict[str, Any]:
    """A stream's watermarks as a column of their own, the one after a row beside it."""
    if "stream" not in table:
        return table
    rows: list[dict[str, Any]] = []
    for item in table["stream"]:
        if "watermark" in item:
            rows[-1]["row"][-1] = item["watermark"]
        else:
            mark = rows[-1]["row"][-1] if rows else 0
            rows.append({"kind": "+I", "row": [*item["row"], item["ts"], mark]})
    schema = [
        *table["schema"], "ts BIGINT", "mark BIGINT", "rowtime AS TO_TIMESTAMP_LTZ(ts, 3)",
        "WATERMARK FOR rowtime AS TO_TIMESTAMP_LTZ(mark, 3)",
    ]  # fmt: skip
    return {"name": table["name"], "schema": schema, "rows": rows}
