"""What functions give, held to the declared type: taken and refused as PyFlink does."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from headrace.core.given_values import RESULTS, from_python
from headrace.core.logical_types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, LogicalType
from headrace.core.table_values import nullable
from headrace.errors import TypeMismatch


@pytest.mark.parametrize(
    ("type", "given", "taken"),
    [
        (INT, 1.7, 1),
        (BIGINT, -1.7, -1),
        (BIGINT, Decimal("2.5"), 2),
        (INT, True, 1),
        (INT, None, None),
        (DOUBLE, 3, 3.0),
        (BOOLEAN, 5, True),
        (STRING, "x", "x"),
    ],
)
def test_taken(type: LogicalType, given: Any, taken: Any) -> None:
    found = nullable(from_python(type, RESULTS))(given)
    assert found == taken
    assert found.__class__ is taken.__class__


@pytest.mark.parametrize(
    ("type", "given"),
    [(INT, "x"), (INT, 2**40), (BIGINT, 2**63), (INT, float("nan")), (STRING, 5), (DOUBLE, "x")],
)
def test_refused(type: LogicalType, given: Any) -> None:
    with pytest.raises(TypeMismatch, match=r" is no [A-Z]+"):
        nullable(from_python(type, RESULTS))(given)
