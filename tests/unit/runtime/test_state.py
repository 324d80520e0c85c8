"""State objects: one key at a time, never without one."""

from collections.abc import Callable
from typing import Any

import pytest

from headrace.core.functions import AggregateFunction, ReduceFunction
from headrace.core.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from headrace.core.types import Types
from headrace.errors import InvalidArgument, StateAccessError, TypeMismatch
from headrace.runtime.subtask_state import SubtaskState

UID = "operator"


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Longest(ReduceFunction):
    def reduce(self, value1: str, value2: str) -> str:
        return max(value1, value2, key=len)


EVERY: list[StateDescriptor] = [
    ValueStateDescriptor("value"),
    ListStateDescriptor("list"),
    MapStateDescriptor("map"),
    ReducingStateDescriptor("reducing", Longest()),
    AggregatingStateDescriptor("aggregating", Average()),
]
ACCESSES: dict[str, list[tuple[str, tuple[Any, ...]]]] = {
    "value": [("value", ()), ("update", (1,)), ("update", (None,)), ("clear", ())],
    "list": [
        ("get", ()), ("add", (1,)), ("add_all", ([1],)), ("update", ([1],)), ("clear", ()),
    ],
    "map": [
        ("get", (1,)), ("put", (1, 2)), ("put_all", ({1: 2},)), ("remove", (1,)),
        ("contains", (1,)), ("items", ()), ("keys", ()), ("values", ()), ("is_empty", ()),
        ("clear", ()),
    ],
    "reducing": [("get", ()), ("add", ("a",)), ("clear", ())],
    "aggregating": [("get", ()), ("add", (1,)), ("clear", ())],
}  # fmt: skip


@pytest.fixture
def subtask() -> SubtaskState:
    return SubtaskState(logged=True, clock=lambda: 0)


def with_key(subtask: SubtaskState, key: Any) -> None:
    subtask.scope(UID).key = key


@pytest.mark.parametrize("descriptor", EVERY, ids=lambda descriptor: descriptor.kind)
def test_state_without_a_key_is_an_error_that_helps(
    subtask: SubtaskState, descriptor: StateDescriptor
) -> None:
    state = subtask.keyed(UID, descriptor)
    for method, arguments in ACCESSES[descriptor.kind]:
        access: Callable[..., Any] = getattr(state, method)
        with pytest.raises(StateAccessError, match="no current key") as caught:
            access(*arguments)
        assert "process_element" in str(caught.value.hint)
    assert subtask.take_changes() == []


def test_each_key_has_its_own_value(subtask: SubtaskState) -> None:
    value: Any = subtask.keyed(UID, ValueStateDescriptor("v"))
    for key in ("a", "b", None):
        with_key(subtask, key)
        assert value.value() is None
        value.update(f"of {key}")
    with_key(subtask, "b")
    value.clear()
    assert subtask.contents(UID, "v") == {"a": "of a", None: "of None"}


def test_false_values_are_values(subtask: SubtaskState) -> None:
    value: Any = subtask.keyed(UID, ValueStateDescriptor("v"))
    with_key(subtask, 0)
    for falsy in (0, "", False, [], 0.0):
        value.update(falsy)
        assert value.value() == falsy
        assert value.value() is not None


def test_a_list_read_is_not_the_list_kept(subtask: SubtaskState) -> None:
    items: Any = subtask.keyed(UID, ListStateDescriptor("l"))
    with_key(subtask, "a")
    given = [1]
    items.update(given)
    given.append(2)
    items.get().append(3)
    items.add_all(iter([4, 5]))
    assert items.get() == [1, 4, 5]
    items.update([])
    assert items.get() == []
    assert subtask.contents(UID, "l") == {}


def test_a_map_can_be_changed_while_it_is_walked(subtask: SubtaskState) -> None:
    entries: Any = subtask.keyed(UID, MapStateDescriptor("m"))
    with_key(subtask, "a")
    entries.put_all({"x": 1})
    entries.put_all({"y": 2}.items())
    for key, number in entries.items():
        entries.remove(key)
        entries[key * 2] = number
    assert dict(entries.items()) == {"xx": 1, "yy": 2}
    assert list(entries) == ["xx", "yy"]
    assert "xx" in entries
    del entries["xx"]
    entries.remove("never there")
    assert list(entries.values()) == [2]
    entries.clear()
    assert entries.is_empty()


