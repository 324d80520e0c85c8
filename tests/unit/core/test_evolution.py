"""State outlives the program that wrote it: its values follow the types of the next one."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, make_dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.columnar import column_of
from headrace.core.evolution import evolve_object, migration
from headrace.core.rows import Row, RowKind
from headrace.core.type_json import NothingTypeInfo
from headrace.core.types import LocalTimeTypeInfo, Types
from headrace.errors import IncompatibleState

STRING, INT, LONG, DOUBLE = Types.STRING(), Types.INT(), Types.LONG(), Types.DOUBLE()
PICKLED = Types.PICKLED_BYTE_ARRAY()
BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())


def person(**fields):
    return Types.ROW_NAMED(list(fields), list(fields.values()))


def migrate(old, new, value):
    change = migration(old, new, "state 'profile' of operator 'enrich'")
    return value if change is None else change(value)


UNCHANGED = [
    (INT, LONG),
    (Types.BYTE(), Types.BIG_INT()),
    (Types.FLOAT(), DOUBLE),
    (Types.CHAR(), STRING),
    (STRING, PICKLED),
    (Types.SQL_DATE(), LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE)),
    (NothingTypeInfo(), STRING),
    (Types.LIST(INT), Types.LIST(LONG)),
    (Types.BASIC_ARRAY(INT), Types.LIST(LONG)),
    (Types.PRIMITIVE_ARRAY(INT), Types.PRIMITIVE_ARRAY(LONG)),
    (person(a=INT), person(a=LONG)),
    (Types.TUPLE([INT, STRING]), Types.TUPLE([LONG, PICKLED])),
]


@pytest.mark.parametrize(("old", "new"), UNCHANGED)
def test_what_python_keeps_alike_stays_as_it_is(old, new):
    assert migration(old, new, "state 'x'") is None


CHANGED = [
    (INT, DOUBLE, 3, 3.0),
    (LONG, Types.BIG_DEC(), 3, Decimal(3)),
    (Types.SQL_DATE(), Types.SQL_TIMESTAMP(), datetime.date(2020, 1, 2),
     datetime.datetime(2020, 1, 2)),
    (person(a=INT, b=STRING), person(b=STRING, c=INT, a=DOUBLE), Row(a=1, b="x"),
     Row(b="x", c=None, a=1.0)),
    (person(a=INT, b=STRING), person(a=INT), Row(a=1, b="x"), Row(a=1)),
    (person(a=INT), person(a=INT, b=INT), Row.of_kind(RowKind.DELETE, a=1),
     Row.of_kind(RowKind.DELETE, a=1, b=None)),
    (Types.ROW([INT]), Types.ROW([INT, STRING]), Row(1), Row(1, None)),
    (Types.ROW([INT]), person(a=INT), Row(1), Row(a=1)),
    (person(a=INT), person(a=INT, b=INT), (1,), (1, None)),
    (person(a=INT), person(a=INT, b=INT), {"a": 1}, {"a": 1, "b": None}),
    (person(a=INT), person(a=INT, b=INT), Row(1), Row(a=1, b=None)),
    (Types.TUPLE([INT]), Types.TUPLE([INT, STRING]), (1,), (1, None)),
    (Types.TUPLE([INT, STRING]), Types.TUPLE([INT]), (1, "x"), (1,)),
    (Types.LIST(person(a=INT)), Types.LIST(person(a=INT, b=INT)), [Row(a=1), None],
     [Row(a=1, b=None), None]),
    (Types.MAP(INT, Types.TUPLE([INT])), Types.MAP(DOUBLE, Types.TUPLE([INT, INT])), {1: (2,)},
     {1.0: (2, None)}),
    (PICKLED, Types.TUPLE([STRING, LONG]), ("x", 1), ("x", 1)),
    (person(a=PICKLED), person(a=LONG), Row(a=1), Row(a=1)),
    (PICKLED, person(a=LONG), Row(a=1), Row(a=1)),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "before", "after"), CHANGED)
def test_values_follow_their_type(old, new, before, after):
    migrated = migrate(old, new, before)
    assert (type(migrated), migrated) == (type(after), after)
    assert getattr(migrated, "_names", None) == getattr(after, "_names", None)
    assert migrate(old, new, None) is None


REFUSED = [
    (LONG, INT),
    (STRING, INT),
    (DOUBLE, LONG),
    (DOUBLE, Types.BIG_DEC()),
    (Types.BOOLEAN(), INT),
    (STRING, Types.CHAR()),
    (Types.BIG_INT(), DOUBLE),
    (Types.SQL_TIMESTAMP(), Types.SQL_DATE()),
    (Types.TUPLE([INT]), Types.TUPLE([STRING])),
    (Types.TUPLE([INT]), Types.ROW([INT])),
    (Types.LIST(INT), Types.PRIMITIVE_ARRAY(INT)),
    (BYTES, Types.LIST(Types.BYTE())),
    (BYTES, STRING),
    (Types.LIST(LONG), LONG),
    (Types.MAP(STRING, LONG), Types.MAP(STRING, INT)),
    (person(a=INT), person(b=INT)),
    (person(a=INT, b=STRING), person(a=INT, b=LONG)),
]


@pytest.mark.parametrize(("old", "new"), REFUSED)
def test_what_would_lose_something_is_refused(old, new):
    with pytest.raises(IncompatibleState):
        migration(old, new, "state 'x'")


MISFITS = [
    (LONG, DOUBLE, 2**53 + 1),
    (LONG, DOUBLE, "text"),
    (PICKLED, LONG, "text"),
    (PICKLED, person(a=LONG), object()),
    (person(a=INT), person(a=INT, b=INT), Row(z=1)),
    (Types.TUPLE([INT]), Types.TUPLE([INT, INT]), (1, 2, 3)),
    (Types.TUPLE([INT]), Types.TUPLE([INT, INT]), 7),
    (Types.LIST(INT), Types.LIST(DOUBLE), 7),
    (
        Types.MAP(Types.TUPLE([INT, INT]), INT),
        Types.MAP(Types.TUPLE([INT]), INT),
        {(1, 1): 1, (1, 2): 2},
    ),
]


@pytest.mark.parametrize(("old", "new", "value"), MISFITS)
def test_a_value_that_does_not_fit_is_refused(old, new, value):
    with pytest.raises(IncompatibleState, match="state 'profile' of operator 'enrich'"):
        migrate(old, new, value)


def test_the_message_shows_both_types():
    old = person(name=STRING, address=person(street=STRING, number=STRING, city=STRING), age=LONG)
    new = person(name=STRING, address=person(street=STRING, number=INT))
    with pytest.raises(IncompatibleState) as refused:
        migration(old, new, "state 'profile' of operator 'enrich' (uid enrich-1)")
    assert str(refused.value) == (
        "[incompatible-state] state 'profile' of operator 'enrich' (uid enrich-1) was written with"
        " a type that cannot become its new type: field 'number' of field 'address':"
        " STRING cannot become INT\n"
        "  written as  ROW(\n"
        "                name STRING,\n"
        "                address ROW(street STRING, number STRING, city STRING),\n"
        "                age LONG,\n"
        "              )\n"
        "  now         ROW(name STRING, address ROW(street STRING, number INT))\n"
        "  hint: Keep the old type, give the new state another name, or rewrite the state with"
        " the State Processor API."
    )


WIDER = {
    "BYTE": ["SHORT", "LONG", "BIG_INT", "DOUBLE"],
    "INT": ["LONG", "DOUBLE", "BIG_DEC"],
    "STRING": ["PICKLED_BYTE_ARRAY"],
    "FLOAT": ["DOUBLE"],
}
VALUES = {
    "BYTE": st.integers(-128, 127),
    "INT": st.integers(-(2**31), 2**31 - 1),
    "STRING": st.sampled_from(["", "x"]),
    "FLOAT": st.floats(width=32, allow_nan=False),
}
Evolving = tuple[Any, Any, st.SearchStrategy[Any]]


@st.composite
def evolving(draw, depth=2) -> Evolving:
    """An older type, a newer one it may become, and a strategy for values of the older."""
    kind = draw(st.sampled_from(["single", "tuple", "row", "list", "map"] if depth else ["single"]))
    if kind == "single":
        old = draw(st.sampled_from(sorted(WIDER)))
        new = draw(st.sampled_from([old, *WIDER[old]]))
        return getattr(Types, old)(), getattr(Types, new)(), VALUES[old] | st.none()
    parts = [draw(evolving(depth - 1)) for _ in range(draw(st.integers(1, 3)))]
    old, new, values = parts[0]
    if kind == "list":
        return Types.LIST(old), Types.LIST(new), st.lists(values, max_size=3)
    if kind == "map":
        entries = st.dictionaries(VALUES["STRING"], values, max_size=2)
        return Types.MAP(STRING, old), Types.MAP(STRING, new), entries
    added = draw(st.booleans())
    olds, news = [old for old, _, _ in parts], [new for _, new, _ in parts]
    every = st.tuples(*(values for _, _, values in parts))
    if kind == "tuple":
        news = [*news, INT] if added else news[: draw(st.integers(0, len(news)))]
        return Types.TUPLE(olds), Types.TUPLE(news), every
    names = [f"n{place}" for place in range(len(parts))]
    kept = draw(st.permutations(range(len(parts))))[: draw(st.integers(1, len(parts)))]
    later = Types.ROW_NAMED(
        [names[place] for place in kept] + ["added"] * added,
        [news[place] for place in kept] + [INT] * added,
    )
    rows = every.map(lambda values: Row(*names)(*values))
    return Types.ROW_NAMED(names, olds), later, rows


@given(evolving().flatmap(lambda part: st.tuples(*map(st.just, part[:2]), st.lists(part[2]))))
@settings(max_examples=300, deadline=None)
def test_migrated_values_are_of_the_new_type(case):
    old, new, values = case
    column_of(old).encode(values)
    column = column_of(new)
    migrated = [migrate(old, new, value) for value in values]
    assert column.decode(column.encode(migrated)) == migrated


@dataclass(frozen=True)
class Profile:
    name: str
    tags: list[str] = field(default_factory=list)
    level: int = 3


def older(kind, **attributes):
    """An object as unpickling makes it: without calling its class."""
    value = object.__new__(kind)
    vars(value).update(attributes)
    return value


def test_missing_fields_get_their_defaults_and_dropped_ones_go():
    profile = evolve_object(older(Profile, name="Ann", gone=1))
    assert vars(profile) == {"name": "Ann", "tags": [], "level": 3}
    assert profile == Profile("Ann")


def test_defaults_are_not_shared():
    one, other = evolve_object([older(Profile, name="Ann"), older(Profile, name="Bob")])
    assert one.tags is not other.tags


def test_objects_inside_others_are_brought_up_to_date():
    inner = older(Profile, name="Ann")
    holder = make_dataclass("Holder", ["profile"])(inner)
    for value in ({"key": [inner]}, (inner,), Row(a=inner), holder, {inner.name: holder}):
        vars(inner).pop("level", None)
        evolved = evolve_object(value)
        assert (type(evolved), evolved) == (type(value), value)
        assert evolved is not value
        assert evolve_object(evolved) is evolved
        assert vars(inner)["level"] == 3


def test_values_that_contain_themselves_end():
    loop: list[Any] = [older(Profile, name="Ann")]
    loop.append(loop)
    assert vars(evolve_object(loop)[0])["level"] == 3


def test_a_new_field_without_default_is_refused():
    with pytest.raises(IncompatibleState, match=r"Profile was stored before .* 'name'"):
        evolve_object(older(Profile, level=1))


def test_plain_objects_stay_as_they_are():
    class Plain:
        pass

    value = older(Plain, anything=1)
    assert evolve_object(value) is value
    assert vars(value) == {"anything": 1}
