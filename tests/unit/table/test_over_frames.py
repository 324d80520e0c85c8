"""RANGE and ROWS frames of OVER in BATCH mode, over every type there is a distance for."""

from __future__ import annotations

import pytest

from headrace.errors import InvalidQuery
from headrace.table import EnvironmentSettings, TableEnvironment
from tests.unit.table.in_process import changes_of, table_environment

VALUES = {
    "INT": ("1", "2", "2", "5"),
    "TINYINT": ("1", "2", "2", "5"),
    "BIGINT": ("1", "2", "2", "5"),
    "DOUBLE": ("1", "2", "2", "4.5"),
    "FLOAT": ("1", "2", "2", "4.5"),
    "DECIMAL(5, 2)": ("1", "2", "2", "4.5"),
    "DATE": ("'2020-01-01'", "'2020-01-02'", "'2020-01-02'", "'2020-01-05'"),
    "TIME": ("'00:00:01'", "'00:00:02'", "'00:00:02'", "'00:00:05'"),
    "TIMESTAMP(3)": (
        "'2020-01-01 00:00:01'", "'2020-01-01 00:00:02'", "'2020-01-01 00:00:02'",
        "'2020-01-01 00:00:04.5'",
    ),
}  # fmt: skip
"""Of rows whose v is 10, 20, 5 and 7; a row with NULL and 3 follows."""
UNITS = {"DATE": "DAY", "TIME": "SECOND", "TIMESTAMP(3)": "SECOND"}


@pytest.fixture
def env() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    env._env.set_parallelism(1)
    return env


def sums(env: TableEnvironment, type: str, frame: str, order: str = "") -> str:
    """v and SUM(v) of each row, in the order of v."""
    given = zip((*VALUES[type], "NULL"), (10, 20, 5, 7, 3), strict=True)
    rows = " UNION ALL ".join(f"SELECT CAST({o} AS {type}) AS o, {v} AS v" for o, v in given)
    over = f"ORDER BY o {order} {frame}"
    found = changes_of(env.sql_query(f"SELECT v, SUM(v) OVER ({over}) FROM ({rows})"))
    pairs = sorted(line[3:-1].split(", ") for line in found)
    return " ".join(f"{v}:{total}" for v, total in sorted(pairs, key=lambda pair: int(pair[0])))


def reaching(type: str, bounds: str) -> str:
    unit = UNITS.get(type)
    words = [
        f"INTERVAL '{word}' {unit}" if unit and word.isdigit() else word for word in bounds.split()
    ]
    return f"RANGE BETWEEN {' '.join(words)}"


@pytest.mark.parametrize("type", VALUES)
@pytest.mark.parametrize(
    ("bounds", "order", "found"),
    [
        ("1 PRECEDING AND CURRENT ROW", "", "3:3 5:35 7:7 10:10 20:35"),
        ("1 PRECEDING AND CURRENT ROW", "DESC", "3:3 5:25 7:7 10:35 20:25"),
        ("CURRENT ROW AND 1 FOLLOWING", "", "3:3 5:25 7:7 10:35 20:25"),
        ("3 PRECEDING AND 3 FOLLOWING", "DESC", "3:3 5:42 7:32 10:35 20:42"),
        ("UNBOUNDED PRECEDING AND 1 FOLLOWING", "", "3:3 5:38 7:45 10:38 20:38"),
        ("1 FOLLOWING AND UNBOUNDED FOLLOWING", "NULLS LAST", "3:null 5:10 7:null 10:35 20:10"),
        ("1 FOLLOWING AND 3 FOLLOWING", "", "3:null 5:7 7:null 10:25 20:7"),
        ("3 PRECEDING AND 1 PRECEDING", "NULLS LAST", "3:null 5:10 7:25 10:null 20:10"),
    ],
)  # fmt: skip
def test_a_range_reaches_as_far_as_the_order_counts(env, type, bounds, order, found):
    assert sums(env, type, reaching(type, bounds), order) == found


@pytest.mark.parametrize(
    "bounds", ["3 PRECEDING AND 1 PRECEDING", "1 FOLLOWING AND UNBOUNDED FOLLOWING"]
)
def test_a_frame_without_its_row_is_empty_once_nulls_have_come(env, bounds):
    """As in Flink, where neither end of such a frame finds its way past them."""
    found = sums(env, "INT", reaching("INT", bounds))
    assert found == "3:null 5:null 7:null 10:null 20:null"


def test_a_distance_may_have_a_fraction(env):
    for type in ("INT", "DOUBLE", "DECIMAL(5, 2)"):
        half = sums(env, type, "RANGE BETWEEN 0.5 PRECEDING AND CURRENT ROW")
        assert half == "3:3 5:25 7:7 10:10 20:25"
        more = sums(env, type, "RANGE BETWEEN 1.5 PRECEDING AND 0 FOLLOWING")
        assert more == "3:3 5:35 7:7 10:10 20:35"


def test_a_date_counts_whole_days(env):
    for length, found in (("23", "3:3 5:25 7:7 10:10 20:25"), ("36", "3:3 5:35 7:7 10:10 20:35")):
        frame = f"RANGE BETWEEN INTERVAL '{length}' HOUR PRECEDING AND CURRENT ROW"
        assert sums(env, "DATE", frame) == found


