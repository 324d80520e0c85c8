"""SQL text becomes trees and unresolved expressions; what is wrong is pointed at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from headrace.core import logical_types as lt
from headrace.errors import HeadraceError, InvalidQuery, Unsupported
from headrace.sql import nodes
from headrace.sql import unresolved as un
from headrace.sql.dialect import parse_expression, parse_query
from headrace.sql.nodes import position_of
from headrace.sql.parse_statements import parse_script
from headrace.sql.position import Position, closest
from headrace.sql.statements import Query
from headrace.sql.to_unresolved import parse_scalar, sort_items, unresolved
from headrace.sql.types import parse_type
from tests.cases import loading as own
from tests.sql import sql_cases


def texts(case: dict) -> Iterator[str]:
    if case.get("sql"):
        yield case["sql"]
    yield from case.get("setup_sql") or ()
    for table in [*(case.get("tables") or ()), *([case["sink"]] if case.get("sink") else ())]:
        if table.get("schema"):
            yield f"CREATE TABLE `t` ({', '.join(table['schema'])}) WITH ('connector' = 'x')"


def test_all_statements_of_the_cases_are_read() -> None:
    found = [*sql_cases.cases("sql"), *sql_cases.cases("match_recognize")]
    found += [*own.cases("functions"), *sql_cases.beside("window_cases.json")]
    read = 0
    for case in found:
        if case.get("kind") not in (None, "sql"):
            continue
        for text in texts(case):
            assert parse_script(text), text
            read += 1
    assert read > 200


def test_all_expressions_of_the_cases_are_read() -> None:
    beside = [str(case["sql"]) for case in sql_cases.beside("sql_function_cases.json")]
    expressions = [*own.expressions("functions"), *beside]
    assert len(expressions) > 100
    for text in expressions:
        assert isinstance(parse_scalar(text), un.Unresolved)


def shape(node: un.Unresolved) -> str:
    """An expression in short: names of functions and what they take."""
    if isinstance(node, un.Apply):
        return f"{node.function}({', '.join(map(shape, node.arguments))})"
    if isinstance(node, un.Value):
        return repr(node.value)
    if isinstance(node, un.Name | un.Star):
        return ".".join(node.parts) if isinstance(node, un.Name) else "*"
    return type(node).__name__


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a + b * c - d", "MINUS(PLUS(a, TIMES(b, c)), d)"),
        ("a || b + c", "PLUS(CONCAT2(a, b), c)"),
        ("a + b || c", "PLUS(a, CONCAT2(b, c))"),
        ("NOT a = b IS NULL", "NOT(IS_NULL(EQUALS(a, b)))"),
        ("a IS NULL = b", "EQUALS(IS_NULL(a), b)"),
        ("a BETWEEN 1 AND 2 AND c", "AND(BETWEEN(a, 1, 2), c)"),
        ("a NOT IN (1, 2) OR b", "OR(NOT_IN(a, 1, 2), b)"),
        ("a NOT LIKE b || '%' ESCAPE '!'", "NOT_LIKE(a, CONCAT2(b, '%'), '!')"),
        ("a IS NOT DISTINCT FROM b AND c", "AND(IS_NOT_DISTINCT_FROM(a, b), c)"),
        ("- a[1]", "NEGATE(ITEM(a, 1))"),
        ("-2147483648", "-2147483648"),
        ("EXTRACT(DAY FROM x)", "EXTRACT('DAY', x)"),
        ("FLOOR(x TO HOUR)", "FLOOR_TO(x, 'HOUR')"),
        ("TIMESTAMPADD(SQL_TSI_DAY, 1, x)", "TIMESTAMPADD('DAY', 1, x)"),
        ("TRIM(x)", "TRIM('BOTH', ' ', x)"),
        ("TRIM(LEADING 'a' FROM x)", "TRIM('LEADING', 'a', x)"),
        ("SUBSTRING(x FROM 2 FOR 3)", "SUBSTRING(x, 2, 3)"),
        ("POSITION('a' IN x)", "POSITION('a', x)"),
        ("OVERLAY(x PLACING 'a' FROM 2)", "OVERLAY(x, 'a', 2)"),
        ("x IS JSON OBJECT", "IS_JSON(x, 'OBJECT')"),
        ("JSON_EXISTS(x, '$')", "JSON_EXISTS(x, '$', 'FALSE')"),
        ("JSON_OBJECT(KEY 'a' VALUE 1 ABSENT ON NULL)", "JSON_OBJECT('a', 1, 'ABSENT')"),
        ("JSON_VALUE(x, '$' RETURNING INT NULL ON EMPTY DEFAULT 1 ON ERROR)",
         "JSON_VALUE(x, '$', 'INT', 'NULL', None, 'DEFAULT', 1)"),
        ("JSON_QUERY(x, '$' WITH WRAPPER EMPTY ARRAY ON EMPTY)",
         "JSON_QUERY(x, '$', 'STRING', 'UNCONDITIONAL', 'EMPTY ARRAY', 'NULL')"),
        ("COUNT(*)", "COUNT(*)"),
        ("MAP['a', 1]['a']", "ITEM(MAP('a', 1), 'a')"),
        ("t.a.b", "t.a.b"),
        ("CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP()"),
    ],
)  # fmt: skip
def test_what_expressions_mean(text: str, meaning: str) -> None:
    assert shape(parse_scalar(text)) == meaning


@pytest.mark.parametrize(
    ("text", "value", "type"),
    [
        ("7", 7, "INT NOT NULL"),
        ("2147483648", 2147483648, "BIGINT NOT NULL"),
        ("1.50", Decimal("1.50"), "DECIMAL(3, 2) NOT NULL"),
        (".5", Decimal("0.5"), "DECIMAL(1, 1) NOT NULL"),
        ("1e3", 1000.0, "DOUBLE NOT NULL"),
        ("'it''s'", "it's", "CHAR(4) NOT NULL"),
        ("U&'\\00e4'", "ä", "CHAR(1) NOT NULL"),
        ("_UTF16'x'", "x", "CHAR(1) NOT NULL"),
        ("x'0aFF'", b"\n\xff", "BINARY(2) NOT NULL"),
        ("DATE '1970-01-02'", 1, "DATE NOT NULL"),
        ("TIME '00:00:01'", 1000, "TIME(0) NOT NULL"),
        ("TIMESTAMP '1970-01-01 00:00:00.5'", 500_000_000, "TIMESTAMP(1) NOT NULL"),
        ("INTERVAL '1 12' DAY TO HOUR", 129_600_000, "INTERVAL SECOND(3) NOT NULL"),
        ("INTERVAL -'2' YEAR", -24, "INTERVAL MONTH NOT NULL"),
        ("INTERVAL '1.5' SECONDS", 1500, "INTERVAL SECOND(3) NOT NULL"),
    ],
)
def test_literals_have_values_in_internal_form(text: str, value: object, type: str) -> None:
    found = parse_scalar(text)
    assert isinstance(found, un.Value)
    assert (found.value, str(found.type)) == (value, type)


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("integer", "INT"),
        ("DECIMAL(10,2) NOT NULL", "DECIMAL(10, 2) NOT NULL"),
        ("ROW<a INT NOT NULL 'x', `b c` ARRAY<STRING>>",
         "ROW<`a` INT NOT NULL 'x', `b c` ARRAY<STRING>>"),
        ("ROW(a MAP<STRING, BYTES>)", "ROW<`a` MAP<STRING, BYTES>>"),
        ("ROW<>", "ROW<>"),
        ("INT NOT NULL ARRAY", "ARRAY<INT NOT NULL>"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(3)"),
        ("TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP(6)"),
        ("INTERVAL DAY TO SECOND(3)", "INTERVAL DAY(2) TO SECOND(3)"),
        ("CHARACTER VARYING(3)", "VARCHAR(3)"),
        ("MULTISET<DOUBLE PRECISION>", "MULTISET<DOUBLE>"),
    ],
)  # fmt: skip
def test_types(text: str, type: str) -> None:
    found = parse_type(text)
    assert str(found) == type
    assert parse_type(str(found)) == found


def test_calls_keep_all_that_is_said_about_them() -> None:
    found = parse_scalar(
        "cat.db.f(DISTINCT a, b => 1) WITHIN GROUP (ORDER BY c DESC NULLS LAST)"
        " FILTER (WHERE d) OVER (w PARTITION BY e ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)"
    )
    assert isinstance(found, un.Apply)
    assert (found.path, found.function, found.distinct) == (("cat", "db"), "f", True)
    assert found.arguments[1] == un.NamedArgument("b", un.Value(1, lt.INT.not_null()))
    assert found.order_by == (un.SortItem(un.Name(("c",)), False, False),)
    assert found.filter == un.Name(("d",))
    assert found.over == un.OverSpec(
        (un.Name(("e",)),), unit="rows", window="w",
        start=un.FrameBound("preceding", un.Value(1, lt.INT.not_null())),
        end=un.FrameBound("current"),
    )  # fmt: skip


def test_a_query_is_a_tree_of_known_shapes() -> None:
    query = parse_query(
        "WITH x AS (SELECT 1) SELECT /*+ BROADCAST(t) */ DISTINCT a, t.* FROM t"
        " /*+ OPTIONS('k'='v') */ AS t, u"
        " JOIN v FOR SYSTEM_TIME AS OF u.ts AS w ON u.a = w.a LEFT JOIN y USING (k)"
        " WHERE a > 1 GROUP BY GROUPING SETS ((a, b), ()) HAVING TRUE"
        " ORDER BY a DESC LIMIT 3 OFFSET 1"
    )
    assert isinstance(query, exp.Select)
    assert query.args["with_"].expressions[0].alias == "x"
    assert query.args["hint"].expressions[0].values == ("t",)
    assert query.args["from_"].this.args["hints"][0].expressions[0].pairs == {"k": "v"}
    (comma,) = query.args["joins"]
    own = comma.this.args["joins"]
    assert (comma.args["kind"], [join.args.get("side") for join in own]) == (
        "COMMA",
        [None, "LEFT"],
    )
    assert own[0].this.args["version"] is not None
    sets = query.args["group"].expressions[0]
    assert isinstance(sets, exp.GroupingSets)
    assert [len(part.expressions) for part in sets.expressions] == [2, 0]
    assert sort_items(query.args["order"])[0].ascending is False
    assert query.args["limit"].expression.this == "3"


def test_set_operations_bind_as_the_standard_says() -> None:
    query = parse_query("SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 3 EXCEPT SELECT 4")
    assert isinstance(query, exp.Except)
    union = query.this
    assert isinstance(union, exp.Union)
    assert not union.args["distinct"]
    assert isinstance(union.expression, exp.Intersect)


def test_table_functions_take_tables_and_names() -> None:
    query = parse_query(
        "SELECT * FROM TABLE(SESSION(DATA => TABLE t PARTITION BY (a, b), TIMECOL =>"
        " DESCRIPTOR(ts), GAP => INTERVAL '5' MINUTES)) AS s, LATERAL TABLE(f(s.a)) AS l(x, y),"
        " UNNEST(s.c) WITH ORDINALITY AS u(e, o)"
    )
    call = unresolved(query.args["from_"].this.this)
    assert isinstance(call, un.Apply)
    table = call.arguments[0]
    assert isinstance(table, un.NamedArgument)
    assert isinstance(table.value, un.TableArgument)
    assert len(table.value.partition_by) == 2
    lateral, unnest = (join.this for join in query.args["joins"])
    assert isinstance(lateral, exp.Lateral)
    assert [column.name for column in lateral.args["alias"].columns] == ["x", "y"]
    assert isinstance(unnest, exp.Unnest)
    assert unnest.args["offset"] is True


def test_a_pattern_keeps_its_whole_tree() -> None:
    query = parse_query(
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY a ORDER BY b MEASURES FINAL LAST(A.x) AS y"
        " ALL ROWS PER MATCH AFTER MATCH SKIP TO FIRST B PATTERN (A (B | C)*? {- D -} E{2,3})"
        " WITHIN INTERVAL '1' HOUR SUBSET S = (A, B) DEFINE A AS A.x > PREV(A.x, 1)) AS m"
    )
    found = query.args["from_"].this
    assert isinstance(found, nodes.MatchRecognize)
    assert found.args["skip"].args["kind"] == "to_first"
    kinds = [part.args["kind"] for part in found.args["pattern"].expressions]
    assert kinds == ["variable", "alternation", "exclusion", "variable"]
    choice, last = found.args["pattern"].expressions[1], found.args["pattern"].expressions[3]
    assert (choice.args["low"], choice.args.get("high"), choice.args["reluctant"]) == (
        0,
        None,
        True,
    )
    assert (last.args["low"], last.args["high"]) == (2, 3)
    assert found.args["alias"].this.name == "m"


@pytest.mark.parametrize(
    ("text", "line", "column", "part", "hint"),
    [
        ("SELECT a\nFROM t\nWHERE", 3, 6, "expected an expression", None),
        ('SELECT "a" FROM t', 1, 8, "found a double quote", "quote names with `"),
        ("SELECT 'abc FROM t", 1, 8, "does not end", "close it with '"),
        ("SELECT `abc FROM t", 1, 8, "quoted name", "close it with `"),
        ("SELECT a FROM t WHERE a =", 1, 26, "expected an expression", None),
        ("SELECT a b c FROM t", 1, 12, "did not expect c", None),
        ("SELECT order FROM t", 1, 8, "reserved word order", "`order`"),
        ("SELECT CAST(a AS INTT)", 1, 18, "expected a type", "INT?"),
        ("SELECT a FROM t\n  JOIN", 2, 7, "expected a table", None),
        ("SELECT DATE '2020-13-01'", 1, 8, "is not a DATE", "DATE '2024-12-31'"),
        ("SELECT INTERVAL '1' FOO", 1, 21, "expected one of", "INTERVAL '5' MINUTE"),
        ("SELCT 1", 1, 1, "expected a statement", "SELECT?"),
        ("SELECT a IS NUL", 1, 13, "expected one of NULL", "NULL?"),
        ("SELECT 1a FROM t", 1, 8, "neither a number nor a name", "`1a`"),
        ("SELECT 1e999", 1, 8, "a DOUBLE can be", None),
        ("SELECT 1e", 1, 8, "a DOUBLE can be", None),
        ("SELECT x'0g'", 1, 8, "hexadecimal", "x'0AFF'"),
        ("SELECT CAST(a AS DECIMAL(99))", 1, 18, "between 1 and 38", None),
        ("SELECT a FROM t SELECT b FROM t", 1, 17, "did not expect SELECT", None),
        ("CREATE TABLE t (a INT, PRIMARY KEY (a))", 1, 39, "NOT ENFORCED", "not checked"),
    ],
)
def test_errors_point_at_their_place(
    text: str, line: int, column: int, part: str, hint: str | None
) -> None:
    with pytest.raises(InvalidQuery) as caught:
        read_with_expressions(text)
    error = caught.value
    assert isinstance(error.origin, Position)
    assert (error.origin.line, error.origin.column) == (line, column)
    assert part in error.message
    assert hint is None or hint in (error.hint or "")


def read_with_expressions(text: str) -> None:
    for statement in parse_script(text):
        assert isinstance(statement, Query)
        for item in statement.tree.expressions:
            unresolved(item)


def test_a_position_shows_the_line_with_a_caret() -> None:
    position = Position.at_offset("SELECT a\nFROM\tnope", 14, 18)
    assert str(position) == "line 2, column 6\n    FROM\tnope\n        \t^^^^"


def test_every_part_of_an_expression_knows_its_place() -> None:
    text = "f(a, b + 1) > CASE WHEN x.y THEN 2 END"
    for part in parse_expression(text).walk():
        assert position_of(part) is not None, part
    found = parse_scalar(text)
    assert isinstance(found, un.Apply)
    assert str(found.arguments[0].at).startswith("line 1, column 1\n")
    assert found.arguments[1].at == Position(text, 1, 15, 24)


SCRIPT = """
SELECT a, COUNT(DISTINCT b) FILTER (WHERE c > 1) AS n FROM t, u JOIN v ON t.a = v.a
  WHERE a IN (SELECT 1) GROUP BY ROLLUP(a) HAVING TRUE ORDER BY a DESC LIMIT 3;
