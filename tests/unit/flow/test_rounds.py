"""What the driver tells the tasks of a round, and what it makes of their answers."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import DiscardingSink
from headrace.errors import JobFailed
from headrace.memory.network import Disk, _Checkpoints
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.runtime.driver_items import PROGRESS
from headrace.runtime.flow.coordinator import CheckpointSettings
from headrace.runtime.flow.master import Beginning, Superseded, Surroundings
from headrace.runtime.flow.messages import (
    Acknowledged,
    Begin,
    Ended,
    Hello,
    SlotFiles,
    StateFile,
    TaskId,
    TaskPart,
)
from headrace.runtime.flow.round_sources import Portion, SplitRounds
from headrace.runtime.flow.rounds import Rounds
from headrace.testing.sources import ScriptedSource

SHORT, LONG = TaskId(0, 0), TaskId(0, 1)
SLOT = TaskId(1, 0)
SHORT_SOURCE = ScriptedSource([["a"]])
LONG_SOURCE = ScriptedSource([["b"], ["c"], ["d"]])


@pytest.fixture(scope="module")
def physical() -> PhysicalPlan:
    """Two sources, one of which ends before the other, and a slot after them."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    streams = [
        env.from_source(source, WatermarkStrategy.no_watermarks(), name, type_info=Types.STRING())
        for source, name in ((SHORT_SOURCE, "short"), (LONG_SOURCE, "long"))
    ]
    united = streams[0].uid("short").union(streams[1].uid("long"))
    united.key_by(lambda value: value).map(lambda value: value).sink_to(DiscardingSink())
    return plan(env.builder.peek("job", parallelism=1, max_parallelism=8))


class Listening:
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def begun(self, number: int) -> None:
        self.heard.append(("begun", number))

    def failed(self, number: int, reason: str) -> None:
        self.heard.append(("failed", number, reason))

    def arrived(self, number: int, items: list[Any]) -> None:
        if items:
            self.heard.append(("arrived", number, [kind for _, _, kind, _ in items]))

    def committed(self, number: int) -> None:
        self.heard.append(("committed", number))

    def told(self, items: list[Any]) -> None:
        raise AssertionError("nothing is said beside checkpoints")


class Driver:
    """Rounds of the job, whose tasks answer what a test says."""

    def __init__(self, physical: PhysicalPlan, disk: Disk | None = None, **settings: int):
        self.disk = disk or Disk()
        self.disk.attempts += 1
        self._sent: list[tuple[TaskId, Any]] = []
        self.listener = Listening()
        self.rounds = Rounds(
            Beginning(physical, self.disk.attempts, self.disk.last()),
            Surroundings(
                _Checkpoints(self.disk),
                self.listener,
                lambda task, message: self._sent.append((task, message)),
            ),
            CheckpointSettings(**settings),
            lambda saved: [
                SplitRounds(vertex, [task], vertex.source.source, saved.get(vertex.uid, {}))  # type: ignore[union-attr]
                for vertex, task in zip(physical.sources, (SHORT, LONG), strict=True)
            ],
        )

    def begin_round(self) -> int:
        portions: dict[TaskId, Portion] = {}
        for source in self.rounds.sources:
            if not source.over:
                portions.update(source.hand_over(None, ()))
        return self.rounds.begin_round(0.0, portions)

    def begin(self, task: TaskId) -> Begin:
        self.rounds.take_in(task, Hello(task), 0.0)
        to, begin = self._sent.pop()
        assert to == task
        assert isinstance(begin, Begin)
        return begin

    def acknowledge(self, task: TaskId, number: int, **part: Any) -> None:
        self.rounds.take_in(task, Acknowledged(task, number, TaskPart(**part)), 0.0)

    def end(self, task: TaskId, **part: Any) -> None:
        self.rounds.take_in(task, Ended(task, TaskPart(**part)), 0.0)

    def run_first(self, **slot: Any) -> None:
        """The first round, in which the short source comes to its end."""
        number = self.begin_round()
        for task in (SHORT, LONG, SLOT):
            self.begin(task)
        self.end(SHORT)
        self.acknowledge(LONG, number)
        self.acknowledge(SLOT, number, **slot)


@pytest.fixture
def driver(physical: PhysicalPlan) -> Driver:
    return Driver(physical)


def test_who_was_followed_while_it_committed_tells_no_source(driver, monkeypatch):
    """A driver may sleep there, and its sources know of later checkpoints when it wakes up."""
    told: list[Any] = []
    for source in driver.rounds.sources:
        monkeypatch.setattr(source, "checkpoint_completed", told.append)
    driver.run_first()
    assert told == [{"script": [None, 1]}] * 2
    begin_another = lambda number: setattr(driver.disk, "attempts", 2)  # noqa: E731
    monkeypatch.setattr(driver.listener, "committed", begin_another)
    driver.begin_round()
    for task in (LONG, SLOT):
        driver.begin(task)
    driver.acknowledge(LONG, 2)
    with pytest.raises(Superseded):
        driver.acknowledge(SLOT, 2)
    assert len(told) == 2


