"""When checkpoints are taken, given up and complete."""

from __future__ import annotations

import pytest

from headrace.runtime.flow.coordinator import CheckpointSettings, Coordinator
from headrace.runtime.flow.messages import TaskId, TaskPart

SOURCE, SLOT = TaskId(0, 0), TaskId(1, 0)
DONE = TaskPart()


def said(text: str) -> TaskPart:
    return TaskPart(items=((0, 0, "commit", [text]),))


def ready(**settings: int) -> Coordinator:
    coordinator = Coordinator([SOURCE, SLOT], CheckpointSettings(**settings))
    coordinator.ready(SOURCE)
    coordinator.ready(SLOT)
    return coordinator


def complete(coordinator: Coordinator, number: int, now: float) -> None:
    assert coordinator.acknowledge(SOURCE, number, DONE, now) is None
    assert coordinator.acknowledge(SLOT, number, DONE, now) is not None


class TestWhen:
    def test_not_before_all_tasks_have_begun(self):
        coordinator = Coordinator([SOURCE, SLOT], CheckpointSettings(interval=100))
        coordinator.ready(SOURCE)
        assert not coordinator.is_due(1.0)
        coordinator.ready(SLOT)
        assert coordinator.is_due(1.0)

    def test_none_follows_the_one_that_a_job_stops_with(self):
        coordinator = ready(interval=100)
        complete(coordinator, coordinator.trigger(1.0), 1.1)
        assert coordinator.is_due(2.0)
        coordinator.trigger(2.0)
        coordinator.stop()
        complete(coordinator, 2, 2.1)
        assert not coordinator.is_due(1e9)
        assert not coordinator.may_trigger

    def test_only_when_asked_for_without_an_interval(self):
        coordinator = ready()
        assert not coordinator.is_due(1e9)
        assert coordinator.may_trigger

    def test_an_interval_after_the_begin_of_the_last(self):
        coordinator = ready(interval=1000)
        number = coordinator.trigger(10.0)
        complete(coordinator, number, 10.3)
        assert not coordinator.is_due(10.9)
        assert coordinator.next_due(10.9) == pytest.approx(11.0)
        assert coordinator.is_due(11.0)

    def test_a_pause_after_the_end_of_the_last(self):
        coordinator = ready(interval=1000, min_pause=5000)
        complete(coordinator, coordinator.trigger(10.0), 10.3)
        assert not coordinator.is_due(15.2)
        assert coordinator.is_due(15.4)

    def test_as_many_at_once_as_allowed(self):
        coordinator = ready(interval=1, at_most=2)
        coordinator.trigger(1.0)
        assert coordinator.may_trigger
        coordinator.trigger(2.0)
        assert not coordinator.may_trigger

    def test_not_after_all_sources_have_ended(self):
        coordinator = ready(interval=1)
        coordinator.end(SOURCE, DONE, 1.0)
        assert not coordinator.may_trigger


class TestGivenUp:
    def test_what_takes_too_long(self):
        coordinator = ready(interval=1000, timeout=5000)
        number = coordinator.trigger(1.0)
        assert coordinator.overdue(5.9) == []
        assert coordinator.overdue(6.0) == [number]
        assert coordinator.decline(number)
        assert not coordinator.decline(number)
        assert coordinator.under_way == coordinator.overdue(7.0) == []

    def test_what_it_had_prepared_counts_with_the_next(self):
        coordinator = ready()
        lost = coordinator.trigger(1.0)
        coordinator.acknowledge(SLOT, lost, said("before"), 1.0)
        coordinator.decline(lost)
        coordinator.acknowledge(SOURCE, lost, said("late"), 1.1)
        number = coordinator.trigger(2.0)
        coordinator.acknowledge(SOURCE, number, DONE, 2.0)
        done = coordinator.acknowledge(SLOT, number, DONE, 2.0)
        assert done is not None
        assert done.unclaimed == {lost: {SLOT: said("before"), SOURCE: said("late")}}


class TestEnd:
    def test_the_last_part_of_a_task_stands_for_it(self):
        coordinator = ready()
        number = coordinator.trigger(1.0)
        coordinator.acknowledge(SLOT, number, said("slot"), 1.0)
        [done] = coordinator.end(SOURCE, said("source"), 1.1)
        assert done.parts == {SLOT: said("slot"), SOURCE: said("source")}

    def test_what_it_said_is_part_of_one_checkpoint_only(self):
        coordinator = ready()
        coordinator.trigger(1.0)
        coordinator.end(SOURCE, said("source"), 1.0)
        [first] = coordinator.end(SLOT, said("slot"), 1.0)
        last = coordinator.complete_at_end(2.0)
        assert first.parts == {SOURCE: said("source"), SLOT: said("slot")}
        assert last.parts == {SOURCE: DONE, SLOT: DONE}

    def test_what_it_had_acknowledged_before_is_not_forgotten(self):
        coordinator = ready()
        number = coordinator.trigger(1.0)
        coordinator.acknowledge(SLOT, number, said("barrier"), 1.0)
        coordinator.end(SLOT, said("end"), 1.0)
        [done] = coordinator.end(SOURCE, DONE, 1.0)
        assert done.parts[SLOT] == said("barrier")
        assert coordinator.complete_at_end(2.0).parts[SLOT] == said("end")
