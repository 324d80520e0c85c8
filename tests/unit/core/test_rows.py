"""Rows behave as PyFlink's do."""

import copy
import pickle

import pytest

from headrace.core.rows import Row, RowKind
from headrace.errors import InvalidArgument, TypeMismatch


def test_named_row() -> None:
    row = Row(name="Alice", age=11)
    assert (row.name, row["age"], row[0], row[0:2]) == ("Alice", 11, "Alice", ["Alice", 11])
    assert "name" in row
    assert "Alice" not in row
    assert repr(row) == str(row) == "Row(name='Alice', age=11)"
    assert row.as_dict() == {"name": "Alice", "age": 11}
    assert (len(row), list(row)) == (2, ["Alice", 11])
    assert row._fields == ["name", "age"]


def test_positional_row() -> None:
    row = Row("Alice", 11)
    assert repr(row) == "<Row('Alice', 11)>"
    assert "Alice" in row
    assert not hasattr(row, "_fields")
    assert not hasattr(row, "name")
    with pytest.raises(TypeMismatch, match="no field names"):
        row.as_dict()
    row.set_field_names(["name", "age"])
    assert row.name == "Alice"
    assert row == Row(name="Alice", age=11)


def test_row_as_a_template() -> None:
    person = Row("name", "age")
    assert person("Alice", 11) == Row(name="Alice", age=11)
    assert repr(person("Alice")) == "Row(name='Alice')"
    with pytest.raises(InvalidArgument, match="2 fields but was given 3 values"):
        person(1, 2, 3)


def test_changing_a_row() -> None:
    row = Row(a=1, b=2)
    row["a"], row[1] = 10, 20
    assert row == Row(a=10, b=20)
    with pytest.raises(AttributeError):
        row.a = 5
    with pytest.raises(ValueError, match="no field 'c' in the row; its fields: a, b"):
        row["c"] = 1
    with pytest.raises(ValueError, match="no field 'c'"):
        row["c"]
    with pytest.raises(AttributeError):
        row.c  # noqa: B018
    with pytest.raises(KeyError):
        Row(1)["a"] = 1


def test_positional_and_named_values_do_not_mix() -> None:
    with pytest.raises(ValueError, match="not both"):
        Row(1, a=2)


def test_equality_and_hash() -> None:
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert hash(Row(a=1, b=2)) == hash(Row(b=2, a=1))
    assert Row(a=1) != Row(b=1)
    assert Row(a=1) != Row(1)
    assert Row(1) != (1,)
    assert Row(1, 2) != Row(2, 1)
    assert hash(Row(1, 2)) == hash((1, 2))
    assert Row(1) != Row.of_kind(RowKind.DELETE, 1)


def test_kinds() -> None:
    row = Row.of_kind(RowKind.UPDATE_BEFORE, a=1)
    assert row.get_row_kind() is RowKind.UPDATE_BEFORE
    row.set_row_kind(RowKind.DELETE)
    assert row.get_row_kind() is RowKind.DELETE
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]
    assert Row(1).get_row_kind() is RowKind.INSERT


def test_fields_by_names() -> None:
    row = Row(a=1, b=2, c=3)
    assert row.get_fields_by_names(["c", "a"]) == [3, 1]
    assert Row(1, 2).get_fields_by_names(["x", "y"]) == [1, 2]
    with pytest.raises(InvalidArgument, match="no field 'z'"):
        row.get_fields_by_names(["z"])


def test_nested_rows_as_dicts() -> None:
    row = Row(key=1, values=[Row(a=2)], table={"x": Row(b=3)})
    assert row.as_dict(True) == {"key": 1, "values": [{"a": 2}], "table": {"x": {"b": 3}}}
    assert row.as_dict()["values"] == [Row(a=2)]


@pytest.mark.parametrize(
    "row", [Row(1, "a"), Row(a=1, b=None), Row(), Row.of_kind(RowKind.DELETE, a=1), Row(a=Row(1))]
)
def test_rows_survive_pickling_and_copying(row: Row) -> None:
    for again in (pickle.loads(pickle.dumps(row)), copy.copy(row), copy.deepcopy(row)):
        assert again == row
        assert repr(again) == repr(row)
        assert again.get_row_kind() is row.get_row_kind()


def test_many_rows_pickle_compactly() -> None:
    """The names are written once, and a row costs little more than its values."""
    names = Row(name=0, amount=0)._names
    rows = []
    for number in range(1000):
        row = Row(name=number, amount=number)
        row._names = names
        rows.append(row)
    assert len(pickle.dumps(rows)) < 25 * len(rows)
