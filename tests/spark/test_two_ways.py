"""A native query and headrace's own operators give a program the same values of the same types."""

from __future__ import annotations

from headrace.table import DataTypes
from tests.sql.collected_values import GATHERED, GATHERING, QUERY, VALUES, shape
from tests.sql.in_process import batch_environment


def test_native_queries_collect_values_of_every_type_as_operators_do() -> None:
    env = batch_environment()
    wrong = {}
    for query, expected in ((QUERY, VALUES), (GATHERING, GATHERED)):
        with env.execute_sql(query).collect() as rows:
            (row,) = rows
        for got, (text, value) in zip(row, expected.items(), strict=True):
            if shape(got) != shape(value):
                wrong[text] = (got, value)
    assert wrong == {}


def test_floats_of_elements_are_collected_with_the_digits_they_were_given_with() -> None:
    for changes in ("record", "micro-batch"):
        env = batch_environment()
        env.get_config().set("headrace.table.changes", changes)
        type = DataTypes.ROW([DataTypes.FIELD("f", DataTypes.FLOAT())])
        with env.from_elements([(1.23,)], type).execute().collect() as rows:
            assert [row[0] for row in rows] == [1.23]
