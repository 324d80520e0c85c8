"""Files of state are Arrow streams that anybody can open, and give back the very same state."""

from __future__ import annotations

import datetime
import enum
import json
import pickle
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.columnar import type_to_json
from headrace.core.rows import Row
from headrace.core.time import Instant
from headrace.core.types import Types
from headrace.core.windows import CountWindow, TimeWindow
from headrace.errors import CorruptState
from headrace.runtime.declared_state import Declared
from headrace.runtime.packed_changes import packed, unpacked
from tests.unit.core.typed_values import TYPED, exact

UID = "op"
HEAD = b"headrace state 2: Arrow\n"
PICKLED = type_to_json(Types.PICKLED_BYTE_ARRAY())
FROZEN = Path(__file__).resolve().parents[2] / "savepoints"


@dataclass(frozen=True)
class Thing:
    part: Any


class Text(str):
    __slots__ = ()


class Colour(enum.IntEnum):
    RED = 1


Point = namedtuple("Point", "x y")
TIME = datetime.datetime(2024, 5, 1, 12)
ODD = st.sampled_from([
    None, True, False, 0, 1, -5, 2**63 - 1, 2**63, -(2**70), 10**5000, 1.0, -0.0, float("nan"),
    float("inf"), "", "a", "ä\0", "\ud800", Text("a"), b"", b"a", bytearray(b"a"), Colour.RED,
    Decimal("1.00"), Decimal("NaN"), TIME, TIME.replace(fold=1), TIME.replace(tzinfo=datetime.UTC),
    TIME.date(), TIME.time(), Instant(1, 1000), Instant(1, 1), Thing(1), Point(1, 2), (), (1,),
    (1, 2), (1, "a"), [], [1], [None], ["a", 1], {}, {"a": 1}, {None: 1}, OrderedDict(a=1),
    Row(1, 2), Row(a=1), Row(1, "a"), {1, 2}, TimeWindow(0, 5), CountWindow(3), Thing([1]),
])  # fmt: skip
"""Whatever somebody may keep."""
KEYS_OF_ONE_KIND = [
    st.integers(-5, 5),
    st.text(max_size=2),
    st.sampled_from([True, 1, 2, 1.0, "a", None, Thing(2), Text("a"), Colour.RED, Instant(1, 1)]),
    st.tuples(st.integers(0, 3), st.text(max_size=1)),
    st.builds(Thing, st.integers(0, 5)),
    st.builds(Row, st.integers(0, 3)),
    st.integers(2**62, 2**64),
]
KEYS = st.sampled_from(KEYS_OF_ONE_KIND)
MOMENTS = st.integers(-(2**63), 2**63 - 1)
BOUNDS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3)
WINDOWS = st.sampled_from([
    st.builds(TimeWindow, BOUNDS, BOUNDS),
    st.builds(TimeWindow, st.integers(0, 2**65), BOUNDS),
    st.builds(CountWindow, st.integers(0, 9)),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
])  # fmt: skip
KINDS_OF_VALUES = TYPED | st.just((Types.PICKLED_BYTE_ARRAY(), ODD)) | TYPED.map(
    lambda typed: (typed[0], typed[1] | ODD)  # of another type than was declared
) | TYPED.map(lambda typed: (Types.PICKLED_BYTE_ARRAY(), typed[1]))  # fmt: skip


def keys_in(scope: str, draw: Any) -> st.SearchStrategy[Any]:
    if scope in ("broadcast:", "list:", "union:"):
        return st.none()
    keys = draw(KEYS)
    return st.tuples(keys, draw(WINDOWS)) if scope == "window:" else keys


@st.composite
def value_changes(draw: Any) -> Any:
    scope = draw(st.sampled_from(["", "window:"]))
    keys = keys_in(scope, draw)
    type_, values = draw(KINDS_OF_VALUES)
    ttl = draw(st.booleans())
    stored = st.tuples(MOMENTS, values) if ttl else values
    present = draw(st.dictionaries(keys, stored, max_size=6))
    absent = [key for key in draw(st.lists(keys, max_size=4, unique=True)) if key not in present]
    return scope, Declared("value", type_to_json(type_), ttl), (present, absent)


@st.composite
def list_changes(draw: Any) -> Any:
    scope = draw(st.sampled_from(["", "window:", "list:", "union:"]))
    keys = keys_in(scope, draw)
    type_, values = draw(KINDS_OF_VALUES)
    ttl = draw(st.booleans())
    lists = st.lists(st.tuples(MOMENTS, values) if ttl else values, min_size=1, max_size=4)
    rewritten = draw(st.dictionaries(keys, st.none() | lists, max_size=4))
    appended = draw(st.dictionaries(keys, lists, max_size=4))
    appended = {key: more for key, more in appended.items() if key not in rewritten}
    return scope, Declared("list", type_to_json(type_), ttl), (rewritten, appended)