def test_each_source_task_hears_what_to_read_and_whether_that_is_all(driver):
    driver.begin_round()
    short, long, slot = (driver.begin(task).round for task in (SHORT, LONG, SLOT))
    assert [(each.start, each.end) for each in short.ranges] == [(0, 1)]
    assert [(each.start, each.end) for each in long.ranges] == [(0, 1)]
    assert (short.ends, long.ends, slot.ends) == (True, False, False)
    assert slot.ranges == ()


def test_a_task_that_is_begun_twice_in_a_round_fails_the_attempt(driver):
    driver.begin_round()
    driver.begin(SLOT)
    with pytest.raises(JobFailed, match="task 1-0 was begun a second time") as caught:
        driver.begin(SLOT)
    assert "goes on from the last one" in str(caught.value.hint)


def test_a_task_is_begun_once_in_each_round(driver):
    driver.run_first()
    driver.begin_round()
    assert driver.begin(SLOT).checkpoint == 2


def test_a_round_is_a_checkpoint_when_all_have_done_their_part(driver):
    number = driver.begin_round()
    for task in (SHORT, LONG, SLOT):
        driver.begin(task)
    assert not driver.rounds.has_heard_all_of(LONG)
    driver.end(SHORT, items=((1, 0, "commit", []),))
    driver.acknowledge(LONG, number)
    assert driver.rounds.has_heard_all_of(LONG)
    assert not driver.rounds.is_complete
    assert not driver.disk.checkpoints
    driver.acknowledge(SLOT, number, items=((2, 0, "collect", []),))
    assert driver.rounds.is_complete
    assert driver.listener.heard == [
        ("begun", 1),
        ("arrived", 1, ["commit", "collect"]),
        ("committed", 1),
    ]
    assert driver.disk.last().number == 1


def test_who_was_not_begun_has_nothing_to_say(driver):
    driver.run_first()
    driver.begin_round()
    assert driver.rounds.has_heard_all_of(SHORT)
    assert driver.rounds.has_heard_all_of(LONG)  # a worker may go before its task begins
    driver.begin(LONG)
    assert not driver.rounds.has_heard_all_of(LONG)


def test_a_source_task_that_has_ended_is_not_begun_again_and_those_after_it_know(driver):
    assert driver.rounds.reading == [SHORT, LONG]
    driver.run_first()
    driver.begin_round()
    assert driver.rounds.reading == [LONG]
    assert driver.begin(SLOT).round.over == {SHORT.number}
    assert driver.begin(LONG).round.over == frozenset()


def test_the_slot_of_a_source_that_ends_in_this_round_hears_of_it_by_the_stream(driver):
    driver.begin_round()
    driver.begin(SHORT)
    driver.end(SHORT)
    assert driver.begin(SLOT).round.over == frozenset()


def test_what_an_ended_task_had_to_say_counts_once(driver):
    number = driver.begin_round()
    for task in (SHORT, LONG, SLOT):
        driver.begin(task)
    driver.end(SHORT, items=((1, 0, "commit", ["x"]),))
    driver.acknowledge(LONG, number)
    driver.acknowledge(SLOT, number)
    number = driver.begin_round()
    driver.acknowledge(LONG, number)
    driver.acknowledge(SLOT, number)
    arrived = [each for each in driver.listener.heard if each[0] == "arrived"]
    assert driver.rounds.last == 2
    assert arrived == [("arrived", 1, ["commit"])]


def test_a_job_is_over_when_all_its_tasks_have_ended(driver):
    driver.run_first()
    for number in (2, 3):
        driver.begin_round()
        last = driver.begin(LONG).round.ends
        assert last == (number == 3)
        if not last:
            driver.acknowledge(LONG, number)
            driver.acknowledge(SLOT, number)
    driver.end(LONG)
    assert not driver.rounds.ended
    driver.end(SLOT, state=SlotFiles())
    assert driver.rounds.ended
    assert driver.rounds.is_complete
    assert driver.disk.last().positions["long"] == {"script": [None, 3]}


def test_a_task_is_given_its_files_as_of_the_round_before(driver):
    files = SlotFiles((StateFile("1-1-0-1", 3, 5),))
    assert driver.begin_round() == 1
    assert (driver.begin(SLOT).state, driver.begin(LONG).restored) == (None, None)
    driver.begin(SHORT)
    driver.end(SHORT)
    driver.acknowledge(LONG, 1)
    driver.acknowledge(SLOT, 1, state=files)
    driver.begin_round()
    begin = driver.begin(SLOT)
    assert (begin.state, begin.restored, begin.checkpoint) == (files, 1, 2)
    assert driver.begin(LONG).state is None


