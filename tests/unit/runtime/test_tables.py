"""The log of changes, applied in order, gives the state again: for tables and timers."""

import pickle
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.operator import EVENT_TIME, PROCESSING_TIME, KeyScope
from headrace.runtime.tables import TABLES, ListTable, MapTable, Table, ValueTable
from headrace.runtime.timers import TimerQueue

KEYS = st.sampled_from(["a", "b", "c", None, 1, ("t", 1)])
NUMBERS = st.integers(0, 9)
TAKE = st.just(("take",))

value_steps = st.tuples(st.just("put"), KEYS, NUMBERS) | st.tuples(st.just("remove"), KEYS)
list_steps = (
    st.tuples(st.just("append"), KEYS, st.lists(NUMBERS, max_size=3))
    | st.tuples(st.just("put"), KEYS, st.lists(NUMBERS, max_size=3))
    | st.tuples(st.just("put"), KEYS, st.none())
)
map_steps = (
    st.tuples(st.just("put"), KEYS, NUMBERS, NUMBERS)
    | st.tuples(st.just("remove"), KEYS, NUMBERS)
    | st.tuples(st.just("clear"), KEYS)
)


def steps_with_cuts(steps: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(steps | TAKE, max_size=40)


def durable(change: Any) -> Any:
    """A change as it comes back from the log, where the table can no longer touch it."""
    return pickle.loads(pickle.dumps(change))


def run(table: Table, steps: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Do the steps; the changes taken along the way and at the end."""
    log = []
    for name, *arguments in [*steps, ("take",)]:
        if name == "take":
            log.append(durable(table.take_changes()))
        else:
            getattr(table, name)(*durable(arguments))
    assert table.take_changes() is None
    return [change for change in log if change is not None]


def rebuilt(kind: type[Table], changes: Iterable[Any]) -> Table:
    table = kind(logged=True)
    for change in changes:
        table.apply(change)
    assert table.take_changes() is None
    return table


def check(kind: type[Table], steps: list[tuple[Any, ...]], model: Callable[..., None]) -> None:
    table = kind(logged=True)
    expected: dict[Any, Any] = {}
    log = run(table, steps)
    for step in steps:
        model(expected, *step)
    assert table.data == expected
    assert rebuilt(kind, log).data == expected
    for chunk in (1, 2, 100):
        parts = [durable(change) for change in table.snapshot(chunk)]
        assert len(parts) == -(-len(expected) // chunk)
        assert rebuilt(kind, parts).data == expected


def value_model(data: dict[Any, Any], name: str, key: Any = None, value: Any = None) -> None:
    if name == "put":
        data[key] = value
    elif name == "remove":
        data.pop(key, None)


def list_model(data: dict[Any, Any], name: str, key: Any = None, values: Any = None) -> None:
    if name == "put":
        data[key] = list(values or ())
    elif name == "append":
        data[key] = data.get(key, []) + values
    if not data.get(key, True):
        del data[key]


def map_model(data: dict[Any, Any], name: str, key: Any = None, *entry: Any) -> None:
    if name == "put":
        data.setdefault(key, {})[entry[0]] = entry[1]
    elif name == "remove":
        data.get(key, {}).pop(entry[0], None)
    elif name == "clear":
        data.pop(key, None)
    if not data.get(key, True):
        del data[key]


@given(steps_with_cuts(value_steps))
def test_the_log_of_values_gives_them_again(steps: list[Any]) -> None:
    check(ValueTable, steps, value_model)


@given(steps_with_cuts(list_steps))
def test_the_log_of_lists_gives_them_again(steps: list[Any]) -> None:
    check(ListTable, steps, list_model)


@given(steps_with_cuts(map_steps))
def test_the_log_of_maps_gives_them_again(steps: list[Any]) -> None:
    check(MapTable, steps, map_model)


@given(steps_with_cuts(list_steps), st.integers(0, 40))
def test_a_snapshot_and_the_changes_after_it_give_all(steps: list[Any], cut: int) -> None:
    table = ListTable(logged=True)
    run(table, steps[:cut])
    base = [durable(change) for change in table.snapshot(2)]
    later = run(table, steps[cut:])
    assert rebuilt(ListTable, base + later).data == table.data


def test_appending_logs_only_what_was_appended() -> None:
    table = ListTable(logged=True)
    table.append("a", list(range(1000)))
    table.take_changes()
    table.append("a", [1])
    assert table.take_changes() == ({}, {"a": [1]})


def test_changing_a_map_entry_logs_only_that_entry() -> None:
    table = MapTable(logged=True)
    for entry in range(1000):
        table.put("a", entry, entry)
    table.take_changes()
    table.put("a", 7, 70)
    table.remove("a", 8)
    assert table.take_changes() == ([], {"a": {7: 70}}, {"a": [8]})


@pytest.mark.parametrize("kind", TABLES.values(), ids=list(TABLES))
def test_without_a_log_there_are_no_changes(kind: type[Table]) -> None:
    table: Any = kind(logged=False)
    if kind is MapTable:
        table.put("a", "entry", 1)
    else:
        table.put("a", [1])
    assert table.data
    assert table.take_changes() is None


@pytest.mark.parametrize("kind", TABLES.values(), ids=list(TABLES))
def test_reset_forgets_data_and_changes(kind: type[Table]) -> None:
    table: Any = kind(logged=True)
    table.put(*("abc" if kind is MapTable else "ab"))
    table.reset()
    assert table.data == {}
    assert table.take_changes() is None


def test_what_was_never_there_is_not_logged() -> None:
    values, lists, maps = ValueTable(logged=True), ListTable(logged=True), MapTable(logged=True)
    values.remove("a")
    lists.put("a", None)
    lists.append("a", [])
    maps.remove("a", 1)
    maps.clear("a")
    assert [table.take_changes() for table in (values, lists, maps)] == [None] * 3


DOMAINS = st.sampled_from([EVENT_TIME, PROCESSING_TIME])
TIMER_KEYS = st.sampled_from(["a", "b", 1, None])
timer_steps = st.tuples(st.sampled_from(["register", "delete"]), TIMER_KEYS, DOMAINS, NUMBERS)
due_steps = st.tuples(st.just("due"), DOMAINS, NUMBERS)


def timers(changes: Iterable[Any] = ()) -> tuple[TimerQueue, KeyScope]:
    scope = KeyScope()
    queue = TimerQueue(scope, logged=True)
    for change in changes:
        queue.apply(change)
    return queue, scope


def run_timers(steps: list[Any]) -> tuple[TimerQueue, list[Any], set[Any]]:
    """The queue, its log, and the timers that should be set."""
    queue, scope = timers()
    log, alive = [], set()
    for name, *arguments in steps:
        if name == "take":
            log.append(durable(queue.take_changes()))
        elif name == "due":
            domain, upto = arguments
            fired = list(queue.due(domain, upto))
            expected = {(time, key) for d, time, key in alive if d == domain and time <= upto}
            assert [time for time, _ in fired] == sorted(time for time, _ in fired)
            assert (set(fired), len(fired)) == (expected, len(expected))
            alive -= {(domain, *timer) for timer in fired}
        else:
            scope.key, domain, time = arguments
            getattr(queue, name)(domain, time)
            (alive.add if name == "register" else alive.discard)((domain, time, scope.key))
    log.append(durable(queue.take_changes()))
    return queue, [change for change in log if change is not None], alive


def pending(queue: TimerQueue) -> set[Any]:
    domains = (EVENT_TIME, PROCESSING_TIME)
    return {(domain, *timer) for domain in domains for timer in queue.pending(domain)}


@given(st.lists(timer_steps | due_steps | TAKE, max_size=40))
def test_the_log_of_timers_gives_them_again(steps: list[Any]) -> None:
    queue, log, alive = run_timers(steps)
    assert pending(queue) == alive
    assert pending(timers(log)[0]) == alive
    for chunk in (1, 3):
        restored, _ = timers(durable(change) for change in queue.snapshot(chunk))
        assert pending(restored) == alive
        for domain in (EVENT_TIME, PROCESSING_TIME):
            assert restored.next_time(domain) == queue.next_time(domain)
            assert list(restored.due(domain, 9)) == queue.pending(domain)
            assert restored.next_time(domain) is None


def test_timers_of_one_time_fire_in_the_order_of_registration() -> None:
    queue, scope = timers()
    keys = [f"key-{number}" for number in range(20)]
    for key in keys:
        scope.key = key
        queue.register(EVENT_TIME, 5)
        queue.register(EVENT_TIME, 5)
    restored, _ = timers(queue.snapshot(7))
    assert [key for _, key in restored.due(EVENT_TIME, 5)] == keys
    assert [key for _, key in queue.due(EVENT_TIME, 5)] == keys


def test_a_timer_registered_while_timers_fire_fires_too_if_it_is_due() -> None:
    queue, scope = timers()
    scope.key = "a"
    queue.register(EVENT_TIME, 1)
    fired = []
    for timestamp, key in queue.due(EVENT_TIME, 3):
        fired.append((timestamp, key))
        queue.register(EVENT_TIME, timestamp + 1)
    assert fired == [(1, "a"), (2, "a"), (3, "a")]
    assert queue.pending(EVENT_TIME) == [(4, "a")]


def test_timers_need_a_key_and_can_be_reset() -> None:
    queue, scope = timers()
    with pytest.raises(AttributeError):
        queue.register(EVENT_TIME, 1)
    scope.key = "a"
    queue.register(EVENT_TIME, 1)
    queue.reset()
    assert (queue.next_time(EVENT_TIME), queue.take_changes()) == (None, None)