@st.composite
def map_changes(draw: Any) -> Any:
    scope = draw(st.sampled_from(["", "window:", "broadcast:"]))
    keys = keys_in(scope, draw)
    names = draw(KEYS)
    type_, values = draw(KINDS_OF_VALUES)
    ttl = draw(st.booleans())
    stored = st.tuples(MOMENTS, values) if ttl else values
    put = draw(st.dictionaries(keys, st.dictionaries(names, stored, max_size=4), max_size=4))
    removed = draw(st.dictionaries(keys, st.lists(names, max_size=3), max_size=4))
    cleared = draw(st.lists(keys, max_size=3, unique=True))
    named = Types.MAP(draw(st.sampled_from([Types.LONG(), Types.STRING()])), type_)
    return scope, Declared("map", type_to_json(named), ttl), (cleared, put, removed)


@st.composite
def timer_changes(draw: Any) -> Any:
    scope = draw(st.sampled_from(["keyed", "window"]))
    keys = keys_in("window:" if scope == "window" else "", draw)
    timers = st.tuples(st.sampled_from(["event", "processing"]), MOMENTS, keys)
    change = draw(st.lists(timers, max_size=5)), draw(st.lists(timers, max_size=5))
    return "", Declared("timers", scope, False), change


def as_it_comes_back(kind: str, change: tuple[Any, ...]) -> tuple[Any, ...]:
    """A change that does the same: lists that go come last, maps that stay as they are are gone."""
    if kind == "list":
        rewritten, appended = change
        return dict(sorted(rewritten.items(), key=lambda item: item[1] is None)), appended
    if kind == "map":
        cleared, *others = change
        return cleared, *({key: many for key, many in each.items() if many} for each in others)
    return change


def tables_in(blob: bytes) -> list[pa.Table]:
    """As anybody would read a file."""
    source = pa.BufferReader(blob)
    assert source.read(len(HEAD)) == HEAD
    found = []
    while source.tell() < source.size():
        found.append(pa.ipc.open_stream(source).read_all())
    return found


ANY = st.one_of(value_changes(), list_changes(), map_changes(), timer_changes())


@given(ANY, st.booleans())
@settings(max_examples=1000, deadline=None)
def test_every_change_comes_back(made, is_described):
    scope, declared, change = made
    kind = declared.kind
    stored, named = ("timers", "_timers") if kind == "timers" else (f"{scope}s",) * 2
    known = {(UID, named): declared} if is_described else {}
    blob, sizes = packed([(UID, stored, kind, change)], known)
    [read] = unpacked(blob)
    assert read[:3] == (UID, stored, kind)
    assert exact(read[3]) == exact(as_it_comes_back(kind, change))
    [table] = tables_in(blob)
    assert table.column_names[0] == "change"
    assert sizes == {UID: len(blob) - len(HEAD)}


def columns_of(change: Any, declared: Declared, name: str = "s") -> dict[str, list[Any]]:
    """What somebody sees who opens the file of one change."""
    kind = declared.kind
    stored = "timers" if kind == "timers" else name
    known = {(UID, "_timers" if kind == "timers" else name): declared}
    [table] = tables_in(packed([(UID, stored, kind, change)], known)[0])
    return table.to_pydict()


def test_what_was_done_can_be_read_without_headrace():
    change = ({1: (900, "a"), 2: (950, None)}, [3])
    assert columns_of(change, Declared("value", "STRING", True)) == {
        "change": ["put", "put", "removed"], "key": [1, 2, 3],
        "expires_from": [900, 950, None], "value": ["a", None, None],
    }  # fmt: skip
    change = ({"a": [1, 2], "b": None}, {"c": [3]})
    assert columns_of(change, Declared("list", "INT", False)) == {
        "change": ["put", "appended", "removed"], "key": ["a", "c", "b"],
        "value": [[1, 2], [3], None],
    }  # fmt: skip
    change = ([7], {1: {"a": 1.5, "b": 2.5}}, {1: [], 2: ["c"]})
    assert columns_of(change, Declared("map", {"map": ["STRING", "DOUBLE"]}, False)) == {
        "change": ["put", "put", "removed", "cleared"], "key": [1, 1, 2, 7],
        "map_key": ["a", "b", "c", None], "value": [1.5, 2.5, None, None],
    }  # fmt: skip
    change = (
        [("event", 9, ("a", TimeWindow(0, 10)))],
        [("processing", 5, ("b", TimeWindow(5, 6)))],
    )
    assert columns_of(change, Declared("timers", "window", False)) == {
        "change": ["put", "removed"], "key": ["a", "b"], "window_start": [0, 5],
        "window_end": [10, 6], "domain": ["event", "processing"], "time": [9, 5],
    }  # fmt: skip
    change = ([], {None: {"a": 1}}, {})
    assert columns_of(change, Declared("map", PICKLED, False), "broadcast:s") == {
        "change": ["put"], "map_key": ["a"], "value": [1],
    }  # fmt: skip


