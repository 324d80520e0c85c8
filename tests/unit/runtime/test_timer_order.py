"""Timers of one time fire in the order of registration, restored or not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.operator import EVENT_TIME, KeyScope
from headrace.runtime.timers import TimerQueue

CALLS = st.lists(
    st.tuples(st.sampled_from(["register", "delete"]), st.sampled_from("abc"), st.integers(1, 3))
)


def queue():
    return TimerQueue(KeyScope(), logged=True)


def do(timers, calls):
    for call, key, time in calls:
        timers._scope.key = key
        getattr(timers, call)(EVENT_TIME, time)


def test_a_timer_set_again_is_the_last_of_its_time():
    timers = queue()
    do(timers, [("register", "a", 1), ("register", "b", 1), ("delete", "a", 1)])
    do(timers, [("register", "a", 1), ("register", "b", 1)])
    assert list(timers.due(EVENT_TIME, 1)) == [(1, "b"), (1, "a")]


@given(CALLS, CALLS)
@pytest.mark.parametrize("compact", [False, True])
def test_a_restored_queue_fires_as_the_original(compact, before, after):
    original, restored = queue(), queue()
    do(original, before)
    changes = [original.take_changes()]
    do(original, after)
    changes.append(original.take_changes())
    if compact:
        changes = list(original.snapshot(2))
    for change in filter(None, changes):
        restored.apply(change)
    assert restored.pending(EVENT_TIME) == original.pending(EVENT_TIME)
    assert restored.next_time(EVENT_TIME) == original.next_time(EVENT_TIME)
    assert list(restored.due(EVENT_TIME, 9)) == list(original.due(EVENT_TIME, 9))
