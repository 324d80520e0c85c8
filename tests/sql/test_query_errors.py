"""What is wrong with a query, where it was written, and what to do."""

from __future__ import annotations

import pytest

from headrace.errors import HeadraceError, InvalidQuery
from headrace.plan.relational.changelog import annotated
from tests.sql.planning import Planning, sample

TUMBLED = "TABLE(TUMBLE(TABLE {}, DESCRIPTOR({}), INTERVAL '1' MINUTE))"


@pytest.fixture(scope="module")
def planning() -> Planning:
    return sample()


def failure(planning: Planning, query: str) -> HeadraceError:
    with pytest.raises(HeadraceError) as caught:
        annotated(planning.optimized(query))
    return caught.value


# A query, the word it is about, a part of the message, a part of the hint.
PLACED = [
    ("SELECT nam FROM t", "nam", "column nam not found", "did you mean name?"),
    ("SELECT t.nam FROM t", "t.nam", "column nam not found in table", "did you mean name?"),
    ("SELECT x.id FROM t", "x.id", "no table or column for x.id", None),
    ("SELECT id FROM t, u", "id", "column id is ambiguous", "table's name or alias"),
    ("SELECT r.q FROM t", "r.q", "no field 'q'", "x, y"),
    ("SELECT * FROM tt", "tt", "no table or view tt", "did you mean t?"),
    ("SELECT z.* FROM t", "z.*", "no table z", None),
    ("SELECT UPPR(name) FROM t", "UPPR", "no function UPPR", "did you mean UPPER?"),
    ("SELECT UPPER(id, v) FROM t", "UPPER", "UPPER does not take (INT, BIGINT)", "UPPER("),
    ("SELECT id FROM t WHERE v", "v", "must be BOOLEAN, this is BIGINT", "compare"),
    ("SELECT id FROM t WHERE SUM(v) > 1", "SUM", "cannot be used in WHERE", "HAVING"),
    ("SELECT SUM(MAX(v)) FROM t", "MAX", "cannot be used in an aggregate's argument", None),
    ("SELECT id, v FROM t GROUP BY id", "v", "v is not being grouped", "GROUP BY"),
    ("SELECT id FROM t GROUP BY id HAVING v > 1", "v", "v is not being grouped", None),
    ("SELECT ROW_NUMBER() FROM t", "ROW_NUMBER", "needs OVER", "ORDER BY"),
    ("SELECT ARRAY[v][0] FROM t", None, "ITEM does not take", "ITEM("),
    (
        "SELECT TUMBLE_START(ts, INTERVAL '1' DAY) FROM clicks",
        "TUMBLE_START",
        "a window that the query does not group by",
        "in GROUP BY",
    ),
    ("SELECT id FROM t ORDER BY 2", "2", "there are 1 columns", None),
    ("SELECT SUM(v) OVER w FROM t", "SUM", "no window w", "WINDOW"),
    ("SELECT id FROM t WHERE id = (SELECT id, w FROM u)", None, "must have 1 column", None),
    ("SELECT id FROM t UNION SELECT id, w FROM u", None, "same number of columns", None),
    ("SELECT id FROM t UNION SELECT tags FROM u", None, "no common type", "cast"),
    ("SELECT * FROM t a JOIN u a ON TRUE", None, "two tables of FROM are called a", "alias"),
    ("SELECT name FROM t JOIN u USING (name)", None, "name of USING", None),
    (f"SELECT * FROM {TUMBLED.format('t', 'v')}", "TUMBLE", "timecol", "WATERMARK FOR v"),
    (
        "SELECT * FROM clicks c JOIN users FOR SYSTEM_TIME AS OF c.n AS u ON c.who = u.id",
        "c.n", "takes a time attribute", "WATERMARK",
    ),
    (
        "SELECT * FROM clicks c JOIN users FOR SYSTEM_TIME AS OF c.ts AS u ON c.who > u.id",
        "c.who > u.id", "needs an equality", "PRIMARY KEY",
    ),
    (
        "SELECT TUMBLE_END(ts, INTERVAL '2' DAY) FROM clicks GROUP BY TUMBLE(ts, INTERVAL '1' DAY)",
        "TUMBLE_END", "another window", "same arguments",
    ),
    ("INSERT INTO log SELECT id FROM t", "log", "different number of columns", None),
    ("INSERT INTO log SELECT name, v FROM t", "log", "do not match: ", "CAST"),
    ("INSERT INTO log (id, x) SELECT id, v FROM t", "log", "no column x to write", "id, v"),
]  # fmt: skip


