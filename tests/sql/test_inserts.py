"""What INSERT writes: columns, casts, missing values, partitions."""

from __future__ import annotations

import pytest

from headrace.core.expressions import Call, Column, Literal
from headrace.errors import InvalidQuery
from headrace.graph.relations import Insert, Project, Values
from tests.sql.planning import Planning, sample


def inserted(planning: Planning, text: str) -> Insert:
    relation = planning.query(text)
    assert isinstance(relation, Insert)
    return relation


def test_values_are_cast_to_the_table() -> None:
    insert = inserted(sample(), "INSERT INTO log SELECT id, id FROM t")
    assert isinstance(insert.input, Project)
    first, second = insert.input.expressions
    assert isinstance(first, Column)
    assert isinstance(second, Call)
    assert (str(first.type), str(second.type)) == ("INT", "BIGINT")


def test_columns_that_are_not_named_are_null() -> None:
    insert = inserted(sample(), "INSERT INTO log (v) SELECT v FROM t")
    assert isinstance(insert.input, Project)
    missing, given = insert.input.expressions
    assert isinstance(missing, Literal)
    assert missing.value is None
    assert isinstance(given, Column)


def test_columns_may_come_in_another_order() -> None:
    insert = inserted(sample(), "INSERT INTO log (v, id) SELECT v, id FROM t")
    assert isinstance(insert.input, Project)
    assert [str(each) for each in insert.input.expressions] == ["$1", "$0"]


def test_a_partition_fills_its_column() -> None:
    planning = sample()
    planning.table("parts", "id INT, day_of STRING, v BIGINT", partitioned_by="day_of")
    text = "INSERT INTO parts PARTITION (day_of = '2020') SELECT id, v FROM t"
    insert = inserted(planning, text)
    assert isinstance(insert.input, Project)
    assert [str(each) for each in insert.input.expressions] == ["$0", "'2020'", "$1"]


def test_a_partition_is_of_columns_the_table_is_partitioned_by() -> None:
    planning = sample()
    planning.table("parts", "id INT, day_of STRING, v BIGINT", partitioned_by="day_of")
    for table, message in (("parts", "partitioned by day_of"), ("log", "not partitioned")):
        with pytest.raises(InvalidQuery, match=f"v is no partition column of .*{message}"):
            inserted(planning, f"INSERT INTO {table} PARTITION (v = 1) SELECT id, 'x' FROM t")


def test_computed_columns_and_virtual_metadata_are_left_out() -> None:
    planning = sample()
    planning.table(
        "more", "id INT, twice AS id * 2, ts TIMESTAMP(3) METADATA VIRTUAL, at_ts TIMESTAMP(3) "
        "METADATA FROM 'ts', v BIGINT",
    )  # fmt: skip
    insert = inserted(planning, "INSERT INTO more SELECT 1, TIMESTAMP '2020-01-01 00:00:00', 2")
    assert insert.names == ("id", "at_ts", "v")


def test_the_primary_key_is_known_by_position() -> None:
    insert = inserted(sample(), "INSERT INTO totals VALUES ('a', 1)")
    assert insert.primary_key == (0,)
    assert isinstance(insert.input, Project | Values)


def test_overwrite_and_conflict_are_kept() -> None:
    insert = inserted(sample(), "INSERT OVERWRITE log SELECT id, v FROM t")
    assert insert.overwrite
    insert = inserted(sample(), "INSERT INTO totals SELECT name, v FROM t ON CONFLICT DO ERROR")
    assert insert.conflict == "ERROR"
