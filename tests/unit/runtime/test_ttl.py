"""State with a time to live, under a clock the test moves."""

from typing import Any

import pytest

from headrace.core.functions import AggregateFunction
from headrace.core.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from headrace.core.state_ttl import StateTtlConfig
from headrace.core.time import Duration, Time
from headrace.errors import InvalidArgument
from headrace.runtime.subtask_state import SubtaskState

UID = "operator"
TTL = 10


class Subtask:
    """A subtask's state, its clock and its current key."""

    def __init__(self) -> None:
        self.now = 0
        self.state = SubtaskState(logged=True, clock=lambda: self.now)
        self.key("a")

    def key(self, key: Any) -> None:
        self.state.scope(UID).key = key

    def keyed(self, descriptor: StateDescriptor, config: StateTtlConfig) -> Any:
        descriptor.enable_time_to_live(config)
        return self.state.keyed(UID, descriptor)

    def stored(self, name: str) -> dict[Any, Any]:
        return self.state.contents(UID, name)


def ttl() -> Any:
    """A builder of a configuration that sweeps nothing in the background."""
    return StateTtlConfig.new_builder(Duration.of_millis(TTL)).disable_cleanup_in_background()


@pytest.fixture
def subtask() -> Subtask:
    return Subtask()


def test_a_value_lives_until_its_time_is_over(subtask: Subtask) -> None:
    value = subtask.keyed(ValueStateDescriptor("v"), ttl().build())
    value.update(1)
    subtask.now = TTL - 1
    assert value.value() == 1
    subtask.now = TTL
    assert value.value() is None
    assert subtask.stored("v") == {}


def test_writing_makes_a_value_young_and_reading_does_not(subtask: Subtask) -> None:
    value = subtask.keyed(ValueStateDescriptor("v"), ttl().build())
    value.update(1)
    subtask.now = 6
    assert value.value() == 1
    value.update(2)
    subtask.now = 15
    assert value.value() == 2
    subtask.now = 16
    assert value.value() is None


def test_reading_makes_a_value_young_if_asked_for(subtask: Subtask) -> None:
    value = subtask.keyed(ValueStateDescriptor("v"), ttl().update_ttl_on_read_and_write().build())
    value.update(1)
    for subtask.now in (9, 18, 27):
        assert value.value() == 1
    subtask.now = 37
    assert value.value() is None


def test_an_expired_value_may_be_shown_once(subtask: Subtask) -> None:
    config = ttl().return_expired_if_not_cleaned_up().build()
    value = subtask.keyed(ValueStateDescriptor("v"), config)
    value.update(1)
    subtask.now = 100
    assert value.value() == 1
    assert value.value() is None


def test_a_disabled_time_to_live_changes_nothing(subtask: Subtask) -> None:
    config = ttl().set_update_type(StateTtlConfig.UpdateType.Disabled).build()
    value = subtask.keyed(ValueStateDescriptor("v"), config)
    value.update(1)
    subtask.now = 1000
    assert value.value() == 1


def test_the_time_to_live_can_be_set_again_and_must_be_positive(subtask: Subtask) -> None:
    value = subtask.keyed(ValueStateDescriptor("v"), ttl().set_ttl(Time.seconds(1)).build())
    value.update(1)
    subtask.now = 999
    assert value.value() == 1
    subtask.now = 1000
    assert value.value() is None
    for wrong in (Duration.of_millis(0), 5):
        with pytest.raises(InvalidArgument, match="time to live"):
            ttl().set_ttl(wrong)


def test_none_and_clear_forget_at_once(subtask: Subtask) -> None:
    value = subtask.keyed(ValueStateDescriptor("v"), ttl().build())
    for forget in (lambda: value.update(None), value.clear):
        value.update(1)
        forget()
        assert value.value() is None
        assert subtask.stored("v") == {}


def test_keys_age_apart(subtask: Subtask) -> None:
    value = subtask.keyed(ValueStateDescriptor("v"), ttl().build())
    value.update("old")
    subtask.now = 5
    subtask.key("b")
    value.update("new")
    subtask.now = 12
    assert value.value() == "new"
    subtask.key("a")
    assert value.value() is None


def test_elements_of_a_list_expire_one_by_one(subtask: Subtask) -> None:
    items = subtask.keyed(ListStateDescriptor("l"), ttl().build())
    items.add(1)
    subtask.now = 5
    items.add_all([2, 3])
    subtask.now = 10
    assert list(items.get()) == [2, 3]
    assert len(subtask.stored("l")["a"]) == 2
    subtask.now = 15
    assert list(items.get()) == []
    assert subtask.stored("l") == {}
    items.update([4])
    subtask.now = 24
    assert list(items) == [4]


def test_a_list_read_is_young_and_an_expired_one_may_be_shown(subtask: Subtask) -> None:
    young = subtask.keyed(ListStateDescriptor("y"), ttl().update_ttl_on_read_and_write().build())
    shown = subtask.keyed(
        ListStateDescriptor("s"), ttl().return_expired_if_not_cleaned_up().build()
    )
    young.add(1)
    shown.add(1)
    subtask.now = 9
    assert young.get() == [1]
    shown.add(2)
    subtask.now = 18
    assert young.get() == [1]
    assert shown.get() == [1, 2]
    assert shown.get() == [1, 2]