def test_a_table_says_what_it_is():
    changes = [(UID, "window:s", "value", ({(1, TimeWindow(0, 5)): 300}, []))]
    [table] = tables_in(packed(changes, {(UID, "window:s"): Declared("value", "INT", False)})[0])
    assert json.loads(table.schema.metadata[b"headrace"]) == {
        "operator": UID, "state": "s", "kind": "value", "scope": "window", "declared": "INT",
        "types": {"key": "LONG", "window_start": "LONG", "window_end": "LONG", "value": "INT"},
    }  # fmt: skip
    assert table.schema.field("value").type == pa.int32()


@pytest.mark.parametrize(
    ("declared", "values", "type_"),
    [
        ("INT", [1, None, 2], "INT"),
        (None, [1, 2], "LONG"),
        ("INT", [1, 2**40], "LONG"),
        ("INT", [1, True], "PICKLED_BYTE_ARRAY"),
        (PICKLED, ["a", None], "STRING"),
        (PICKLED, [(None, n) for n in range(100)] + [("a", 1)], {"tuple": ["STRING", "LONG"]}),
        (PICKLED, [*range(100), 2**70], "BIG_INT"),
        (PICKLED, [*range(100), "a"], "PICKLED_BYTE_ARRAY"),
        (PICKLED, [("a", {1})], "PICKLED_BYTE_ARRAY"),
        ({"tuple": ["LONG", PICKLED]}, [(1, 2)], {"tuple": ["LONG", "LONG"]}),
        ({"tuple": ["LONG", "LONG"]}, [Point(1, 2)], "PICKLED_BYTE_ARRAY"),
    ],
)
def test_the_type_of_a_column(declared, values, type_):
    change = dict(enumerate(values)), []
    blob, _ = packed(
        [(UID, "s", "value", change)], {(UID, "s"): Declared("value", declared, False)}
    )
    [table] = tables_in(blob)
    assert json.loads(table.schema.metadata[b"headrace"])["types"]["value"] == type_
    assert exact(unpacked(blob)[0][3]) == exact(change)


def test_a_pickled_column_holds_the_list_of_its_values_in_the_first_row():
    seen = columns_of(({1: Thing(1), 2: "a"}, [3]), Declared("value", PICKLED, False))
    assert seen["key"] == [1, 2, 3]
    assert pickle.loads(seen["value"][0]) == [Thing(1), "a"]
    assert seen["value"][1:] == [None, None]


@pytest.mark.parametrize("value", [[[1]], {"a": [2]}, Thing([3]), ([4],), Row([5])], ids=repr)
def test_what_is_changed_later_is_not_part_of_it(value):
    blob, _ = packed([(UID, "s", "value", ({1: value}, []))], {})
    before = pickle.loads(pickle.dumps(value))
    inner = value.part if type(value) is Thing else value["a" if type(value) is dict else 0]
    inner.append(9)
    assert value != before
    assert exact(unpacked(blob)[0][3]) == exact(({1: before}, []))


def test_one_operator_may_be_asked_for():
    changes = [(uid, "s", "value", ({1: uid}, [])) for uid in ("a", "b", "a")]
    assert unpacked(packed(changes, {})[0], operator="a") == [changes[0], changes[2]]
    assert unpacked((FROZEN / "state-1").read_bytes(), operator="windows") == [FIRST_FORM[-1]]


FIRST_FORM = [
    ("counts", "count", "value", ({"a": 1, "b": 2**70}, ["c"])),
    ("counts", "seen", "value", ({1: (1700, Row(name="Ann", age=3))}, [])),
    ("counts", "items", "list", ({"a": [1, None], "b": None}, {"c": [Decimal("1.50")]})),
    ("counts", "by name", "map", (["z"], {"a": {"x": Instant(5, 1)}}, {"a": [], "b": ["y"]})),
    ("counts", "broadcast:rules", "map", ([], {None: {"rule": (1, 2)}}, {None: []})),
    ("counts", "list:offsets", "list", ({None: [3, 4]}, {})),
    ("counts", "timers", "timers", ([("event", 10, "a")], [("processing", 5, "b")])),
    ("windows", "window:sum", "value", ({("a", TimeWindow(0, 10)): 7.5}, [])),
]
"""What `tests/savepoints/state-1` holds."""


def test_files_of_the_first_form_are_read():
    assert exact(unpacked((FROZEN / "state-1").read_bytes())) == exact(FIRST_FORM)


def test_files_of_this_form_are_read_for_ever():
    expected = [(*change[:3], as_it_comes_back(change[2], change[3])) for change in FIRST_FORM]
    assert exact(unpacked((FROZEN / "state-2").read_bytes())) == exact(expected)


@pytest.mark.parametrize("head", [b"headrace state 3: Arrow\n", b"", b"PAR1"])
def test_a_file_of_another_form_is_refused(head):
    blob, _ = packed([(UID, "s", "value", ({"a": 1}, []))], {})
    with pytest.raises(CorruptState, match="does not know: it begins with"):
        unpacked(head + blob[len(HEAD) :])