CREATE TABLE t (a ROW<x INT, y ARRAY<STRING>>, b AS a.x + 1, ts TIMESTAMP(3) METADATA,
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, PRIMARY KEY (a) NOT ENFORCED) WITH ('k'='v');
SELECT * FROM TABLE(HOP(DATA => TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR)) MATCH_RECOGNIZE
  (ORDER BY ts MEASURES A.x AS y PATTERN (A B+ C{2,}?) DEFINE A AS x IS NOT NULL);
INSERT INTO t PARTITION (p = 'x') SELECT CAST(NULL AS MAP<INT, INT>)[1], JSON_VALUE(j, '$'
  NULL ON EMPTY), CASE a WHEN 1 THEN x'00' END, TIMESTAMP '2020-01-01 00:00:00', -1e3;
ALTER TABLE t ADD (a INT FIRST)
"""
TEXTS = SCRIPT.split(";")
WORD = re.compile(r"\w+|'[^']*'|[^\w\s]")


@given(st.data())
def test_any_text_is_read_or_refused_at_a_place(data: st.DataObject) -> None:
    words = WORD.findall(data.draw(st.sampled_from(TEXTS)))
    others = [word for text in TEXTS for word in WORD.findall(text)]
    for _ in range(data.draw(st.integers(1, 3))):
        index = data.draw(st.integers(0, len(words) - 1))
        words[index : index + 1] = data.draw(st.lists(st.sampled_from(others), max_size=2))
        words = words or ["a"]
    refused = None
    try:
        parse_script(" ".join(words))
    except HeadraceError as error:
        refused = error
    assert refused is None or isinstance(refused.origin, Position)


def test_long_chains_and_deep_nesting() -> None:
    assert isinstance(parse_scalar(" OR ".join(f"a = {n}" for n in range(3000))), un.Apply)
    with pytest.raises(InvalidQuery, match="nested too deeply"):
        parse_script("SELECT " + "(" * 2000 + "1" + ")" * 2000)


def test_what_cannot_be_had_says_so() -> None:
    with pytest.raises(Unsupported, match="samples of tables"):
        parse_query("SELECT * FROM t TABLESAMPLE BERNOULLI(10)")


def test_closest_names() -> None:
    assert closest("ordrs", ["customers", "orders"]) == "orders"
    assert closest("zzz", ["customers", "orders"]) is None
