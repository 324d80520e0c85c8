"""State of table operators has columns that other tools can read."""

from __future__ import annotations

from decimal import Decimal

import pytest

from headrace.core import logical_types as lt
from headrace.core.columnar import column_of, type_from_json
from headrace.core.expressions import SortKey
from headrace.core.types import Types
from headrace.errors import IncompatibleState
from headrace.operators.table.deduplicate import DeduplicateOperator
from headrace.operators.table.group_aggregate import GroupAggregateOperator
from headrace.operators.table.interval_join import IntervalJoinOperator
from headrace.operators.table.join import JoinOperator
from headrace.operators.table.join_state import JoinInput
from headrace.operators.table.over_aggregate import RowtimeOverOperator
from headrace.operators.table.over_changelog import ChangelogOverOperator
from headrace.operators.table.rank import APPEND, RETRACT, UPSERT, RankOperator
from headrace.operators.table.set_operations import SetOperator
from headrace.operators.table.state_types import (
    lookup_state_type,
    row_state_type,
    state_type,
    values_state_type,
)
from headrace.operators.table.temporal_join import (
    EventTimeTemporalJoinOperator,
    ProcessingTimeTemporalJoinOperator,
)
from headrace.operators.table.upsert_materialize import UpsertMaterializeOperator
from headrace.operators.table.window_join import WindowJoinOperator
from tests.unit.operators.table.driving import MS, TIME, Driven, I, aggregate
from tests.unit.operators.table.two_inputs import Paired

TYPES = (lt.STRING, lt.INT, TIME)
BY_NUMBER = (SortKey(1),)
BOTH = (TYPES, TYPES)
YEAR_9999 = 253_402_300_799_999_999_999
"""Its last nanosecond, for which 64 bits are too few."""


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (lt.BOOLEAN, True), (lt.TINYINT, 1), (lt.SMALLINT, 1), (lt.INT, 1), (lt.BIGINT, 2**40),
        (lt.FLOAT, 1.5), (lt.DOUBLE, 1.5), (lt.DecimalType(10, 2), Decimal("1.50")),
        (lt.CharType(2), "ab"), (lt.STRING, "ab"), (lt.BinaryType(1), b"a"), (lt.BYTES, b"a"),
        (lt.DATE, -5), (lt.TimeType(), 5), (lt.TimestampType(), YEAR_9999), (TIME, 5),
        (lt.LocalZonedTimestampType(), YEAR_9999), (lt.YearMonthIntervalType(), 5),
        (lt.DayTimeIntervalType(), 2**40), (lt.RowType.of(lt.INT, lt.STRING), (1, None)),
        (lt.ArrayType(lt.INT), (1, 2)), (lt.MapType(lt.INT, lt.INT), {1: 2}),
        (lt.MultisetType(lt.INT), {1: 2}), (lt.RawType(), object),
    ],
)  # fmt: skip
def test_values_come_back_as_they_were(type, value):
    column = column_of(state_type(type))
    assert column.decode(column.encode([value, None])) == [value, None]


def test_what_is_simple_is_readable():
    assert state_type(lt.DATE) == Types.INT()
    assert values_state_type((lt.STRING, lt.INT)) == Types.TUPLE([Types.STRING(), Types.INT()])
    assert row_state_type((lt.STRING,)) == Types.TUPLE([Types.BYTE(), Types.STRING()])
    assert values_state_type(()) == Types.PICKLED_BYTE_ARRAY()


@pytest.mark.parametrize(
    "operator",
    [
        GroupAggregateOperator([aggregate("SUM", 1)]),
        RankOperator(BY_NUMBER, TYPES, last=2, input=APPEND),
        RankOperator(BY_NUMBER, TYPES, last=2, input=RETRACT),
        RankOperator(BY_NUMBER, TYPES, last=2, input=UPSERT, row_key=(1,)),
        DeduplicateOperator(TYPES, keep_last=True),
        UpsertMaterializeOperator(TYPES),
        ChangelogOverOperator(TYPES, [aggregate("SUM", 1)], order=BY_NUMBER),
        RowtimeOverOperator(TYPES, [aggregate("SUM", 1)], rowtime=2, preceding=5),
    ],
    ids=lambda operator: type(operator).__name__,
)
def test_state_is_of_its_declared_type(operator):
    driven = Driven(operator, [0])
    driven.send(I("a", 1, 5 * MS), I("a", None, 9 * MS))
    driven.watermark(7)
    assert check_all(driven)


@pytest.mark.parametrize(
    "operator",
    [
        JoinOperator("inner", JoinInput(TYPES), JoinInput(TYPES)),
        JoinOperator("full", JoinInput(TYPES), JoinInput(TYPES)),
        JoinOperator("inner", JoinInput(TYPES, (1,)), JoinInput(TYPES, (1,))),
        JoinOperator("full", JoinInput(TYPES, (1,)), JoinInput(TYPES, (1,))),
        IntervalJoinOperator("full", BOTH, (2, 2), -5, 5),
        WindowJoinOperator("full", BOTH, ((2, 2), (2, 2))),
        EventTimeTemporalJoinOperator(True, BOTH, (2, 2)),
        ProcessingTimeTemporalJoinOperator(True, BOTH),
        SetOperator("except", all=True),
    ],
    ids=lambda operator: type(operator).__name__,
)
def test_state_of_two_sides_is_of_its_declared_type(operator):
    driven = Paired(operator)
    rows = I("a", 1, 5 * MS), I("a", None, 9 * MS)
    driven.left(*rows)
    driven.right(*rows)
    assert check_all(driven)


def test_a_key_with_columns_that_python_cannot_hash_is_pickled():
    assert lookup_state_type((lt.STRING, lt.MapType(lt.INT, lt.INT))) == Types.PICKLED_BYTE_ARRAY()
    nested = lt.RowType.of(lt.ArrayType(lt.INT))
    assert lookup_state_type((nested,)) == Types.PICKLED_BYTE_ARRAY()
    assert lookup_state_type(TYPES) == values_state_type(TYPES)


def remembering(number_type):
    """A join whose second column is of a type."""
    side = JoinInput((lt.STRING, number_type))
    return Paired(JoinOperator("inner", side, side))


def test_rows_that_a_join_remembers_follow_the_types_of_their_columns():
    old = remembering(lt.INT)
    old.left(I("a", 1))
    new = remembering(lt.DOUBLE)
    new.harness.restore(old.harness.snapshot())
    assert new.right(I("a", 2.5)) == ["+I[a, 1.0, a, 2.5]"]


def test_rows_that_a_join_remembers_are_refused_as_another_type():
    old = remembering(lt.STRING)
    old.left(I("a", "b"))
    with pytest.raises(IncompatibleState, match=r"-rows'.* STRING cannot become INT\n"):
        remembering(lt.INT).harness.restore(old.harness.snapshot())


def check_all(driven):
    """Write all state as columns of its declared type; says how many values."""
    checked = 0
    for slot in driven.harness._engine._slots.values():
        for (uid, name), declared in slot.state.described().items():
            contents = slot.state.contents(uid, name)
            if contents and declared.kind in ("map", "value"):
                checked += check(declared, list(contents.values()))
    return checked


def check(declared, values):
    """Write values as columns of the declared type; says how many."""
    type = type_from_json(declared.type)
    if declared.kind == "value":
        column_of(type).encode(values)
    else:
        entries = [entry for each in values for entry in each.items()]
        for part, column in enumerate((type.key_type_info, type.value_type_info)):
            column_of(column).encode([entry[part] for entry in entries])
    return len(values)
