"""Event time in rounds: all records come before time moves on, and who holds it back."""

from __future__ import annotations

from ast import literal_eval
from typing import Any

import pytest

from headrace.common import Duration, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.memory.network import Disk
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.spark.flow import worker
from tests.unit.flow.round_network import Printed, RoundNetwork, Workers, run_round
from tests.unit.memory.split_rows import Rows

NEVER = -(1 << 63)
BEGINNING = 1_000_000
"""When a job starts, by its clock."""


class OfValue(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class Seen(KeyedProcessFunction):
    """Yields each record with the watermark it saw, and again when its time has come."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timer_service().current_watermark()
        ctx.timer_service().register_event_time_timer(value)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield "timer", timestamp


class Files(Rows):
    """Splits that come and go."""

    splits_end = True


def planned(
    source: Any,
    idle_after: int | None = None,
    function: KeyedProcessFunction | None = None,
    beside: Any = None,
) -> PhysicalPlan:
    """`beside`: another source, whose records come to the same function."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(OfValue())
    if idle_after is not None:
        strategy = strategy.with_idleness(Duration.of_millis(idle_after))
    stream = env.from_source(source, strategy, "in", type_info=Types.LONG())
    if beside is not None:
        stream = stream.union(env.from_source(beside, strategy, "beside", type_info=Types.LONG()))
    # All records are of one key, at one slot.
    seen = stream.key_by(lambda value: 0).process(function or Seen())
    seen.uid("seen").print()
    return plan(env.builder.peek("job", parallelism=2, max_parallelism=8))


class Job:
    """A job whose clock a test moves; without more ado each task stays in its worker."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, source: Any, **how: Any):
        self.now = BEGINNING
        monkeypatch.setattr(worker, "wall_clock", lambda: self.now)
        self._plan = planned(source, **how)
        self._disk, self._printed, self.workers = Disk(), Printed(), Workers()
        self.start()

    def start(self) -> None:
        self.network = RoundNetwork(self._plan, self._disk, self._printed, self.workers)

    def run(self, worker: int = 0, portions: Any = None) -> list[Any]:
        run_round(self.network, portions, lambda task: worker)
        assert self.network.rounds.is_complete
        lines = self._printed.take()
        return [literal_eval(line.partition("> ")[2] or line) for line in lines]

    def run_empty(self, worker: int = 0) -> list[Any]:
        """A round that is due though no source has anything new."""
        return self.run(worker, {})

    @property
    def wake_at(self) -> int | None:
        return self.network.rounds.wake_at


@pytest.fixture
def start(monkeypatch):
    return lambda source, **how: Job(monkeypatch, source, **how)


def test_all_records_of_a_round_come_before_time_moves_on(start):
    job = start(Rows({"a": [[10, 30], [60]], "b": [[20, 5], [50]]}))
    found = job.run()
    assert sorted(found[:4]) == [(5, NEVER), (10, NEVER), (20, NEVER), (30, NEVER)]
    assert found[4:] == [("timer", 5), ("timer", 10)]  # monotonous: up to just before 20
    found = job.run()
    assert sorted(found[:2]) == [(50, 19), (60, 19)]
    # Both splits have come to their end.
    assert found[2:] == [("timer", at) for at in (20, 30, 50, 60)]


def test_a_silent_split_holds_time_back(start):
    job = start(Rows({"busy": [[10], [20], [30]], "silent": [[], [], [5]]}))
    assert job.run() == [(10, NEVER)]
    assert job.run() == [(20, NEVER)]
    found = job.run()
    assert sorted(found[:2]) == [(5, NEVER), (30, NEVER)]


def test_a_split_that_has_come_to_its_end_does_not(start):
    job = start(Rows({"long": [[10], [20], [30]], "short": [[5]]}))
    found = job.run()
    assert sorted(found[:2]) == [(5, NEVER), (10, NEVER)]
    assert found[2:] == [("timer", 5)]
    assert job.run() == [(20, 9), ("timer", 10)]


class TestSplitsThatComeAndGo:
    def test_they_hold_nobody_back_once_they_are_read(self, start):
        job = start(Files({"first": [[10]], "second": [[], [50]]}))
        assert job.run() == [(10, NEVER)]
        assert job.run_empty() == []
        found = job.run()
        assert found[0] == (50, 9)

    def test_of_those_that_are_read_together_the_time_is_that_of_the_furthest(self, start):
        job = start(Files({"late": [[10], [100]], "early": [[70], []]}))
        found = job.run()
        assert sorted(found[:2]) == [(10, NEVER), (70, NEVER)]
        assert found[2:] == [("timer", 10)]
        assert job.run()[0] == (100, 69)

    def test_between_sources_the_least_counts_though_all_of_them_rest(self, start):
        more = [[], [100]]
        job = start(Files({"far": [[99], *more]}), beside=Files({"near": [[4], *more]}))
        found = job.run()
        assert sorted(found) == [(4, NEVER), (99, NEVER)]  # up to just before 4
        assert job.run_empty() == []
        assert job.run_empty() == []

    def test_a_source_is_idle_when_nothing_has_come_for_long(self, start):
        more = [[], [100]]
        far, near = Files({"far": [[99], *more]}), Files({"near": [[4], *more]})
        job = start(far, beside=near, idle_after=1000)
        job.run()
        assert job.wake_at == BEGINNING + 1000
        job.now += 1000
        assert job.run_empty() == [("timer", 4)]

    def test_a_task_without_any_rests(self, start):
        job = start(Files({"only": [[10], [20], [30]]}))
        assert job.run() == [(10, NEVER)]
        assert job.run() == [(20, 9), ("timer", 10)]


class TestIdleness:
    ROWS = {"busy": [[10], [20], [30], [40]], "silent": [[1], [], [], [25]]}  # noqa: RUF012

    def test_a_split_is_idle_when_its_time_is_up(self, start):
        job = start(Rows(self.ROWS), idle_after=250)
        assert sorted(job.run()) == [(1, NEVER), (10, NEVER)]
        job.now += 100
        assert job.run() == [(20, 0)]
        job.now += 200
        assert job.run() == [(30, 0), ("timer", 1), ("timer", 10), ("timer", 20)]

    def test_a_round_is_due_when_it_will_be(self, start):
        job = start(Rows(self.ROWS), idle_after=250)
        job.run()
        assert job.wake_at == BEGINNING + 250
        job.now += 100
        job.run()
        assert job.wake_at == BEGINNING + 250
        job.now = job.wake_at
        assert job.run_empty() == [("timer", 1), ("timer", 10)]
        assert job.wake_at == BEGINNING + 350  # the busy one may be idle, too
        job.now = job.wake_at
        job.run_empty()
        assert job.wake_at is None

    def test_who_was_idle_and_comes_back_takes_nothing_back(self, start):
        job = start(Rows(self.ROWS), idle_after=250)
        for _ in range(3):
            job.run()
            job.now += 300
        found = job.run()
        assert sorted(found[:2]) == [(25, 29), (40, 29)]

    def test_who_comes_back_holds_time_back_again(self, start):
        rows = {"busy": [[10], [20], [60], [80]], "back": [[1], [], [50], []]}
        job = start(Rows(rows), idle_after=250)
        job.run()
        job.now += 300
        assert job.run()[0] == (20, 0)
        job.now += 10
        assert sorted(job.run()[:2]) == [(50, 19), (60, 19)]
        job.now += 10
        assert job.run()[0] == (80, 49)


class TestTasksThatMove:
    """A source task that runs in another worker than before knows the time of its splits."""

    def test_the_time_of_a_silent_split_is_known_everywhere(self, start):
        job = start(Rows({"busy": [[10], [20], [30], [40]], "silent": [[5], [], [], []]}))
        job.run(0)
        assert job.run(1) == [(20, 4)]
        assert job.run(0) == [(30, 4)]

    def test_when_a_split_was_heard_of_is_known_everywhere(self, start):
        rows = {"busy": [[10], [20], [30], [40]], "silent": [[1], [], [], []]}
        job = start(Rows(rows), idle_after=250)
        job.run(0)
        job.now += 100
        job.run(1)
        assert job.wake_at == BEGINNING + 250
        job.now += 200
        assert job.run(0) == [(30, 0), ("timer", 1), ("timer", 10), ("timer", 20)]

    @pytest.mark.parametrize("elsewhere", [0, 1])
    def test_what_others_have_said_meanwhile_is_not_forgotten(self, start, elsewhere):
        """It comes back from being idle in a worker that has never heard that it was."""
        rows = {"busy": [[10], [20], [60], [80]], "back": [[5], [], [5], []]}
        job = start(Rows(rows), idle_after=250)
        job.run(0)
        job.now += 300
        job.run(elsewhere)
        job.now += 10
        job.run(0)
        job.now += 10
        assert job.run(0)[0] == (80, 19)

    def test_time_goes_on_after_a_restart(self, start):
        job = start(Rows({"busy": [[10], [20], [30]], "silent": [[5], [], []]}))
        job.run()
        job.start()
        assert job.run() == [(20, 4)]


class Waits(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_processing_time_timer(BEGINNING + value)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield "timer", timestamp - BEGINNING


def test_timers_of_the_clock_wake_a_job_up(start):
    job = start(Rows({"a": [[50, 70], [60]]}), function=Waits())
    assert job.run() == []
    assert job.wake_at == BEGINNING + 50
    job.now = BEGINNING + 55
    assert job.run_empty() == [("timer", 50)]
    assert job.wake_at == BEGINNING + 70