@pytest.mark.parametrize("reduce", [Longest(), lambda a, b: max(a, b, key=len)])
def test_reducing_combines_what_is_added(subtask: SubtaskState, reduce: Any) -> None:
    state: Any = subtask.keyed(UID, ReducingStateDescriptor("r", reduce))
    with_key(subtask, "a")
    assert state.get() is None
    for word in ("bb", "a", "ccc", "dd"):
        state.add(word)
    with_key(subtask, "b")
    state.add("z")
    assert state.get() == "z"
    with_key(subtask, "a")
    assert state.get() == "ccc"
    state.clear()
    assert state.get() is None


def test_aggregating_keeps_the_accumulator_and_gives_the_result(subtask: SubtaskState) -> None:
    state: Any = subtask.keyed(UID, AggregatingStateDescriptor("g", Average()))
    with_key(subtask, "a")
    assert state.get() is None
    for number in (1, 2, 6):
        state.add(number)
    assert state.get() == 3.0
    assert subtask.contents(UID, "g") == {"a": (9, 3)}
    state.clear()
    assert state.get() is None


def test_broadcast_state_is_the_same_for_every_key(subtask: SubtaskState) -> None:
    rules: Any = subtask.broadcast(UID, MapStateDescriptor("rules"))
    rules.put("limit", 5)
    for key in ("a", "b"):
        with_key(subtask, key)
        assert subtask.broadcast(UID, MapStateDescriptor("rules")).get("limit") == 5  # type: ignore[attr-defined]
    keyed: Any = subtask.keyed(UID, MapStateDescriptor("rules"))
    assert keyed.is_empty()


def test_operators_do_not_share_state(subtask: SubtaskState) -> None:
    for uid in ("one", "two"):
        subtask.scope(uid).key = "a"
        value: Any = subtask.keyed(uid, ValueStateDescriptor("v"))
        assert value.value() is None
        value.update(uid)
    assert subtask.contents("one", "v") == {"a": "one"}


def test_the_names_in_a_map_become_their_new_type(subtask: SubtaskState) -> None:
    with_key(subtask, "k")
    subtask.keyed(UID, MapStateDescriptor("map", Types.INT(), Types.STRING())).put(1, "one")
    other = SubtaskState(logged=True, clock=lambda: 0)
    other.apply(subtask.take_changes())
    other.reconcile(subtask.described(), by_others=False)
    read = other.keyed(UID, MapStateDescriptor("map", Types.DOUBLE(), Types.STRING()))
    with_key(other, "k")
    assert str(read.items()) == "[(1.0, 'one')]"


def test_a_name_stands_for_one_kind_of_state(subtask: SubtaskState) -> None:
    subtask.keyed(UID, ValueStateDescriptor("s"))
    subtask.keyed(UID, ReducingStateDescriptor("s", max))
    with pytest.raises(InvalidArgument, match="'s' is a value state, not a list state"):
        subtask.keyed(UID, ListStateDescriptor("s"))
    with pytest.raises(TypeMismatch, match="descriptor was expected"):
        subtask.keyed(UID, "s")  # type: ignore[arg-type]


def test_changes_and_snapshots_carry_all_state_and_timers(subtask: SubtaskState) -> None:
    value: Any = subtask.keyed(UID, ValueStateDescriptor("v"))
    items: Any = subtask.keyed("other", ListStateDescriptor("l"))
    for key in range(5):
        with_key(subtask, key)
        subtask.scope("other").key = key
        value.update(key)
        items.add(key)
        subtask.timers(UID).register("event", key)
    for changes in ([subtask.take_changes()], list(subtask.snapshot(2))):
        restored = SubtaskState(logged=True, clock=lambda: 0)
        for part in changes:
            restored.apply(part)
        assert restored.contents(UID, "v") == {key: key for key in range(5)}
        assert restored.contents("other", "l") == {key: [key] for key in range(5)}
        assert restored.timers(UID).pending("event") == [(key, key) for key in range(5)]
        assert restored.take_changes() == []
        restored.reset()
        assert restored.contents(UID, "v") == {}
