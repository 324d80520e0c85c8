"""Tasks that workers keep between rounds: one that is behind catches up, or is made anew."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Types, WatermarkStrategy
from headrace.datastream import (
    CheckpointedFunction,
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from headrace.memory.network import Disk
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.runtime.flow.messages import TaskId
from headrace.runtime.flow.sources import with_splits
from headrace.spark.flow import round_worker
from headrace.testing.sources import ScriptedSource
from tests.unit.flow.round_network import Printed, RoundNetwork, Workers, run_round

SLOT = TaskId(1, 0)
A, B = 0, 1


class InFields(ProcessFunction, CheckpointedFunction):
    """Counts in a field of its own; says how it was started, too."""

    def initialize_state(self, context):
        store = context.get_operator_state_store()
        self.kept = store.get_list_state(ListStateDescriptor("count"))
        self.count = sum(self.kept.get())
        self.start = (context.is_restored(), context.get_restored_checkpoint_id())

    def snapshot_state(self, context):
        self.kept.update([self.count])

    def process_element(self, value, ctx):
        self.count += 1
        yield self.count, self.start


class InState(KeyedProcessFunction):
    """Counts in state; says how many records this very object has seen, too."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))
        self.seen = 0

    def process_element(self, value, ctx):
        self.seen += 1
        self.count.update((self.count.value() or 0) + 1)
        yield self.count.value(), self.seen


def planned(rounds: int, make: Any) -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    source = ScriptedSource([["a", "a"]] * rounds)
    stream = env.from_source(
        source, WatermarkStrategy.no_watermarks(), "in", type_info=Types.STRING()
    )
    make(stream).uid("count").print()
    return with_splits(plan(env.builder.take("job", **env._graph_settings())))


class Job:
    """A job of one slot, whose worker is told round by round."""

    def __init__(self, make: Any, rounds: int = 6):
        self._plan = planned(rounds, make)
        self.disk, self.workers, self._printed = Disk(), Workers(), Printed()
        self.start()

    def start(self, run_id: str = "run") -> None:
        self.network = RoundNetwork(
            self._plan, self.disk, self._printed, self.workers, run_id=run_id
        )

    def run(self, worker: int) -> list[str]:
        run_round(self.network, worker=lambda task: worker)
        assert self.network.rounds.is_complete
        return self._printed.take()

    def fail(self, worker: int) -> None:
        """A round whose tasks have done their part, and of which the driver has heard nothing."""
        self.disk.on_save = _die
        with pytest.raises(_Died):
            self.run(worker)
        self.disk.on_save = lambda: None
        self._printed.take()

    def kept(self, worker: int) -> Any:
        return self.workers.kept[worker]["run", SLOT]


class _Died(Exception):
    """The driver is gone."""


def _die() -> None:
    raise _Died


def in_fields(stream):
    return stream.process(InFields())


def in_state(stream):
    return stream.key_by(lambda value: value, Types.STRING()).process(InState())


class TestFunctionsWithStateInFields:
    def test_a_task_that_is_current_goes_on(self):
        job = Job(in_fields)
        assert job.run(A) == ["(1, (False, None))", "(2, (False, None))"]
        assert job.run(A) == ["(3, (False, None))", "(4, (False, None))"]

    def test_a_task_that_is_behind_is_made_anew(self):
        job = Job(in_fields)
        job.run(A)
        assert job.run(B) == ["(3, (True, 1))", "(4, (True, 1))"]
        assert job.run(A) == ["(5, (True, 2))", "(6, (True, 2))"]
        assert job.run(A) == ["(7, (True, 2))", "(8, (True, 2))"]

    def test_a_task_of_a_round_that_came_to_nothing_is_made_anew(self):
        job = Job(in_fields)
        job.run(A)
        job.fail(A)
        job.start()
        assert job.run(A) == ["(3, (True, 1))", "(4, (True, 1))"]


class TestFunctionsWithKeyedState:
    def test_a_task_that_is_current_goes_on(self):
        job = Job(in_state)
        assert job.run(A) == ["(1, 1)", "(2, 2)"]
        assert job.run(A) == ["(3, 3)", "(4, 4)"]

    def test_a_worker_that_never_had_the_task_reads_all_files(self):
        job = Job(in_state)
        job.run(A)
        assert job.run(B) == ["(3, 1)", "(4, 2)"]

    def test_a_task_that_is_behind_catches_up_by_the_missing_files(self, monkeypatch):
        job = Job(in_state)
        job.run(A)
        known = {file.name for file in job.kept(A).files.files}
        job.run(B)
        job.run(B)
        read = []
        restore = round_worker.restore
        monkeypatch.setattr(
            round_worker,
            "restore",
            lambda state, files, get: restore(
                state, files, lambda name: (read.append(name), get(name))[1]
            ),
        )
        assert job.run(A) == ["(7, 3)", "(8, 4)"]  # the same function goes on
        wanted = {file.name for file in job.kept(B).files.files}
        assert set(read) == wanted - known
        assert len(read) == 2

    def test_a_task_whose_files_were_made_one_meanwhile_is_made_anew(self, monkeypatch):
        job = Job(in_state)
        job.run(A)
        monkeypatch.setattr("headrace.runtime.flow.snapshots._MOST_FILES", 1)
        job.run(B)
        assert job.run(A) == ["(5, 1)", "(6, 2)"]

    def test_a_task_of_an_earlier_attempt_is_dropped(self):
        job = Job(in_state)
        job.run(A)
        old = job.kept(A)
        job.fail(A)  # it has seen records that do not count
        job.start()
        assert job.run(A) == ["(3, 1)", "(4, 2)"]
        assert job.kept(A) is not old

    def test_a_task_that_fails_is_not_kept(self, monkeypatch):
        job = Job(in_state)
        job.run(A)

        def fail(self, value, ctx):
            raise ValueError("no")

        monkeypatch.setattr(InState, "process_element", fail)
        with pytest.raises(Exception, match="no"):
            job.run(A)
        assert ("run", SLOT) not in job.workers.kept[A]

    def test_nothing_is_kept_of_a_task_that_has_come_to_its_end(self):
        job = Job(in_state, rounds=1)
        job.run(A)
        assert job.network.rounds.ended
        assert job.workers.kept[A] == {}


def test_what_was_kept_for_a_job_that_has_ended_goes_when_another_is_at_work(monkeypatch):
    job = Job(in_state)
    job.run(A)
    job.start("another")
    job.run(A)
    assert {run for run, _ in job.workers.kept[A]} == {"run", "another"}
    monkeypatch.setattr(round_worker, "is_over", lambda run, shipment: run == "run")
    job.run(A)
    assert {run for run, _ in job.workers.kept[A]} == {"another"}


def test_what_was_kept_for_an_earlier_run_of_a_job_goes():
    """Attempts are counted anew in each run."""
    job = Job(in_state)
    job.start("job-0")
    job.run(A)
    job.start("job-1")
    job.run(A)
    assert {run for run, _ in job.workers.kept[A]} == {"job-1"}


def test_functions_hear_of_a_checkpoint_in_the_round_after(monkeypatch):
    heard = []
    complete = round_worker.FlowingLevel.complete
    monkeypatch.setattr(
        round_worker.FlowingLevel,
        "complete",
        lambda self, number: (heard.append((self.level, number)), complete(self, number))[1],
    )
    job = Job(in_state)
    job.run(A)
    assert heard == []
    job.run(A)
    assert heard == [(0, 1), (1, 1)]
    heard.clear()
    job.run(B)
    job.run(A)  # it has missed checkpoint 2, and checkpoint 3 was none of its own
    assert heard == []