TWICE = "(SELECT id AS x, v AS x, name FROM t)"
# A query in which a name could mean either of two columns, and the name.
AMBIGUOUS = [
    (f"SELECT x FROM {TWICE}", "x"),
    (f"SELECT q.x FROM {TWICE} AS q", "q.x"),
    (f"SELECT * FROM {TWICE}", "*"),
    (f"SELECT q.* FROM {TWICE} AS q", "q.*"),
    (f"SELECT name FROM {TWICE} WHERE x > 1", "x"),
    (f"SELECT COUNT(*) FROM {TWICE} GROUP BY x", "x"),
    (f"SELECT name FROM {TWICE} ORDER BY x", "x"),
    ("SELECT id FROM (SELECT id, id FROM t)", "id"),
    ("SELECT id FROM (SELECT *, id FROM t)", "id"),
    ("SELECT id AS x, v AS x FROM t ORDER BY x", "x"),
    ("SELECT id AS x, v AS x FROM t ORDER BY x + 1", "x"),
    ("SELECT DISTINCT id AS x, v AS x FROM t ORDER BY x", "x"),
    ("SELECT x FROM (SELECT id AS x, v AS x FROM t UNION ALL SELECT id, v FROM t)", "x"),
    (f"WITH q AS {TWICE} SELECT x FROM q", "x"),
    (f"SELECT t.v FROM t JOIN {TWICE} AS q ON t.id = x", "x"),
    ("SELECT t.v FROM t JOIN (SELECT id, id FROM u) USING (id)", None),
    ("SELECT v FROM t WHERE id IN (SELECT x FROM (SELECT id AS x, w AS x FROM u))", "x"),
    (f"SELECT 1 FROM {TWICE} AS q WHERE EXISTS (SELECT 1 FROM u WHERE u.id = q.x)", "q.x"),
    (f"SELECT a FROM t, LATERAL (SELECT x AS a FROM {TWICE})", "x"),
]


@pytest.mark.parametrize(("query", "word"), AMBIGUOUS)
def test_a_name_that_two_columns_of_a_subquery_have_is_ambiguous(
    planning: Planning, query: str, word: str | None
) -> None:
    error = failure(planning, query)
    assert isinstance(error, InvalidQuery)
    assert "is ambiguous" in error.message
    assert "AS" in str(error.hint)
    if word is not None:
        line, carets = str(error.origin).splitlines()[1:]
        start = carets.index("^")
        assert line[start : start + carets.count("^")] == word


def test_columns_of_one_name_can_be_had_where_nothing_names_them(planning: Planning) -> None:
    def names(query: str) -> list[str]:
        return [field.name for field in planning.optimized(query).schema]

    assert names("SELECT id AS x, v AS x FROM t") == ["x", "x0"]
    assert names(f"SELECT name FROM {TWICE}") == ["name"]
    assert names(f"SELECT y FROM {TWICE} AS q (x, y, z)") == ["y"]
    assert names("SELECT id, id0 FROM (SELECT * FROM t, u)") == ["id", "id0"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1 FROM (SELECT id, v FROM t) AS q (x, x)",
        "WITH q (x, x) AS (SELECT id, v FROM t) SELECT 1 FROM q",
        "SELECT * FROM TABLE(TUMBLE((SELECT ts, n AS x, who AS x FROM clicks), DESCRIPTOR(ts), 1))",
    ],
)
def test_a_list_of_columns_has_each_name_once(planning: Planning, query: str) -> None:
    assert "two columns are called x" in failure(planning, query).message


@pytest.mark.parametrize(("query", "word", "message", "hint"), PLACED, ids=lambda part: str(part))
def test_errors_say_where(
    planning: Planning, query: str, word: str | None, message: str, hint: str | None
) -> None:
    error = failure(planning, query)
    assert isinstance(error, InvalidQuery)
    assert message in error.message
    assert hint is None or hint in str(error.hint)
    if word is not None:
        line, carets = str(error.origin).splitlines()[1:]
        start = carets.index("^")
        assert line[start : start + carets.count("^")] == word


# A query, and what operators say of changes they cannot take.
CHANGES = [
    ("INSERT INTO log SELECT id, COUNT(*) FROM t GROUP BY id", "consuming update changes"),
    ("INSERT INTO log SELECT id, v FROM events", "update and delete changes"),
    ("INSERT INTO log SELECT t.id, v FROM t LEFT JOIN u ON t.id = u.id", "produced by Join"),
]


@pytest.mark.parametrize(("query", "message"), CHANGES)
def test_changes_a_sink_does_not_take(planning: Planning, query: str, message: str) -> None:
    error = failure(planning, query)
    assert message in error.message
    assert "table sink default_catalog.default_database.log" in error.message
    assert error.hint is not None


def test_the_star_of_a_column_of_rows_stands_for_its_fields(planning: Planning) -> None:
    assert [field.name for field in planning.optimized("SELECT r.*, id FROM t").schema] == [
        "x",
        "y",
        "id",
    ]


def test_an_interval_join_needs_insertions() -> None:
    planning = sample()
    planning.table("moves", "who INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts", changes="I,UB,UA,D")
    query = (
        "SELECT c.who FROM clicks c JOIN moves m ON c.who = m.who "
        "AND c.ts BETWEEN m.ts AND m.ts + INTERVAL '1' HOUR"
    )
    error = failure(planning, query)
    assert "IntervalJoin does not support consuming update and delete changes" in error.message
    assert "produced by TableSourceScan" in error.message


def test_time_is_no_attribute_after_a_regular_join(planning: Planning) -> None:
    query = (
        "SELECT COUNT(*) FROM (SELECT c.ts FROM clicks c JOIN visits v ON c.who = v.who) "
        "GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)"
    )
    assert "regular join" in failure(planning, query).message


def test_a_view_cannot_use_itself() -> None:
    planning = sample()
    planning.run("CREATE VIEW a AS SELECT * FROM t")
    planning.run("ALTER VIEW a AS SELECT * FROM a")
    assert "uses itself" in failure(planning, "SELECT * FROM a").message


def test_what_cannot_be_had_says_so(planning: Planning) -> None:
    error = failure(planning, "WITH RECURSIVE x AS (SELECT 1) SELECT * FROM x")
    assert error.code == "unsupported"
