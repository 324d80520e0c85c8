"""Rules whose effect a tree does not show, and what lowerings ask of a plan."""

from __future__ import annotations

import pytest

from headrace.core.expressions import Column
from headrace.core.table_connector import RETRACT
from headrace.errors import InvalidQuery
from headrace.graph.relations import (
    Aggregate,
    AssignWatermark,
    Insert,
    Join,
    Project,
    Relation,
    Scan,
)
from headrace.plan.relational.changelog import annotated
from headrace.plan.relational.equi import equi_condition
from headrace.plan.relational.traversal import walk
from headrace.plan.relational.upsert_keys import upsert_keys
from tests.sql.planning import sample


def found(relation: Relation, kind: type[Relation]) -> list[Relation]:
    return [each for each in walk(relation) if isinstance(each, kind)]


def test_equal_parts_are_one() -> None:
    relation = sample().optimized(
        "WITH n AS (SELECT id, COUNT(*) AS c FROM t GROUP BY id) "
        "SELECT a.id, b.c FROM n a JOIN n b ON a.c = b.c"
    )
    first, second = found(relation, Aggregate)
    assert first is second


def test_what_differs_each_time_is_not_shared() -> None:
    relation = sample().optimized(
        "SELECT a.x FROM (SELECT RAND() AS x, id FROM t) a "
        "JOIN (SELECT RAND() AS x, id FROM t) b ON a.id = b.id AND a.x = b.x"
    )
    (join,) = found(relation, Join)
    assert join.inputs[0] is not join.inputs[1]


def test_watermarks_that_nobody_waits_for_are_dropped() -> None:
    planning = sample()
    idle = planning.optimized("INSERT INTO log SELECT who, n FROM clicks WHERE n > 1")
    assert not found(idle, AssignWatermark)
    waiting = planning.optimized(
        "INSERT INTO log SELECT who, SUM(n) FROM clicks GROUP BY who, TUMBLE(ts, INTERVAL '1' DAY)"
    )
    assert found(waiting, AssignWatermark)


def test_keys_of_a_join_are_taken_out_of_its_condition() -> None:
    query = (
        "SELECT 1 FROM t JOIN u ON u.id = t.id AND t.v > u.w "
        "AND (t.name IS NULL AND u.tags[1] IS NULL OR t.name = u.tags[1])"
    )
    (join,) = found(sample().query(query), Join)
    assert isinstance(join, Join)
    left, right, null_safe, rest = equi_condition(join.condition, len(join.left.schema))
    assert left[0] == Column(join.left.types[0], 0)
    assert right[0] == Column(join.right.types[0], 0)
    assert null_safe == (False, True)
    assert "GREATER_THAN" in str(rest)


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("SELECT id, name FROM users", [{0}]),
        ("SELECT name FROM users", []),
        ("SELECT id, id AS again FROM users", [{0}, {1}]),
        ("SELECT name, COUNT(*) FROM t GROUP BY name", [{0}]),
        ("SELECT COUNT(*) FROM t", [set()]),
        ("SELECT DISTINCT id, v FROM t", [{0, 1}]),
        ("SELECT t.id, users.id FROM t JOIN users ON t.id = users.id", []),
        ("SELECT a.id, b.name FROM users a JOIN users b ON a.id = b.id", [{0}]),
        # A row whose name changes goes from one subtask to another.
        ("SELECT a.id, b.id FROM users a JOIN users b ON a.name = b.name", []),
        ("SELECT id, SUM(id) OVER (PARTITION BY name ORDER BY id) FROM users", []),
        ("SELECT id, SUM(id) OVER (ORDER BY id) FROM users", [{0}]),
        ("SELECT id FROM users ORDER BY id LIMIT 3", [{0}]),
        ("SELECT id FROM users ORDER BY id LIMIT 3 OFFSET 1", []),
        ("SELECT id FROM t UNION ALL SELECT id FROM users", []),
    ],
)
def test_keys_that_tell_rows_apart(query: str, keys: list[set[int]]) -> None:
    known = upsert_keys(sample().optimized(query))
    assert known == {frozenset(key) for key in keys}


def test_a_source_of_upserts_is_completed_only_where_that_is_needed() -> None:
    planning = sample()
    planning.table("copies", "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED", takes="I,UA,D")
    for query, normalized in (
        ("INSERT INTO copies SELECT * FROM users", False),
        ("INSERT INTO copies SELECT * FROM users WHERE id > 3", False),
        ("INSERT INTO copies SELECT * FROM users WHERE name > 'a'", True),
        ("INSERT INTO copies SELECT id, MAX(name) FROM users GROUP BY id", True),
    ):
        relation = planning.optimized(query)
        traits = annotated(relation)
        (scan,) = found(relation, Scan)
        assert traits.normalizes(scan) is normalized, query


def test_traits_say_what_operators_ask_for() -> None:
    relation = sample().optimized(
        "INSERT INTO totals "
        "SELECT /*+ STATE_TTL('t' = '2 s') */ name, COUNT(*) FROM t GROUP BY name"
    )
    traits = annotated(relation)
    assert isinstance(relation, Insert)
    aggregate = relation.input
    assert traits.ttl_ms(aggregate, 7) == 2000
    assert traits.ttl_ms(relation, 7) == 7
    assert traits.unique_key(aggregate) == (0,)
    assert not traits.wants_before(aggregate)
    assert traits.accepted(relation).upsert
    assert not traits.materializes(relation)


def test_hints_of_joins_know_their_side() -> None:
    relation = sample().optimized(
        "SELECT /*+ STATE_TTL('t' = '1 d', 'u' = '2 d') */ t.id FROM t JOIN u ON t.id = u.id"
    )
    traits = annotated(relation, RETRACT)
    (join,) = found(relation, Join)
    assert traits.ttl_ms(join, None, 0) == 86_400_000
    assert traits.ttl_ms(join, None, 1) == 2 * 86_400_000


def test_a_versioned_table_needs_a_key() -> None:
    planning = sample()
    query = "SELECT who, u.w FROM clicks AS c JOIN u FOR SYSTEM_TIME AS OF c.ts ON c.who = u.id"
    with pytest.raises(InvalidQuery, match="needs a primary key"):
        annotated(planning.optimized(query))
    assert isinstance(planning.optimized("SELECT name FROM users"), Project)
