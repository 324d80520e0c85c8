"""What a program sees of the records it collects."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Row, RowKind, Types
from headrace.core.numbers import single
from headrace.datastream.collected_values import collected

WIDE = single(1.1)


@pytest.mark.parametrize(
    ("type", "value", "shown"),
    [
        (Types.FLOAT(), WIDE, 1.1),
        (Types.FLOAT(), None, None),
        (Types.FLOAT(), float("inf"), float("inf")),
        (Types.TUPLE([Types.FLOAT(), Types.STRING()]), (WIDE, "a"), (1.1, "a")),
        (Types.LIST(Types.FLOAT()), [WIDE, None], [1.1, None]),
        (Types.PRIMITIVE_ARRAY(Types.FLOAT()), [WIDE], [1.1]),
        (Types.MAP(Types.STRING(), Types.FLOAT()), {"a": WIDE}, {"a": 1.1}),
        (Types.ROW([Types.INT(), Types.TUPLE([Types.FLOAT()])]), Row(1, (WIDE,)), Row(1, (1.1,))),
    ],
)
def test_a_float_has_the_digits_it_was_written_with(type: Any, value: Any, shown: Any) -> None:
    change = collected(type)
    assert change is not None
    assert change(value) == shown


def test_a_row_keeps_its_kind_and_names() -> None:
    change = collected(Types.ROW_NAMED(["x"], [Types.FLOAT()]))
    given = Row(x=WIDE)
    given.set_row_kind(RowKind.DELETE)
    assert change is not None
    found = change(given)
    assert found.get_row_kind() is RowKind.DELETE
    assert found.as_dict() == {"x": 1.1}


@pytest.mark.parametrize(
    "type", [None, Types.DOUBLE(), Types.TUPLE([Types.INT()]), Types.PICKLED_BYTE_ARRAY()]
)
def test_other_records_are_left_alone(type: Any) -> None:
    assert collected(type) is None
