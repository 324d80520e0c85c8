"""Every expression of the Table API has the value that SQL gives it."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from headrace.errors import HeadraceError, InvalidQuery, TypeMismatch, UnfitValue
from headrace.table import DataTypes
from headrace.table.expression import (
    Expression,
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from headrace.table.expressions import (
    and_,
    array,
    atan2,
    call,
    call_sql,
    coalesce,
    col,
    concat,
    concat_ws,
    convert_tz,
    current_date,
    date_format,
    from_unixtime,
    if_then_else,
    json_array,
    json_array_agg,
    json_object,
    json_string,
    lit,
    log,
    map_,
    map_from_arrays,
    negative,
    not_,
    null_of,
    or_,
    pi,
    range_,
    row,
    row_interval,
    temporal_overlaps,
    timestamp_diff,
    to_date,
    to_timestamp,
    to_timestamp_ltz,
    with_all_columns,
    with_columns,
    without_columns,
)
from tests.unit.table.in_process import changes_of, table_environment

EMPTY = JsonQueryOnEmptyOrError.EMPTY_ARRAY
NUMBERS = [
    (col("i") + 1, "6"),
    (1 + col("i"), "6"),
    (col("i") - 2, "3"),
    (10 - col("i"), "5"),
    (col("i") * 2, "10"),
    (col("i") / 2, "2"),
    (20 / col("i"), "4"),
    (col("i") % 3, "2"),
    (col("i") ** 2, "25.0"),
    (-col("i"), "-5"),
    (abs(lit(-3)), "3"),
    (negative(col("i")), "-5"),
    (col("i") == 5, "true"),
    (col("i") != 5, "false"),
    (col("i") < 6, "true"),
    (col("i") > 6, "false"),
    (col("i") <= 5, "true"),
    (col("i") >= 6, "false"),
    ((col("i") > 1) & (col("i") < 3), "false"),
    ((col("i") > 1) | (col("i") < 3), "true"),
    (~(col("i") > 1), "false"),
    (~(col("n") > 1), "true"),
    (not_(col("i") > 1), "false"),
    (and_(col("i") > 1, col("i") < 9, True), "true"),
    (or_(col("i") > 9, col("i") < 3), "false"),
    (col("i").between(1, 5), "true"),
    (col("i").not_between(1, 5), "false"),
    ((col("i") > 1).then("yes", "no"), "yes"),
    (if_then_else(col("i") > 9, 1, 2), "2"),
    (col("n").if_null(7), "7"),
    (coalesce(col("n"), 8), "8"),
    (col("n").is_null, "true"),
    (col("i").is_not_null, "true"),
    ((col("i") > 1).is_true, "true"),
    ((col("i") > 1).is_false, "false"),
    ((col("n") > 1).is_not_true, "true"),
    ((col("n") > 1).is_not_false, "true"),
    (lit(100).log10, "2.0"),
    (lit(8).log2, "3.0"),
    (lit(1).ln, "0.0"),
    (lit(0).exp, "1.0"),
    (lit(0).sin, "0.0"),
    (lit(0).cos, "1.0"),
    (lit(4).sqrt, "2.0"),
    (lit(-4).abs, "4"),
    (lit(-4).sign, "-1"),
    (lit(8).log(2), "3.0"),
    (log(8, 2), "3.0"),
    (lit(2.345).round(1), "2.3"),
    (lit(2.345).truncate(1), "2.3"),
    (lit(5).bin, "101"),
    (lit(255).hex, "FF"),
    (atan2(0, 1), "0.0"),
    (pi().floor(), "3.0"),
    (lit(1.2).ceil(), "2.0"),
    (lit(180).radians.degrees.round(0), "180.0"),
    (col("i").in_(1, 5), "true"),
    (null_of(DataTypes.INT()), "null"),
    (lit(5, DataTypes.SMALLINT()), "5"),
    (col("i").cast(DataTypes.STRING()), "5"),
    (lit("x").try_cast(DataTypes.INT()), "null"),
    (call("abs", -2), "2"),
    (call_sql("i * 3"), "15"),
]
TEXTS = [
    (col("s") + "!", "Hello!"),
    ("n" + col("i"), "n5"),
    (col("s").upper_case, "HELLO"),
    (col("s").lower_case, "hello"),
    (col("s").init_cap, "Hello"),
    (col("s").char_length, "5"),
    (col("s").substring(2), "ello"),
    (col("s").substring(2, 3), "ell"),
    (col("s").substr(1, 2), "He"),
    (lit("  a ").trim(), "a"),
    (lit(" a ").trim_leading(), "a "),
    (lit(" a ").trim_trailing(), " a"),
    (lit("xax").trim("x"), "a"),
    (lit("xa").ltrim("x"), "a"),
    (lit("ax").rtrim("x"), "a"),
    (lit("xax").btrim("x"), "a"),
    (col("s").replace("l", "L"), "HeLLo"),
    (col("s").like("H%"), "true"),
    (col("s").similar("H%"), "true"),
    (lit("l").position(col("s")), "3"),
    (lit("a").lpad(3, "-"), "--a"),
    (lit("a").rpad(3, "-"), "a--"),
    (col("s").overlay("XX", 2), "HXXlo"),
    (col("s").overlay("XX", 2, 1), "HXXllo"),
    (col("s").regexp("l+"), "true"),
    (col("s").regexp_replace("l+", "-"), "He-o"),
    (col("s").regexp_extract("(l+)", 1), "ll"),
    (lit("a").to_base64, "YQ=="),
    (lit("YQ==").from_base64, "a"),
    (lit("a").ascii, "97"),
    (lit(97).chr, "a"),
    (col("s").left(2), "He"),
    (col("s").right(2), "lo"),
    (col("s").instr("l"), "3"),
    (lit("l").locate(col("s"), 4), "4"),
    (lit("a b").url_encode(), "a+b"),
    (lit("a").repeat(3), "aaa"),
    (col("s").reverse, "olleH"),
    (lit("a,b").split_index(",", 1), "b"),
    (col("s").concat("!"), "Hello!"),
    (concat(col("s"), "-", "x"), "Hello-x"),
    (concat_ws("-", "a", "b"), "a-b"),
    (lit("a").md5, "0cc175b9c0f1b6a831c399e269772661"),
    (col("s").starts_with("He"), "true"),
    (col("s").ends_with("lo"), "true"),
    (lit("a=1,b=2").str_to_map(), "{a=1, b=2}"),
    (lit(2).elt("a", "b"), "b"),
    (lit("a,b").split(","), "[a, b]"),
    (lit("abc").translate("ab", "xy"), "xyc"),
]
TIMES = [
    (lit("2020-01-31").to_date, "2020-01-31"),
    (lit("12:30:00").to_time, "12:30"),
    (lit("2020-01-31 10:00:00").to_timestamp, "2020-01-31T10:00"),
    (to_date("2020-01-31"), "2020-01-31"),
    (to_timestamp("2020-01-31 10:00:00"), "2020-01-31T10:00"),
    (col("t").extract(TimeIntervalUnit.HOUR), "10"),
    (col("t").floor(TimeIntervalUnit.DAY), "2020-01-31T00:00"),
    (col("t").ceil(TimeIntervalUnit.DAY), "2020-02-01T00:00"),
    (col("t") + lit(1).days, "2020-02-01T10:30"),
    (col("t") - lit(30).minutes, "2020-01-31T10:00"),
    (col("t") + lit(1).month, "2020-02-29T10:30"),
    (col("d") + lit(1).year, "2021-01-31"),
    (col("t") + col("i").hours, "2020-01-31T15:30"),
    (timestamp_diff(TimePointUnit.DAY, col("d"), lit(date(2020, 2, 2))), "2"),
    (date_format(col("t"), "yyyy"), "2020"),
    (from_unixtime(0), "1970-01-01 00:00:00"),
    (convert_tz("1970-01-01 00:00:00", "UTC", "America/Los_Angeles"), "1969-12-31 16:00:00"),
    (
        temporal_overlaps(
            lit("02:55:00").to_time, lit(1).hour, lit("03:30:00").to_time, lit(2).hour
        ),
        "true",
    ),
    (lit(3).weeks == lit(21).days, "true"),
    (lit(2).quarters == lit(6).months, "true"),
    (current_date().is_not_null, "true"),
]
COLLECTIONS = [
    (array(1, 2, 3).at(2), "2"),
    (array(1, 2, 3)[1], "1"),
    (array(1, 2).cardinality, "2"),
    (array(7).element, "7"),
    (array(1, 2).array_contains(2), "true"),
    (array(1, 1).array_distinct(), "[1]"),
    (array(1, 2).array_reverse(), "[2, 1]"),
    (array(1, 2).array_append(3), "[1, 2, 3]"),
    (array(1, 2).array_join("-"), None),
    (array("a", "b").array_join("-"), "a-b"),
    (array(3, 1).array_max(), "3"),
    (array(3, 1).array_min(), "1"),
    (array(1, 2).array_union(array(3)), "[1, 2, 3]"),
    (array(1, 2).array_slice(2), "[2]"),
    (array(1, 2).array_concat(array(3)), "[1, 2, 3]"),
    (map_("a", 1).at("a"), "1"),
    (map_("a", 1).map_keys, "[a]"),
    (map_("a", 1).map_values, "[1]"),
    (map_from_arrays(array("a"), array(1)), "{a=1}"),
    (row(1, "x"), "+I[1, x]"),
    (row(1, "x").get("f1"), "x"),
    (row(1, "x").get(0), "1"),
]
JSON = [
    (col("j").json_value("$.a"), "1"),
    (col("j").json_value("$.a", DataTypes.INT()), "1"),
    (col("j").json_value("lax $.z", DataTypes.STRING(), JsonValueOnEmptyOrError.DEFAULT, "q"), "q"),
    (col("j").json_query("$.b"), "[1,2]"),
    (col("j").json_query("$.a", JsonQueryWrapper.UNCONDITIONAL_ARRAY), "[1]"),
    (col("j").json_exists("$.a"), "true"),
    (col("j").json_exists("$.z", JsonExistsOnError.FALSE), "false"),
    (col("j").is_json(), "true"),
    (col("j").is_json(JsonType.ARRAY), "false"),
    (lit("a").json_quote(), '"a"'),
    (lit('"a"').json_unquote(), "a"),
    (json_string(1), "1"),
    (json_object(JsonOnNull.NULL, "k", 1), '{"k":1}'),
    (json_array(JsonOnNull.NULL, 1, "x"), '[1,"x"]'),
]


def _values(pairs: list[tuple[Expression, str]]) -> list[str]:
    env = table_environment()
    schema = DataTypes.ROW(
        [
            DataTypes.FIELD("i", DataTypes.INT()), DataTypes.FIELD("n", DataTypes.INT()),
            DataTypes.FIELD("s", DataTypes.STRING()), DataTypes.FIELD("t", DataTypes.TIMESTAMP(3)),
            DataTypes.FIELD("d", DataTypes.DATE()), DataTypes.FIELD("j", DataTypes.STRING()),
        ]
    )  # fmt: skip
    given = (
        5,
        None,
        "Hello",
        datetime(2020, 1, 31, 10, 30),
        date(2020, 1, 31),
        '{"a":1,"b":[1,2]}',
    )
    table = env.from_elements([given], schema)
    found = []
    for expression, _ in pairs:
        (change,) = changes_of(table.select(expression))
        found.append(change.removeprefix("+I[").removesuffix("]"))
    return found


@pytest.mark.parametrize(
    "pairs", [NUMBERS, TEXTS, TIMES, JSON], ids=["numbers", "texts", "times", "json"]
)
def test_values(pairs: list[tuple[Expression, str]]) -> None:
    found = dict(zip([str(each) for each, _ in pairs], _values(pairs), strict=True))
    assert found == {str(each): wanted for each, wanted in pairs}


def test_collections() -> None:
    pairs = [(each, wanted) for each, wanted in COLLECTIONS if wanted is not None]
    found = dict(zip([str(each) for each, _ in pairs], _values(pairs), strict=True))
    assert found == {str(each): wanted for each, wanted in pairs}


def test_all_methods_name_a_function() -> None:
    """What the DSL applies is known to SQL, whatever it is applied to."""
    from headrace.sql import functions
    from headrace.sql import unresolved as un
    from headrace.table.expression_base import Derived

    special = {"$FLATTEN", "WINDOW_START", "WINDOW_END", "WINDOW_ROWTIME", "WINDOW_PROCTIME"}
    for base in Expression.__mro__:
        for name, member in vars(base).items():
            if isinstance(member, Derived) and isinstance(member._function, str):
                node = getattr(col("a"), name).node
                assert isinstance(node, un.Apply)
                assert node.function in special or functions.find(node.function), name


def test_choices_of_columns() -> None:
    env = table_environment()
    table = env.from_elements([(1, 2, 3)], ["a", "b", "c"])
    assert changes_of(table.select(with_columns(range_("a", "b")))) == ["+I[1, 2]"]
    assert changes_of(table.select(with_columns(range_(2, 3), 1))) == ["+I[2, 3, 1]"]
    assert changes_of(table.select(without_columns(col("b")))) == ["+I[1, 3]"]
    assert changes_of(table.select(col("*"))) == ["+I[1, 2, 3]"]
    with pytest.raises(InvalidQuery, match="no column q"):
        table.select(with_columns(col("q")))


def test_an_expression_has_no_truth_value() -> None:
    with pytest.raises(TypeMismatch, match="no truth value") as error:
        bool(col("a") == 1 and col("b") == 2)
    assert error.value.hint is not None
    assert "&" in error.value.hint


def test_errors_name_the_line() -> None:
    table = table_environment().from_elements([(1, "x")], ["a", "b"])
    with pytest.raises(HeadraceError) as error:
        table.select(col("aa"))
    assert "test_expressions.py" in str(error.value)
    assert "did you mean a?" in str(error.value)
    with pytest.raises(HeadraceError, match=r"PLUS|\+"):
        table.select(col("a") + array(1))
    with pytest.raises(TypeMismatch, match=r"col\('a'\)"):
        table.select("a")  # type: ignore[arg-type]


def test_a_literal_fits_the_type_it_is_given() -> None:
    with pytest.raises(UnfitValue, match="the literal is TINYINT, which cannot hold 300") as caught:
        lit(300, DataTypes.TINYINT().not_null())
    assert "test_expressions.py" in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (col("a") + 1, "plus(a, 1)"),
        (-col("a"), "minusPrefix(a)"),
        ((col("a") > 1) & (col("b") < 2), "and(greaterThan(a, 1), lessThan(b, 2))"),
        (col("a").alias("b"), "as(a, 'b')"),
        (col("a").cast(DataTypes.STRING()), "cast(a, STRING)"),
        (col("a").count.distinct, "distinct(count(a))"),
        (col("a").desc, "desc(a)"),
        (col("a").get("x"), "get(a, 'x')"),
        (col("a").extract(TimeIntervalUnit.DAY), "extract(DAY, a)"),
        (col("a").trim_leading(), "trim(true, false, ' ', a)"),
        (if_then_else(col("a"), "x", "y"), "ifThenElse(a, 'x', 'y')"),
        (row(1, "a"), "row(1, 'a')"),
        (lit(None, DataTypes.INT()), "null"),
        (lit(10, DataTypes.INT(False)), "10"),
        (lit(10).cast(DataTypes.INT()), "cast(10, INT)"),
        (lit("it's \\"), "'it''s \\'"),
        (lit(b"ab"), "[97, 98]"),
        (col("a").try_cast(DataTypes.INT()), "TRY_CAST(a, INT)"),
        (col("a").get(0), "get(a, 0)"),
        (col("a").array_max(), "ARRAY_MAX(a)"),
        (col("a").regexp_count("x"), "REGEXP_COUNT(a, 'x')"),
        (col("a").regexp_extract("x"), "regexpExtract(a, 'x')"),
        (col("a").first_value, "first_value(a)"),
        (col("a").list_agg(), "listAgg(a, ',')"),
        (col("a").as_argument("p"), "ASSIGNMENT('p', a)"),
        (col("a").sum.over(col("w")), "over(sum(a), w)"),
        (col("a").is_json(), "IS_JSON(a)"),
        (col("a").is_json(JsonType.ARRAY), "IS_JSON(a, ARRAY)"),
        (col("a").json_exists("$.x"), "JSON_EXISTS(a, '$.x')"),
        (col("a").json_exists("$", JsonExistsOnError.FALSE), "JSON_EXISTS(a, '$', FALSE)"),
        (col("a").json_value("$.x"), "JSON_VALUE(a, '$.x', STRING, NULL, null, NULL, null)"),
        (
            col("a").json_query("$", JsonQueryWrapper.CONDITIONAL_ARRAY, EMPTY, EMPTY),
            "JSON_QUERY(a, '$', STRING, CONDITIONAL_ARRAY, EMPTY_ARRAY, EMPTY_ARRAY)",
        ),
        (json_array_agg(JsonOnNull.ABSENT, col("a")), "JSON_ARRAYAGG_ABSENT_ON_NULL(a)"),
        (to_timestamp_ltz(1, 0), "TO_TIMESTAMP_LTZ(1, 0)"),
        (with_all_columns(), "*"),
        (row_interval(4), "4"),
        (call_sql("a + 1"), "[a + 1]"),
        (call_sql("a + 1").alias("b"), "as(plus(a, 1), 'b')"),
        (call("my_func", col("a")), "my_func(a)"),
        (call("cat.db.f", col("a")), "cat.db.f(a)"),
    ],
)
def test_an_expression_shows_itself_as_flink_does(expression: Expression, text: str) -> None:
    assert str(expression) == text