def test_entries_of_a_map_expire_one_by_one(subtask: Subtask) -> None:
    entries = subtask.keyed(MapStateDescriptor("m"), ttl().build())
    entries.put("x", 1)
    subtask.now = 5
    entries.put_all({"y": 2, "z": None})
    subtask.now = 10
    assert entries.get("x") is None
    assert not entries.contains("x")
    assert dict(entries.items()) == {"y": 2, "z": None}
    assert entries.contains("z")
    assert (set(entries.keys()), "y" in entries) == ({"y", "z"}, True)
    entries.remove("z")
    assert list(entries.values()) == [2]
    subtask.now = 15
    assert entries.is_empty()
    assert subtask.stored("m") == {}


def test_a_map_entry_read_is_young_and_an_expired_one_may_be_shown(subtask: Subtask) -> None:
    young = subtask.keyed(MapStateDescriptor("y"), ttl().update_ttl_on_read_and_write().build())
    shown = subtask.keyed(MapStateDescriptor("s"), ttl().return_expired_if_not_cleaned_up().build())
    young.put_all({"read": 1, "left": 2}.items())
    shown.put("x", 1)
    subtask.now = 9
    assert young.get("read") == 1
    subtask.now = 18
    assert dict(young.items()) == {"read": 1}
    subtask.now = 27
    assert dict(young.items()) == {"read": 1}
    assert shown.get("x") == 1
    assert shown.get("x") is None


class Sum(AggregateFunction):
    def create_accumulator(self) -> list[int]:
        return [0]

    def add(self, value: int, accumulator: list[int]) -> list[int]:
        return [accumulator[0] + value]

    def get_result(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return [acc_a[0] + acc_b[0]]


@pytest.mark.parametrize(
    "descriptor",
    [ReducingStateDescriptor("s", lambda a, b: a + b), AggregatingStateDescriptor("s", Sum())],
    ids=["reducing", "aggregating"],
)
def test_a_combined_value_starts_again_after_it_expired(
    subtask: Subtask, descriptor: StateDescriptor
) -> None:
    total = subtask.keyed(descriptor, ttl().build())
    total.add(1)
    subtask.now = 9
    total.add(2)
    assert total.get() == 3
    subtask.now = 19
    assert total.get() is None
    total.add(5)
    assert total.get() == 5


@pytest.mark.parametrize("kind", ["value", "list", "map"])
def test_other_keys_are_swept_a_few_at_a_time(subtask: Subtask, kind: str) -> None:
    descriptors = {
        "value": ValueStateDescriptor("s"),
        "list": ListStateDescriptor("s"),
        "map": MapStateDescriptor("s"),
    }
    write = {"value": "update", "list": "add", "map": "put"}[kind]
    arguments = ("entry", 1) if kind == "map" else (1,)
    state = subtask.keyed(descriptors[kind], ttl().cleanup_incrementally(3, False).build())
    for key in (*range(50), None, *range(50, 100)):
        subtask.key(key)
        getattr(state, write)(*arguments)
    subtask.now = TTL
    subtask.key("current")
    previous = len(subtask.stored("s"))
    for _ in range(80):
        getattr(state, write)(*arguments)
        remaining = len(subtask.stored("s"))
        assert previous - remaining <= 3
        previous = remaining
    assert set(subtask.stored("s")) == {"current"}


def test_sweeping_is_on_unless_it_is_disabled(subtask: Subtask) -> None:
    default = StateTtlConfig.new_builder(Duration.of_millis(TTL)).build()
    swept = subtask.keyed(ValueStateDescriptor("on"), default)
    kept = subtask.keyed(ValueStateDescriptor("off"), ttl().build())
    for key in range(20):
        subtask.key(key)
        swept.update(1)
        kept.update(1)
    subtask.now = TTL
    subtask.key("current")
    for _ in range(20):
        swept.value()
        kept.value()
    assert len(subtask.stored("on")) == 0
    assert len(subtask.stored("off")) == 20


def test_what_expired_is_gone_from_the_log_as_well(subtask: Subtask) -> None:
    value = subtask.keyed(ValueStateDescriptor("v"), ttl().build())
    value.update(1)
    log = subtask.state.take_changes()
    subtask.now = TTL
    assert value.value() is None
    log += subtask.state.take_changes()
    restored = SubtaskState(logged=True, clock=lambda: 0)
    restored.apply(log)
    assert restored.contents(UID, "v") == {}


def test_expired_elements_of_a_list_are_seen_as_long_as_one_is_fresh(subtask: Subtask) -> None:
    shown = StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    elements = subtask.keyed(ListStateDescriptor("l"), ttl().set_state_visibility(shown).build())
    elements.add(1)
    subtask.now = TTL - 2
    elements.add(2)
    subtask.now = TTL
    assert [elements.get(), elements.get()] == [[1, 2], [1, 2]]
    subtask.now = 2 * TTL
    assert [elements.get(), elements.get()] == [[1, 2], []]


def test_reading_a_list_that_it_makes_young_drops_what_has_expired(subtask: Subtask) -> None:
    config = ttl().set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
    config.set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)
    elements = subtask.keyed(ListStateDescriptor("l"), config.build())
    elements.add(1)
    subtask.now = TTL - 2
    elements.add(2)
    subtask.now = TTL
    assert elements.get() == [2]
    subtask.now = 2 * TTL
    assert [elements.get(), elements.get()] == [[2], []]