def test_the_next_attempt_goes_on_where_the_last_checkpoint_was(driver, physical):
    driver.run_first(state=SlotFiles((StateFile("1-1-0-1", 3, 5),)))
    driver.begin_round()  # which comes to nothing
    again = Driver(physical, driver.disk)
    assert again.begin_round() == 2
    assert [(e.start, e.end) for e in again.begin(LONG).round.ranges] == [(1, 2)]
    slot = again.begin(SLOT)
    assert (slot.attempt, slot.restored) == (2, 1)
    assert slot.state.files[0].name == "1-1-0-1"
    # The source that had come to its end does so once more: its task is another one.
    assert again.begin(SHORT).round.ends
    assert slot.round.over == frozenset()


def test_positions_are_those_of_what_was_handed_over(driver):
    driver.run_first()
    assert driver.disk.last().positions == {
        "short": {"script": [None, 1]},
        "long": {"script": [None, 1]},
    }


class TestWakingUp:
    def test_the_earliest_time_of_any_task_counts(self, driver):
        assert driver.rounds.wake_at is None
        number = driver.begin_round()
        driver.end(SHORT)
        driver.acknowledge(LONG, number, wake_at=70)
        assert driver.rounds.wake_at is None
        driver.acknowledge(SLOT, number, wake_at=50)
        assert driver.rounds.wake_at == 50

    def test_each_round_says_anew_when_the_next_is_due(self, driver):
        driver.run_first(wake_at=50)
        assert driver.rounds.wake_at == 50
        number = driver.begin_round()
        driver.acknowledge(LONG, number)
        driver.acknowledge(SLOT, number)
        assert driver.rounds.wake_at is None


class TestTimesOfSplits:
    """Source tasks keep no state: what they said of time is given back to them."""

    def test_they_are_given_back_to_the_task(self, driver):
        splits = {"script": (17, 5)}
        driver.begin_round()
        assert driver.begin(LONG).round.times == {}
        driver.end(SHORT)
        driver.acknowledge(LONG, 1, items=((4, 0, PROGRESS, splits),))
        driver.acknowledge(SLOT, 1, items=((9, 0, PROGRESS, {"": (3, 1)}),))
        driver.begin_round()
        assert driver.begin(LONG).round.times == {4: splits}
        assert driver.begin(SLOT).round.times == {}  # it has them in its state

    def test_who_says_nothing_new_is_given_what_it_said_before(self, driver):
        driver.begin_round()
        driver.end(SHORT)
        driver.acknowledge(LONG, 1, items=((4, 0, PROGRESS, {"script": (17, 5)}),))
        driver.acknowledge(SLOT, 1)
        number = driver.begin_round()
        driver.acknowledge(LONG, number)
        driver.acknowledge(SLOT, number)
        driver.begin_round()
        assert driver.begin(LONG).round.times == {4: {"script": (17, 5)}}


def test_sources_are_closed_with_the_attempt(driver, monkeypatch):
    closed = []
    monkeypatch.setattr(SplitRounds, "close", lambda self: closed.append(self.vertex.uid))
    driver.rounds.close()
    assert closed == ["short", "long"]


class TestRoundsThatTakeTooLong:
    def finish(self, driver: Driver, number: int, *tasks: TaskId) -> None:
        for task in tasks:
            driver.begin(task)
            driver.acknowledge(task, number)

    def failures(self, driver: Driver) -> list[int]:
        return [number for word, number, *_ in driver.listener.heard if word == "failed"]

    def test_they_count_as_failed_and_go_on(self, physical):
        driver = Driver(physical, interval=1, timeout=5000, tolerable_failures=1)
        number = driver.begin_round()
        driver.rounds.look_at_clock(4.9)
        assert self.failures(driver) == []
        driver.rounds.look_at_clock(5.0)
        driver.rounds.look_at_clock(6.0)
        assert driver.listener.heard[-1] == ("failed", 1, "took longer than 5 s")
        self.finish(driver, number, SHORT, LONG, SLOT)
        assert driver.rounds.is_complete
        driver.begin_round()
        with pytest.raises(JobFailed, match="2 checkpoints in a row have failed: the last one too"):
            driver.rounds.look_at_clock(5.0)
        assert self.failures(driver) == [1, 2]

    def test_one_in_time_makes_up_for_those_before(self, physical):
        driver = Driver(physical, interval=1, timeout=5000, tolerable_failures=1)
        for now in (5.0, 4.0, 5.0):
            number = driver.begin_round()
            driver.rounds.look_at_clock(now)
            self.finish(driver, number, SHORT, LONG, SLOT)
        assert self.failures(driver) == [1, 3]

    def test_none_is_tolerated_unless_that_is_said(self, physical):
        driver = Driver(physical, interval=1, timeout=20)
        driver.begin_round()
        with pytest.raises(JobFailed, match=r"a checkpoint took longer than 0\.02 s") as caught:
            driver.rounds.look_at_clock(0.02)
        assert "execution.checkpointing.timeout" in str(caught.value.hint)

    def test_a_job_that_asked_for_no_checkpoints_may_take_its_time(self, physical):
        driver = Driver(physical, timeout=20)
        driver.begin_round()
        driver.rounds.look_at_clock(1e9)
        assert self.failures(driver) == []