def test_a_single_bound_is_one_end_of_a_frame_at_the_current_row(env):
    for order, unit in ((", v", "ROWS"), ("", "RANGE")):
        for short, long in (("1 FOLLOWING", "CURRENT ROW AND 1 FOLLOWING"),
                            ("1 PRECEDING", "1 PRECEDING AND CURRENT ROW")):  # fmt: skip
            found = sums(env, "INT", f"{unit} {short}", order)
            assert found == sums(env, "INT", f"{unit} BETWEEN {long}", order)
    assert sums(env, "INT", "ROWS 1 FOLLOWING", ", v") == "3:13 5:25 7:7 10:15 20:27"


def test_any_order_has_frames_without_a_distance(env):
    rows = "SELECT 'a' AS o, 1 AS v UNION ALL SELECT 'b', 2 UNION ALL SELECT 'b', 4"
    made = env.sql_query(f"SELECT v, SUM(v) OVER (ORDER BY o DESC) FROM ({rows})")
    assert sorted(changes_of(made)) == ["+I[1, 7]", "+I[2, 6]", "+I[4, 6]"]


@pytest.mark.parametrize("unit", ["ROWS", "RANGE"])
@pytest.mark.parametrize("bounds", ["1 PRECEDING AND 3 PRECEDING", "3 FOLLOWING AND 1 FOLLOWING"])
def test_a_frame_that_ends_before_it_starts_has_no_rows(env, unit, bounds):
    found = sums(env, "INT", f"{unit} BETWEEN {bounds}")
    assert found == "3:null 5:null 7:null 10:null 20:null"


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        ("RANGE BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW", "start with UNBOUNDED FOLLOWING"),
        ("ROWS BETWEEN CURRENT ROW AND UNBOUNDED PRECEDING", "end with UNBOUNDED PRECEDING"),
        ("RANGE BETWEEN CURRENT ROW AND 1 PRECEDING", "ends before it starts"),
        ("ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW", "ends before it starts"),
        ("ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING", "ends before it starts"),
        ("ROWS BETWEEN 1.5 PRECEDING AND CURRENT ROW", "takes a number of rows"),
        ("ROWS BETWEEN -1 PRECEDING AND CURRENT ROW", "takes a number of rows"),
        ("ROWS BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW", "takes a number of rows"),
    ],
)
def test_a_frame_that_has_no_meaning_is_refused(env, frame, text):
    with pytest.raises(InvalidQuery, match=text):
        env.sql_query(f"SELECT SUM(v) OVER (ORDER BY v {frame}) FROM (SELECT 1 AS v)")


@pytest.mark.parametrize(
    ("order", "bound", "text"),
    [
        ("v", "INTERVAL '1' SECOND", "an order by INT NOT NULL takes a number"),
        ("d", "1", "an order by DATE NOT NULL takes an interval"),
        ("ts", "1", "an order by TIMESTAMP"),
        ("s", "1", "no distance between values of"),
        ("s", "INTERVAL '1' SECOND", "no distance between values of"),
        ("v, s", "1", "exactly one column in ORDER BY"),
        ("v", "'1'", "takes a number, this is CHAR"),
        ("v", "NULL", "takes a number, this is NULL"),
        ("v", "v", "must be a constant"),
    ],
)
def test_what_is_no_distance_is_refused(env, order, bound, text):
    over = f"ORDER BY {order} RANGE BETWEEN {bound} PRECEDING AND CURRENT ROW"
    table = (
        "(SELECT 1 AS v, 'a' AS s, DATE '2020-01-01' AS d, TIMESTAMP '2020-01-01 00:00:00' AS ts)"
    )
    with pytest.raises(InvalidQuery, match=text):
        env.sql_query(f"SELECT SUM(v) OVER ({over}) FROM {table}")


def test_what_later_rows_change_in_a_stream_is_taken_back():
    env = table_environment()
    rows = "SELECT v, PROCTIME() AS p FROM (VALUES (5), (7), (1)) AS T(v)"
    over = "ORDER BY p ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING"
    sums = f"SELECT SUM(v) OVER ({over}) AS s FROM ({rows})"
    assert changes_of(env.sql_query(sums)) == [
        "+I[5]",
        "-U[5]",
        "+U[12]",
        "+I[7]",
        "-U[7]",
        "+U[8]",
        "+I[1]",
    ]
    assert changes_of(env.sql_query(f"SELECT SUM(s) FROM ({sums})"))[-1] == "+U[21]"


def test_the_default_of_a_neighbour_also_stands_for_null(env):
    rows = "(VALUES (1, 1), (2, CAST(NULL AS INT)), (3, 3)) AS T(o, v)"
    query = f"SELECT o, LEAD(v, 1, -1) OVER w, LAG(v, 1, -1) OVER w, LEAD(v) OVER w FROM {rows}"
    assert changes_of(env.sql_query(f"{query} WINDOW w AS (ORDER BY o)")) == [
        "+I[1, -1, -1, null]",
        "+I[2, 3, 1, 3]",
        "+I[3, -1, -1, null]",
    ]
