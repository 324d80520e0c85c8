"""A number that is none equals itself where the query says the same twice, and nothing else."""

from __future__ import annotations

from tests.sql.in_process import collect

NAN = "CAST('NaN' AS DOUBLE)"
ROW = f"(VALUES ({NAN}, {NAN}, CAST(NULL AS DOUBLE))) AS r(v, w, n)"
CASES = {
    f"{NAN} = {NAN}": True,
    "v = v": True,
    "v <> v": False,
    "v <= v": True,
    "v > v": False,
    "v = w": False,
    "v <> w": True,
    "v < 1": False,
    "v > 1": False,
    "n = n": None,
    "n <> n": None,
    "v BETWEEN 0 AND 1": False,
    "v IS NOT DISTINCT FROM v": True,
    "v IS DISTINCT FROM v": False,
    "NULLIF(v, v)": None,
}


def test_comparisons_of_not_a_number_are_those_of_flink() -> None:
    (row,) = collect(f"SELECT {', '.join(CASES)} FROM {ROW}")
    assert dict(zip(CASES, row, strict=True)) == CASES
