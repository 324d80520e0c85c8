"""Columns as properties, for programs of long ago."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.table import DataTypes, TableSchema
from headrace.table.descriptors import Rowtime, Schema


def test_fields_are_numbered_properties() -> None:
    schema = Schema().field("i", DataTypes.INT()).field("s", DataTypes.STRING())
    schema.from_origin_field("t").field("p", "SQL_TIMESTAMP").proctime()
    assert schema.to_properties() == {
        "schema.0.name": "i",
        "schema.0.data-type": "INT",
        "schema.1.name": "s",
        "schema.1.data-type": "VARCHAR(2147483647)",
        "schema.1.from": "t",
        "schema.2.name": "p",
        "schema.2.data-type": "TIMESTAMP(3)",
        "schema.2.proctime": "true",
    }
    by_schema = Schema(schema=TableSchema(["a"], [DataTypes.TIME()]))
    assert by_schema.to_properties() == {"schema.0.name": "a", "schema.0.data-type": "TIME(0)"}
    assert Schema(fields={"a": "TIME(0)"}).to_properties() == by_schema.to_properties()


def test_event_time_says_where_it_comes_from() -> None:
    rowtime = Rowtime().timestamps_from_field("l").watermarks_periodic_bounded(5000)
    assert rowtime.to_properties() == {
        "rowtime.timestamps.type": "from-field",
        "rowtime.timestamps.from": "l",
        "rowtime.watermarks.type": "periodic-bounded",
        "rowtime.watermarks.delay": "5000",
    }
    schema = Schema().field("r", DataTypes.BIGINT()).rowtime(rowtime)
    assert schema.to_properties()["schema.0.rowtime.timestamps.from"] == "l"
    rowtime.timestamps_from_source().watermarks_periodic_ascending()
    assert rowtime.to_properties() == {
        "rowtime.timestamps.type": "from-source",
        "rowtime.watermarks.type": "periodic-ascending",
    }
    assert Rowtime().watermarks_from_source().to_properties() == {
        "rowtime.watermarks.type": "from-source"
    }


def test_bad_descriptions_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="there is no field"):
        Schema().proctime()
    with pytest.raises(InvalidArgument, match="a field a already"):
        Schema().field("a", "INT").field("a", "INT")
    pairs: Any = [("a", "INT")]
    with pytest.raises(TypeMismatch, match="fields are a dict"):
        Schema().fields(pairs)
    for refused in (Rowtime().timestamps_from_extractor, Rowtime().watermarks_from_strategy):
        with pytest.raises(Unsupported, match="a class of the JVM"):
            refused("a.b.C")
